//! What a node shows. Each file is named after that of its finder in `agent/core/src/causes`.

mod api_side;
mod block_device;
mod block_volume;
mod cgroup;
mod completed_pod;
mod container;
mod csi;
mod device_in_use;
mod dra;
mod file_server;
mod frozen_file_system;
mod fuse;
mod global_mount;
mod holder;
mod immutable_file;
mod in_flight_descriptor;
mod kubelet;
mod leftover_shim;
mod mount_copy;
mod mounts;
mod multipath;
mod netns;
mod network;
mod nfs;
mod orphan;
mod pid_namespace;
mod runtime;
mod sandbox;
mod shim;
mod slow_exit;
mod socket_candidate;
mod static_pod;
mod stray_file;
mod tracer;
mod uninterruptible;
mod volume;

pub use api_side::*;
pub use block_device::*;
pub use block_volume::*;
pub use cgroup::*;
pub use completed_pod::*;
pub use container::*;
pub use csi::*;
pub use device_in_use::*;
pub use dra::*;
pub use file_server::*;
pub use frozen_file_system::*;
pub use fuse::*;
pub use global_mount::*;
pub use holder::*;
pub use immutable_file::*;
pub use in_flight_descriptor::*;
pub use kubelet::*;
pub use leftover_shim::*;
pub use mount_copy::*;
pub use mounts::*;
pub use multipath::*;
pub use netns::*;
pub use network::*;
pub use nfs::*;
pub use orphan::*;
pub use pid_namespace::*;
pub use runtime::*;
pub use sandbox::*;
pub use shim::*;
pub use slow_exit::*;
pub use socket_candidate::*;
pub use static_pod::*;
pub use stray_file::*;
pub use tracer::*;
pub use uninterruptible::*;
pub use volume::*;

use crate::Cause;

/// Every cause of these files, in the order of the documents.
pub(super) static ALL: &[&[&Cause]] = &[
    container::ALL,
    slow_exit::ALL,
    shim::ALL,
    tracer::ALL,
    fuse::ALL,
    nfs::ALL,
    file_server::ALL,
    frozen_file_system::ALL,
    block_device::ALL,
    uninterruptible::ALL,
    pid_namespace::ALL,
    leftover_shim::ALL,
    orphan::ALL,
    static_pod::ALL,
    sandbox::ALL,
    netns::ALL,
    api_side::ALL,
    dra::ALL,
    holder::ALL,
    completed_pod::ALL,
    immutable_file::ALL,
    socket_candidate::ALL,
    in_flight_descriptor::ALL,
    mount_copy::ALL,
    device_in_use::ALL,
    mounts::ALL,
    volume::ALL,
    csi::ALL,
    multipath::ALL,
    block_volume::ALL,
    global_mount::ALL,
    stray_file::ALL,
    cgroup::ALL,
    kubelet::ALL,
    runtime::ALL,
    network::ALL,
];
