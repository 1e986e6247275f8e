//! One file per cause or close family. Each is a pure function from a pod's view to findings, and
//! carries the tests that prove it says nothing without its proof.

pub mod api_side;
pub mod block_device;
pub mod block_volume;
pub mod blocked_on;
pub mod blocked_task;
pub mod cgroup;
pub mod completed_pod;
pub mod container;
pub mod csi;
pub mod describe;
pub mod device_in_use;
pub mod dra;
pub mod file_server;
mod finding_builder;
pub mod frozen_file_system;
pub mod fuse;
pub mod global_mount;
pub mod holder;
pub mod immutable_file;
pub mod in_flight_descriptor;
mod kernel_log;
pub mod kill;
pub mod kubelet;
pub mod kubelet_operations;
pub mod layers;
pub mod leftover_shim;
mod loop_file;
pub mod mount_copy;
pub mod mounts;
pub mod multipath;
pub mod netns;
pub mod network;
pub mod nfs;
mod node_names;
pub mod orphan;
pub mod pid_namespace;
mod prelude;
pub mod runtime;
pub mod sandbox;
pub mod shim;
pub mod slow_exit;
pub mod socket_candidate;
pub mod static_pod;
pub mod stray_file;
pub mod tracer;
pub mod uninterruptible;
pub mod unmounting;
pub mod volume;

use findings::CauseRef;

/// Whether this cause is at work is unknown just now, so its last report still counts.
pub struct NotLookedFor(pub CauseRef);
