//! Scenarios that can be staged again and again on one node, each time with a pod of another name.

use super::{Staged, csi, frozen, fuse, holders, nested};
use crate::{Node, cgroup, standin::csi::Manner};

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct Repeated {
    /// The scenario that it is like.
    pub like: &'static str,
    /// Makes it so with a pod of this name. A uid is made from the name, and a cluster never gives one twice.
    pub stage: fn(&Node, &str) -> anyhow::Result<Staged>,
}

impl Repeated {
    /// Whether this machine can stage it.
    pub fn is_possible(&self) -> bool {
        self.like != "frozen-v1" || !cgroup::is_unified()
    }
}

/// All of them.
pub const REPEATED: &[Repeated] = &[
    Repeated { like: "cwd", stage: holders::cwd },
    Repeated { like: "dstate-fuse", stage: fuse::dstate_fuse },
    Repeated { like: "vol-data-missing", stage: csi::vol_data_missing },
    Repeated { like: "frozen-v1", stage: frozen::frozen_v1 },
    Repeated { like: "open-fd", stage: holders::open_fd },
    Repeated { like: "mapped-file", stage: holders::mapped_file },
    Repeated { like: "nested-mount", stage: nested::nested_mount },
];

/// What some of them need on the node, once: the CSI driver.
pub fn provide(node: &Node) -> anyhow::Result<()> {
    csi::start_driver(node, Manner::Proper).map(drop)
}
