//! One file per cause or close family. Each is a pure function from a pod's view to findings, and
//! carries the tests that prove it says nothing without its proof.

pub mod api_side;
pub mod block;
pub mod block_device;
pub mod cgroup;
pub mod completed;
pub mod container;
pub mod csi;
pub mod device_in_use;
pub mod ending;
pub mod file_server;
mod finding_builder;
pub mod frozen_file_system;
pub mod fuse;
pub mod global_mount;
pub mod holder;
pub mod in_flight;
pub mod kill;
pub mod kubelet;
pub mod leftover_shim;
pub mod mount_copy;
pub mod mounts;
pub mod multipath;
pub mod netns;
pub mod network;
pub mod nfs;
mod node_names;
pub mod orphan;
pub mod pid_namespace;
pub mod runtime;
pub mod sandbox;
pub mod shim;
pub mod static_pod;
pub mod stray;
pub mod tracer;
pub mod tries;
pub mod uninterruptible;
pub mod unmounting;
pub mod volume;
pub mod waited_for;
pub mod waiting;
mod waits;
pub mod words;

use findings::CauseRef;

/// Whether this cause is at work cannot be told just now, so what was told of it before still counts.
pub struct NotLookedFor(pub CauseRef);
