//! Processes and their threads.

use findings::{PodUid, ProcessId};
use serde::{Deserialize, Serialize};

use super::{Dev, Fault, HostPath, Seen};

/// A process, with the threads that are worth a word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Its pid as the agent sees it.
    pub pid: u32,
    /// Clock ticks after boot; with the pid it names the process for good.
    pub start_ticks: u64,
    /// Milliseconds from its start to the observation's `at_ms`; 0 when it is younger.
    pub age_ms: u64,
    /// Its name, at most 15 bytes, chosen by itself.
    pub comm: String,
    pub state: char,
    pub parent: u32,
    /// How many threads it has, the leader included.
    pub thread_count: u32,
    /// SIGKILL is pending for the whole process (`ShdPnd` bit 9).
    pub kill_pending: bool,
    /// The leader has begun to exit (`PF_EXITING`): on cgroup v1 it shows `/` as its cgroup.
    pub exiting: bool,
    /// Its pids from the agent's namespace inwards; the last is 1 for the init of a container.
    pub ns_pids: Vec<u32>,
    /// Inode of its pid namespace.
    pub pid_ns: Option<u64>,
    /// Inode of its mount namespace, seen through any living thread.
    pub mount_ns: Option<u64>,
    /// The threads that were read: of a suspect's parent those in D, of some only the leader, else all.
    pub threads: Vec<Thread>,
    pub owner: Owner,
    /// What it has open below `/dev`, but for what every process has; read where a thread of it is in D.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    pub tid: u32,
    pub comm: String,
    pub state: char,
    /// SIGKILL is pending for this thread or its process.
    pub kill_pending: bool,
    /// It has begun to exit (`PF_EXITING`).
    #[serde(default)]
    pub exiting: bool,
    /// Who traces it (`TracerPid`).
    #[serde(default)]
    pub tracer: Option<u32>,
    /// The kernel function it sleeps in; empty when it runs.
    pub wchan: Seen<String>,
    /// The system call it is in.
    pub syscall: Seen<Syscall>,
    /// The kernel stack, only with CAP_SYS_ADMIN and only for threads in D.
    pub stack: Seen<Vec<String>>,
    /// How often it has been taken off a processor; a task that does not run keeps the number.
    pub switches: u64,
    /// Seen twice in the same place, a moment apart, and it has not run in between.
    pub steady: bool,
    /// The file its system call works on, when its first argument is a descriptor.
    pub works_on: Option<OpenFile>,
    /// Only `/proc/<pid>/status` answered: so it is while a process runs another program and closes files
    /// (`begin_new_exec`, fs/exec.c).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_exec: bool,
}

impl Process {
    /// Its name for a command that reads files of it other than `status`; none when it gave no answer.
    pub fn responsive_id(&self) -> Option<ProcessId> {
        Some(self.id()).filter(|id| id.may_be_asked())
    }

    /// Whether it has been killed, or hangs on its way out.
    pub fn is_dying(&self) -> bool {
        self.is_exiting() || self.kill_pending || self.threads.iter().any(|thread| self.is_ending(thread))
    }

    /// Whether it has been killed, or exits by itself, and has not ended: a zombie shows nothing, as processes end all the
    /// time.
    pub fn has_been_told_to_end(&self) -> bool {
        let is_ending = |thread: &Thread| thread.state != 'Z' && self.is_ending(thread);
        self.kill_pending || self.is_in_zap() || self.threads.iter().any(is_ending)
    }

    /// Whether this thread of it will end as soon as the kernel lets it: it has been killed, or is exiting. The
    /// kernel drops a SIGKILL that is sent to a task that exits, so of such a one none is ever pending.
    pub fn is_ending(&self, thread: &Thread) -> bool {
        thread.kill_pending || self.exits(thread)
    }

    /// Whether this thread of it is exiting. An older agent reported it of the leader only, as of the process.
    pub fn exits(&self, thread: &Thread) -> bool {
        thread.exiting || (thread.tid == self.pid && self.exiting)
    }

    /// Whether this thread has left its mount namespace: on its way out it does so before its last files are closed
    /// (`do_exit`, kernel/exit.c: `exit_task_namespaces` before `exit_task_work`).
    pub fn has_left_mounts(&self, thread: &Thread) -> bool {
        self.mount_ns.is_none() && self.exits(thread)
    }

    /// Whether it is on its way out, or its pid namespace is ending.
    pub fn is_exiting(&self) -> bool {
        self.exiting || self.is_in_zap()
    }

    /// Whether it is the init of a pid namespace and waits for the last of its members.
    pub fn is_in_zap(&self) -> bool {
        // When the last member is its own child, it sleeps one call deeper, in do_wait.
        let in_zap = |function: &String| function == "zap_pid_ns_processes";
        self.threads.iter().any(|thread| {
            thread.wchan.get().is_some_and(in_zap) || thread.stack.get().is_some_and(|stack| stack.iter().any(in_zap))
        })
    }

    /// Whether it lives outside of the pid namespace of `init`, if it is the parent or the tracer of one in it or in a
    /// namespace nested there. Such a one lives in the same namespace or in one above (`pidns_install`), so the depth
    /// decides.
    pub fn is_outside_of(&self, init: &Process) -> bool {
        self.ns_pids.len() < init.ns_pids.len()
    }

    /// Whether it lives in a pid namespace below the agent's.
    pub fn is_in_container(&self) -> bool {
        self.ns_pids.len() > 1
    }
}

impl Thread {
    /// Whether only a second scan shows that it stays as it is: it waits, or has ended and is not reaped yet, or gave no
    /// answer.
    pub fn may_pass(&self) -> bool {
        self.waits() || self.state == 'Z' || self.in_exec
    }

    /// Whether it waits for something in the kernel that may never come: uninterruptibly, or
    /// (still) interruptibly for a FUSE or NFS server.
    pub fn waits(&self) -> bool {
        let is_of_client = |function: &String| {
            function == "request_wait_answer"
                || ["nfs", "rpc_", "__rpc_"].iter().any(|start| function.starts_with(start))
        };
        self.state == 'D' || (self.state == 'S' && self.wchan.get().is_some_and(is_of_client))
    }

    /// Whether the kernel does not show what it waits for: in the middle of running another program it shows nothing, and
    /// x86 kernels before 5.16 show it in the stack only, which may not be read.
    pub fn is_untold(&self) -> bool {
        self.in_exec || self.wchan.get().is_some_and(String::is_empty) && matches!(self.stack, Seen::Failed(_))
    }
}

/// A system call in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Syscall {
    /// Its number on this architecture.
    pub number: i64,
    pub first_argument: u64,
    /// Its name, of those that wait for files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// An open descriptor, known without touching the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFile {
    pub fd: u32,
    /// Where the link points, in the process's own view.
    pub path: HostPath,
    /// The mount it was opened through (`fdinfo`).
    pub mount_id: Option<u32>,
}

/// Whom a process belongs to, from its cgroup.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Owner {
    /// A container of a pod.
    Pod {
        uid: PodUid,
        /// The runtime's container id, when the cgroup shows it.
        container: Option<String>,
    },
    /// A systemd unit.
    Unit(String),
    /// Neither: a login, a kernel thread, a process started by hand.
    #[default]
    Host,
    /// The cgroup could not be read, or says `/` because the process is exiting (v1).
    Unknown,
}

impl Owner {
    /// The systemd service it runs in; a scope is nothing that can be started again, and a user's manager is all that this
    /// user runs.
    pub fn service(&self) -> Option<&str> {
        match self {
            Owner::Unit(unit) if unit.ends_with(".service") && !unit.starts_with("user@") => Some(unit),
            _ => None,
        }
    }
}

/// The files on volumes of pods that a process can write to without opening anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WritableFiles {
    pub pid: u32,
    /// When the process started that had it then; none if it had gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ticks: Option<u64>,
    pub files: Vec<WritableFile>,
    /// Why these may not be all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WritableFile {
    /// Its file system.
    pub dev: Dev,
    /// Which directory of the file system is mounted where it was opened.
    pub root: HostPath,
    /// Its path as its process sees it.
    pub path: HostPath,
    /// The descriptor; none for a file that is mapped and closed.
    pub fd: Option<u32>,
}
