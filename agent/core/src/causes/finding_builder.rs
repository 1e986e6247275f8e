//! How a finding about a pod or the node begins.

use findings::{Cause, FindingBuilder, Gate, Link, Placeholder};

use super::node_names;
use crate::observation::{HostPath, Mount, MountTable, Observation};
use crate::view::PodView;

/// The gate of everything below a pod's `volumes`.
pub(super) const VOLUMES: Option<Gate> = Some(Gate::VolumesUnmounted);

/// A finding about the view's pod, below these steps.
pub(super) fn pod_finding(view: &PodView, cause: &'static Cause, gate: Option<Gate>, head: &[Link]) -> FindingBuilder {
    let draft = node_finding(view.seen, cause, gate).chain(head);
    draft.name(Placeholder::Pod, view.pod).name(Placeholder::Uid, view.uid())
}

/// One about the node.
pub(super) fn node_finding(seen: &Observation, cause: &'static Cause, gate: Option<Gate>) -> FindingBuilder {
    let draft = FindingBuilder::new(cause).gate(gate).name(Placeholder::Node, &seen.node.name);
    let draft = draft.name_if(Placeholder::MountNamespacePid, seen.node.kubelet_in_own_mount_namespace());
    node_names::given(draft, seen)
}

/// What is mounted, in a finding.
pub(super) trait Mounted {
    /// Names for the steps the path of a mount in the kubelet's table. Pid 1's may have the same mount; where an unmount
    /// there takes the kubelet's away as well, the steps are typed there: the kubelet's alone would go from under those
    /// who use the other.
    fn mounted<'p>(self, seen: &Observation, placeholder: Placeholder, path: impl Into<Option<&'p HostPath>>) -> Self;
}

impl Mounted for FindingBuilder {
    fn mounted<'p>(
        mut self,
        seen: &Observation,
        placeholder: Placeholder,
        path: impl Into<Option<&'p HostPath>>,
    ) -> Self {
        let path = path.into();
        if path.is_some_and(|path| goes_with_the_hosts(seen, path)) {
            self.names.retain(|placeholder, _| placeholder != Placeholder::MountNamespacePid);
        }
        self.name_if(placeholder, path.and_then(HostPath::as_str))
    }
}

/// Whether pid 1 has a mount at this path for each of the kubelet's, and an unmount of that one reaches the kubelet's: it
/// goes to the peers and slaves of the mount that it stands on (`propagate_umount`, fs/pnode.c).
fn goes_with_the_hosts(seen: &Observation, path: &HostPath) -> bool {
    let (Some(kubelets), Some(init)) = (seen.mounts.kubelet.get(), seen.mounts.init.get()) else { return false };
    let is_there = |mount: &&Mount| mount.mount_point == *path;
    let below = |table: &MountTable, mount: &Mount| table.mounts.iter().find(|one| one.id == mount.parent).cloned();
    let reaches = |other: &Mount, mount: &Mount| {
        let (Some(from), Some(to)) = (below(init, other), below(kubelets, mount)) else { return false };
        from.shared.is_some() && (from.shared == to.shared || from.shared == to.master)
    };
    let mut mounts = kubelets.mounts.iter().filter(is_there).peekable();
    mounts.peek().is_some()
        && mounts.all(|mount| init.mounts.iter().filter(is_there).any(|other| reaches(other, mount)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_prelude::*;
    use findings::{Advice, cause};

    /// Whatever a finder forgets: where the paths of the steps are is known of every finding.
    #[test]
    fn no_cause_has_its_mounts_looked_for_in_the_wrong_namespace() {
        let mut seen = sample::node();
        let path = "/k/pods/u";
        let commands = |seen: &Observation, cause| {
            let draft = node_finding(seen, cause, None).name(Placeholder::Path, path).name(Placeholder::Mount, path);
            draft.finish().remedy.steps.into_iter().filter_map(|step| step.command).collect::<Vec<String>>()
        };
        let asks_for_mounts =
            |cause: &Cause| cause.safe.iter().any(|advice: &Advice| advice.entered_command().is_some());
        let is_entered = |command: &String| command.contains(" -N 77 ") || command.contains(" /proc/77/root");
        let is_plain = |command: &String| command.starts_with("umount ") || command.starts_with("findmnt ");
        for cause in cause::all().filter(|cause| asks_for_mounts(cause)) {
            seen.node.init_mount_ns = Some(1);
            assert!(!commands(&seen, cause).iter().any(is_entered), "{}", cause.id);
            seen.node.init_mount_ns = Some(2);
            let commands = commands(&seen, cause);
            assert!(commands.iter().filter(|command| is_plain(command)).all(is_entered), "{}: {commands:?}", cause.id);
        }
    }
}
