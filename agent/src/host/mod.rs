//! Where facts come from: one module per source. Everything here reads and nothing judges.

pub mod api;
pub mod block;
pub mod broker;
pub mod census;
pub mod cgroups;
pub mod child;
pub mod csi;
pub mod fuse;
pub mod healthz;
pub mod holders;
pub mod kubelet;
pub mod mount_copies;
pub mod mounts;
pub mod multipath;
pub mod netns;
mod pod_filter;
pub mod processes;
pub mod rights;
mod rpc;
pub mod runtime;
pub mod scan;
pub mod shims;
mod sockets;
pub mod superblocks;
pub mod usage;
pub mod view;
pub mod volumes;

pub use pod_filter::PodFilter;
pub use sockets::Sockets;
pub use view::HostView;

use crate::{
    observation::{Fault, Seen},
    sys,
};

/// The answer of a read. What is not there, or not any more, is `Missing`; a fault is that of the path.
fn seen<T>(result: std::io::Result<T>) -> Seen<T> {
    match result {
        Ok(value) => Seen::Seen(value),
        Err(error) if sys::is_gone(&error) => Seen::Missing,
        Err(error) => Seen::Failed(match sys::place(&error) {
            Some((path, why)) => Fault::new(path, why),
            None => Fault::new("read", error),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Source;

    #[test]
    fn a_fault_is_that_of_the_path() {
        let fault = seen(sys::read_text("/proc/self/status".as_ref(), 10)).fault().cloned().unwrap();
        assert_eq!(fault.source, Source::Path("/proc/self/status".into()));
        assert_eq!(fault.says, "is longer than 10 bytes");
    }
}
