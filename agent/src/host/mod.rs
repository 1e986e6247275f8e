//! Where facts come from: one module per source. Everything here reads and nothing judges.

pub mod api;
pub mod block;
pub mod block_stack;
pub mod broker;
pub mod cgroups;
pub mod csi;
pub mod descriptors;
pub mod fuse;
pub mod healthz;
pub mod holders;
pub mod in_flight;
pub mod kubelet;
pub mod mount_copies;
pub mod mounts;
pub mod multipath;
pub mod netns;
mod pod_filter;
pub mod prober;
pub mod process_index;
pub mod processes;
pub mod rights;
pub mod root;
pub mod runtime;
pub mod scan;
pub mod shims;
mod socket_list;
mod sockets;
pub mod superblocks;
mod tree;
pub mod usage;
pub mod volumes;
pub mod writable;

pub use pod_filter::PodFilter;
pub use root::HostRoot;
pub use sockets::Sockets;

use std::io;

use crate::observation::{Fault, Seen, Source};
use crate::sys;

/// The answer of a read. What is not there, or not any more, is `Missing`; a fault is that of the path.
fn seen<T>(result: io::Result<T>) -> Seen<T> {
    match result {
        Ok(value) => Seen::Seen(value),
        Err(error) if sys::is_gone(&error) => Seen::Missing,
        Err(error) => Seen::Failed(match sys::place(&error) {
            Some((path, why)) => Fault::new(path, why),
            None => Fault::new("read", error),
        }),
    }
}

/// The answer of a read of the host's `path`. What is not there, or not any more, is `Missing`.
fn seen_at<T>(path: impl Into<Source>, result: io::Result<T>) -> Seen<T> {
    match result {
        Ok(value) => Seen::Seen(value),
        Err(error) if sys::is_gone(&error) => Seen::Missing,
        Err(error) => Seen::Failed(fault_at(path, &error)),
    }
}

/// The fault of the host's `path`. An error says the path once more, and as the agent reaches it.
fn fault_at(path: impl Into<Source>, error: &io::Error) -> Fault {
    Fault::new(path, sys::place(error).map_or(error, |(_, why)| why))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_fault_is_that_of_the_path() {
        let fault = seen(sys::read_text("/proc/self/status".as_ref(), 10)).fault().cloned().unwrap();
        assert_eq!(fault.source, Source::Path("/proc/self/status".into()));
        assert_eq!(fault.says, "is longer than 10 bytes");
    }

    #[test]
    fn a_path_of_the_host_is_said_once_and_as_the_host_has_it() {
        let read = sys::read_text("/proc/self/root/proc/self/status".as_ref(), 10);
        let fault = seen_at("/proc/self/status", read).fault().cloned().unwrap();
        assert_eq!(fault.to_string(), "/proc/self/status: is longer than 10 bytes");
    }
}
