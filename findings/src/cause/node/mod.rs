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

// In the order of the documents.
files_of_causes! {
    container, slow_exit, shim, tracer, fuse, nfs, file_server, frozen_file_system, block_device, uninterruptible,
    pid_namespace, leftover_shim, orphan, static_pod, sandbox, api_side, dra, holder, completed_pod,
    immutable_file, socket_candidate, in_flight_descriptor, mount_copy, device_in_use, mounts, volume, csi,
    multipath, block_volume, global_mount, stray_file, cgroup, kubelet, runtime, network,
}
