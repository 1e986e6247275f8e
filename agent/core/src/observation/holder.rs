//! Who keeps a mount from being unmounted, and the servers behind FUSE mounts.

use serde::{Deserialize, Serialize};

use super::{Dev, FaultKind, HostPath, Owner, Seen};

/// The search for the holders of one mount.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HolderSearch {
    /// Where it is mounted in the kubelet's namespace.
    pub mount_point: HostPath,
    /// Its file system.
    pub dev: Dev,
    pub holders: Vec<Holder>,
    /// How many processes were looked at.
    pub looked_at: u32,
    /// How many could not be looked at (no right, or gone in between).
    pub unreadable: u32,
    /// How many of those live in a mount namespace whose table was too long to be read: it may hide a holder there.
    #[serde(default)]
    pub behind_unread_tables: u32,
    /// How many mount namespaces live on without a process, by a bind mount: nothing looks into those.
    #[serde(default)]
    pub unsearched_namespaces: u32,
    /// Sockets that may be bound in it: their names are relative, lead through links, or are in no list.
    #[serde(rename = "relative_sockets", default, skip_serializing_if = "Vec::is_empty")]
    pub socket_candidates: Vec<SocketCandidate>,
    /// Whether mappings were searched too (in the disposable child); `Failed` when the child did
    /// not come back, `Missing` when it was not needed.
    pub mappings: Seen<u32>,
}

/// A unix socket whose name does not show where it is bound: a relative one, one that leads through links, or none that is
/// visible. It holds the mount of its file, also when that is unlinked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SocketCandidate {
    /// The pid of a process that has it open.
    pub pid: u32,
    /// Clock ticks after boot.
    pub start_ticks: u64,
    pub comm: String,
    pub state: char,
    pub fd: u32,
    /// What was given to `bind`, if anything was. It is not visible where no process is in the socket's network namespace.
    #[serde(default)]
    pub name: Option<HostPath>,
    /// Whether the socket is of a network namespace that this process is not in.
    #[serde(default)]
    pub left_network: bool,
    /// Where that leads now, by a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leads_to: Option<HostPath>,
    pub owner: Owner,
}

/// A process (or a device) that holds a mount.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Holder {
    /// Its pid; 0 for the kernel itself (a loop device).
    pub pid: u32,
    /// Clock ticks after boot.
    pub start_ticks: u64,
    pub comm: String,
    pub state: char,
    /// By what it holds the mount.
    pub how: HeldBy,
    /// Whether it holds the kubelet's own mount or a copy.
    pub copy: CopyKind,
    /// Inode of its mount namespace.
    pub mount_ns: u64,
    pub owner: Owner,
}

/// A process with a unix socket to which descriptors were sent that it has not received. They keep their files open and
/// stand in no descriptor table; which files is not visible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InFlight {
    pub pid: u32,
    /// Clock ticks after boot.
    pub start_ticks: u64,
    pub comm: String,
    pub state: char,
    pub fd: u32,
    /// How many wait there.
    pub count: u32,
    /// Inode of its mount namespace, where that could be read.
    #[serde(default)]
    pub mount_ns: Option<u64>,
    pub owner: Owner,
}

/// By what a mount is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HeldBy {
    Fd {
        fd: u32,
        path: HostPath,
    },
    Cwd(HostPath),
    Root(HostPath),
    Exe(HostPath),
    /// A file that is registered with an io_uring.
    Ring {
        /// The descriptor of the ring.
        fd: u32,
        path: HostPath,
    },
    /// A file that is swapped to.
    Swap(HostPath),
    /// A mapped file whose descriptor is closed.
    Mapping(HostPath),
    /// A loop device with a backing file in the mount.
    Loop {
        /// `/dev/loop0`.
        device: String,
        file: HostPath,
    },
}

/// Which of the mount's copies is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CopyKind {
    /// The kubelet's own.
    Original,
    /// A copy in another mount namespace that propagation ties to it: holding it makes the
    /// kubelet's `umount` fail.
    Propagated,
    /// A copy that nothing ties to it: it does not block `umount`, but keeps the device in use.
    Private,
    /// Already detached (`umount -l`): it keeps the file system alive, not the path.
    Detached,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FuseConnection {
    /// Its number, the name in `/sys/fs/fuse/connections`: see [`Mount::fuse_connection`](super::Mount).
    pub number: u32,
    /// Requests without an answer yet.
    pub waiting: Seen<u32>,
    /// The processes that hold `/dev/fuse` open for this connection.
    pub servers: Vec<FuseServer>,
    /// Whether `servers` is exact (`fuse_connection` in fdinfo, newer kernels). When not,
    /// `servers` holds every process with `/dev/fuse` open.
    pub exact: bool,
    /// How it answers a plain `stat` in the disposable child.
    pub probe: Seen<FuseProbe>,
}

impl FuseConnection {
    /// Whether a request to its server is pending, or that cannot be counted: fusectl is not mounted everywhere.
    pub fn may_have_requests(&self) -> bool {
        self.waiting.get().map_or(self.waiting.fault().is_some(), |waiting| *waiting > 0)
    }

    /// Whether its requests cannot be counted, and it cannot be aborted, before fusectl is mounted.
    pub fn lacks_fusectl(&self) -> bool {
        self.waiting.fault().is_some_and(|fault| fault.kind == FaultKind::Gone)
    }
}

/// A process that serves FUSE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FuseServer {
    pub pid: u32,
    /// Clock ticks after boot.
    #[serde(default)]
    pub start_ticks: Option<u64>,
    pub comm: String,
    /// Its state letter; `T` is stopped.
    pub state: char,
    /// The kernel function its leader sleeps in.
    pub wchan: Seen<String>,
    /// Milliseconds since it started.
    pub age_ms: u64,
    pub owner: Owner,
}

/// How a FUSE file system answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FuseProbe {
    Answers,
    /// `ENOTCONN`: the server is gone.
    Dead,
    /// No answer before the deadline.
    Silent,
}
