//! What is no command line.

use serde::{Deserialize, Serialize};

use super::{csi, damaged, leftovers, lifecycle, machine, namespaces, network};
use crate::{Node, Restart};

/// Something that an administrator does away from the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Repair {
    /// The network plugin tears networks down again.
    NetworkPlugin,
    /// The CNI configuration is there again.
    NetworkConfiguration,
    /// What was moved away of an orphaned volume is back.
    VolumeNote,
    /// The CSI driver is back.
    CsiDriver,
    /// This process, which has a mount namespace of its own, is ended.
    Holder(i32),
    /// The servers of the virtual machine answer again.
    Server,
    /// The disk of the pods' directories works again.
    Disk,
    /// The disk of the runtime has room again.
    Room,
    /// The kubelet is started again, and finds what the API does not know.
    Kubelet,
    /// The kubelet, which has ended, is started.
    KubeletStart,
    /// What lies in the directory of an unmounted volume is saved elsewhere.
    FilesBelow,
    /// The container runtime, which has ended, is started.
    RuntimeStart,
}

impl Repair {
    /// Does it.
    pub fn apply(self, node: &Node) -> anyhow::Result<()> {
        match self {
            Repair::NetworkPlugin => network::repair(node),
            Repair::NetworkConfiguration => network::configure(node),
            Repair::VolumeNote => leftovers::put_back(node),
            Repair::CsiDriver => csi::restart_driver(node),
            Repair::Holder(pid) => namespaces::end_holder(node, pid),
            Repair::Server => machine::answer(),
            Repair::Disk => damaged::repair(node),
            Repair::Room => damaged::make_room(node),
            Repair::Kubelet => lifecycle::restart_kubelet(node),
            Repair::KubeletStart => node.restart_kubelet(Restart::default()).map(drop),
            Repair::FilesBelow => csi::save_files(node),
            Repair::RuntimeStart => node.start_runtime(),
        }
    }
}
