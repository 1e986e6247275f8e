//! A volume that is unmounted here, and of which another mount namespace has a copy.

use findings::{Finding, Link, Placeholder, cause};

use super::{Found, build::VOLUMES, runtime, words};
use crate::{
    observation::{HostPath, Question, VolumeDir},
    view::{PodView, copies_block},
};

/// On kernels of old the directory cannot be removed while the copy is there. On today's kernels a
/// copy holds no pod, and nothing is said of it here.
pub fn find(view: &PodView, volume: &VolumeDir, target: &HostPath, head: &[Link]) -> Option<Finding> {
    let is_unmounted = volume.mounted.get() == Some(&false) && view.mount_at(target).is_none();
    if !is_unmounted || !copies_block(view.seen) {
        return None;
    }
    let root = &view.seen.node.kubelet_root;
    target.below(root).map(|end| view.seen.is_settled(Question::MountCopies(end)));
    let copy = view.seen.mount_copies.iter().find(|copy| copy.is_copy_of(target, root))?;
    let cause = &cause::MOUNT_COPIED_ON_OLD_KERNEL;
    let found = words::copy_named(runtime::named(view, Found::new(cause, VOLUMES).after(head)), copy)
        .link(words::place(target), "cannot be removed: mounted elsewhere")
        .blame(words::pid(copy.pid, &copy.comm, copy.state), words::has_copy(copy))
        .evidence("mountinfo of the kubelet", format!("{} is not mounted", target.show()))
        .evidence(format!("/proc/{}/mountinfo", copy.pid), copy.mount.mount_point.show())
        .evidence("uname -r", &view.seen.node.kernel)
        .name_if(Placeholder::Path, target.as_str())
        .root(format!("{}:{}", copy.ns, target.show()));
    Some(found.finish())
}
