//! Parsers of what the kernel and the kubelet write, from bytes to facts. They never fail as a
//! whole because of one line, never panic, and do no I/O.

mod cgroup;
mod dra_state;
mod escape;
mod exposition;
mod fdinfo;
mod kernel_log;
mod kubelet;
pub mod mountinfo;
mod overlay;
mod stat;
mod status;
mod syscall;
mod vol_data;

pub use cgroup::{CgroupLine, cgroup_lines, owner};
pub use dra_state::dra_claims;
pub use exposition::{MAX_LINE_BYTES, counter};
pub use fdinfo::{Fdinfo, fdinfo, registered_files, swap_files};
pub use kernel_log::kernel_log;
pub use kubelet::{KubeletConfig, KubeletFlags, crictl_endpoint, kubelet_args_file, kubelet_config, kubelet_flags};
pub use stat::{Stat, stat};
pub use status::{Status, ids, status};
pub use syscall::{descriptor, may_write, stack, syscall, writes};
pub use vol_data::vol_data;
