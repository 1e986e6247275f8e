//! What can be asked of a node.

use std::time::Duration;

use findings::PodUid;
use serde::{Deserialize, Serialize};

use super::{Dev, HostPath};

/// One question to the node. Nothing here can change anything.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Question {
    /// Which processes of pods have a SIGKILL pending or are exiting: without the API server it shows which pods
    /// are being stopped.
    KilledProcesses,
    /// The status of this container: its init.
    ContainerStatus(String),
    /// The state of this container once more, because its init is gone: it may have ended in between.
    ContainerState(String),
    /// The status of this sandbox: its pause process and its network.
    SandboxStatus(String),
    /// Which conditions of the runtime do not hold.
    RuntimeConditions,
    /// Who listens on the socket of the runtime that does not answer.
    RuntimeListener,
    /// The tree of this pod's cgroup.
    CgroupTree(PodUid),
    /// The volumes in this pod's directory.
    PodVolumes(PodUid),
    /// For which pods the kubelet holds devices (DRA).
    DraState,
    Process {
        pid: u32,
        /// Which of its threads.
        depth: Depth,
    },
    /// The processes of this pid namespace, which an outside process may have put there.
    PidNamespace(u64),
    /// Which processes of the node unmount something, by their names, and are in D.
    Unmounts,
    /// Which processes of the node wait for a FUSE server.
    FuseWaiters,
    /// The threads of this process that wait, once more: whether they have moved.
    WaitingThreads(u32),
    /// The mount table of the namespace `ns`.
    MountTable {
        /// The inode of the namespace.
        ns: u64,
        /// A thread that lives in it; a zombie leader has no mount table any more.
        tid: u32,
    },
    /// Which mount of the kubelet's namespace shows this path.
    PathMount(HostPath),
    /// Where the root file system of this container is mounted.
    RootFileSystem(String),
    /// Who holds the mount at this path.
    Holders(HostPath),
    /// Which files below this directory may not be removed.
    ProtectedFiles(HostPath),
    /// Which processes have been sent descriptors that they have not received.
    InFlight,
    /// What of pods' volumes this process can write to.
    WritableFiles(u32),
    /// Mounts in other mount namespaces whose mount point ends like this.
    MountCopies(String),
    /// When a pod's directory or a CSI volume of one last came or went.
    VolumesChanged,
    /// Which block devices have a living file system and no mount here.
    UnmountedDevices,
    /// This FUSE connection, and who serves it.
    FuseConnection(u32),
    /// Whether this FUSE file system answers.
    FuseAnswer { connection: u32, mount_point: HostPath },
    /// Which CSI drivers are registered with the kubelet.
    CsiDrivers,
    /// The devices below this one, and whether they finish anything.
    BlockStack(Dev),
    /// The multipath map below this device.
    MultipathMap(Dev),
    /// The shims of this sandbox that live on.
    Shims(String),
    /// What the kubelet counts of its own work, of the kubelet.
    KubeletCounters,
    /// What the kernel has logged.
    KernelLog,
    /// This PersistentVolume, of the API server.
    PersistentVolume(String),
}

/// Which threads of a process are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Depth {
    /// The leader only.
    Leader,
    /// The leader, and of the other threads those in D.
    Blocked,
    /// Every thread, with what it waits for.
    Threads,
}

/// How much a question costs the node, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// A few small files, or one request.
    Read,
    /// Something of every process or every mount namespace of the node.
    Search,
    /// Thousands of lines about unrelated objects, for what no search has explained.
    Rest,
    /// A moment has to pass first.
    Wait,
}

/// How an answer is kept from hanging the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// Files of the kernel or of a local file system: they answer at once.
    Direct,
    /// A conversation over a socket: the other end may never answer, and gets so long.
    Conversation(Duration),
    /// What could hang in the kernel is done in the disposable child, which gets so long.
    Child(Duration),
}

/// The runtime's status calls, all of a round together: the kubelet gives one two minutes, a healthy runtime
/// needs milliseconds.
const STATUS: Duration = Duration::from_millis(800);
/// One call of the runtime or of the API server. The kubelet gives the runtime two minutes; a list takes
/// milliseconds on a healthy node.
pub const CALL: Duration = Duration::from_millis(1500);
/// Registration sockets answer at once or not at all.
const REGISTRATION: Duration = Duration::from_millis(500);
/// The search for holders, mappings included.
const HOLDERS: Duration = Duration::from_millis(800);
/// The mappings of a pod's own processes.
const MAPPINGS: Duration = Duration::from_millis(200);
/// A FUSE server that lives answers a `stat` within milliseconds.
const FUSE: Duration = Duration::from_millis(300);

impl Question {
    /// What it costs, and what keeps it from hanging.
    fn profile(&self) -> (Cost, Hazard) {
        use Cost::{Read, Rest, Search, Wait};
        use Hazard::{Child, Conversation, Direct};
        use Question::*;
        match self {
            ContainerStatus(_) | SandboxStatus(_) => (Read, Conversation(STATUS)),
            ContainerState(_) | RuntimeConditions | PersistentVolume(_) => (Read, Conversation(CALL)),
            CsiDrivers => (Read, Conversation(REGISTRATION)),
            KubeletCounters => (Rest, Conversation(CALL)),
            // The kubelet's own directory; no path on a file system that needs a server is touched.
            PodVolumes(_) | DraState | VolumesChanged => (Read, Direct),
            ProtectedFiles(_) => (Search, Direct),
            // From here on /proc, /sys and cgroup files that take no lock of the task or the file system they speak of.
            KernelLog | RuntimeListener | CgroupTree(_) | Process { .. } | MultipathMap(_) | UnmountedDevices => {
                (Read, Direct)
            }
            // One status for each process of a pod; nothing can be judged before.
            KilledProcesses => (Read, Direct),
            // Its members are nearly always found below its init.
            PidNamespace(_) => (Read, Direct),
            // One table; that of the kubelet's namespace is in memory.
            MountTable { .. } | PathMount(_) | RootFileSystem(_) => (Read, Direct),
            InFlight | Unmounts | FuseWaiters | MountCopies(_) | FuseConnection(_) | Shims(_) => (Search, Direct),
            WaitingThreads(_) | BlockStack(_) => (Wait, Direct),
            // Mappings take the lock of the process's memory, which a task in D may hold.
            Holders(_) => (Search, Child(HOLDERS)),
            WritableFiles(_) => (Search, Child(MAPPINGS)),
            // A `stat` waits for the server.
            FuseAnswer { .. } => (Wait, Child(FUSE)),
        }
    }

    pub fn cost(&self) -> Cost {
        self.profile().0
    }

    /// How long the answer may take where another process has to give it; `None` for the kernel's own files.
    pub fn deadline(&self) -> Option<Duration> {
        match self.profile().1 {
            Hazard::Direct => None,
            Hazard::Conversation(deadline) | Hazard::Child(deadline) => Some(deadline),
        }
    }
}
