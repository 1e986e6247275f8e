//! The copies of a mount in all namespaces, and which of them propagation ties to it.
//!
//! The rule is that of the kernel's `propagate_mount_busy` (`fs/pnode.c`), each part of it tried
//! with a real `umount` in the tests: for every peer and every slave, direct or not, of the mount
//! that the *target stands on*, whatever is mounted at the same directory of the same file system
//! must be free as well, even if it is another file system. A copy on which other mounts stand is
//! left out by the kernel, unless it is exactly one that covers it whole. The peer group of the
//! target itself does not matter.

use std::collections::BTreeSet;

use super::space::{MountCopy, Namespace, Space};
use crate::host::mounts::Table;
use crate::observation::{CopyKind, Dev, HostPath, Mount, is_path_within};
use crate::parse::mountinfo::RawMount;

/// What to look for on behalf of one target.
struct Wanted {
    id: u32,
    dev: Dev,
    root: HostPath,
    /// Where it stands: the mount below it, and the directory in that one's file system.
    on: Option<(Mount, Vec<u8>)>,
    /// The peer groups that receive what is mounted there.
    groups: BTreeSet<u32>,
}

/// The namespaces that have a copy of any target.
pub(super) fn spaces(targets: &[Mount], kubelet_ns: u64, tables: &[Namespace]) -> Vec<Space> {
    let edges: BTreeSet<(u32, u32)> = tables.iter().flat_map(edges).collect();
    let kubelet = tables.iter().find(|namespace| namespace.table.ns == kubelet_ns);
    let wanted: Vec<Wanted> = targets.iter().map(|target| Wanted::new(target, kubelet, &edges)).collect();
    tables.iter().filter_map(|namespace| space(namespace, &wanted)).collect()
}

/// Which peer group is a slave of which, as far as one namespace shows.
fn edges(namespace: &Namespace) -> BTreeSet<(u32, u32)> {
    let mut edges = BTreeSet::new();
    namespace.table.mounts_with(b"master:", |mount| {
        edges.extend(mount.master.zip(mount.shared));
        false
    });
    edges
}

impl Wanted {
    fn new(target: &Mount, kubelet: Option<&Namespace>, edges: &BTreeSet<(u32, u32)>) -> Self {
        let parent = kubelet.and_then(|namespace| {
            let parsed = namespace.table.mounts(|mount| mount.id == target.parent && mount.id != target.id);
            parsed.mounts.into_iter().next()
        });
        let on = parent.and_then(|parent| {
            let place = place(&parent, target.mount_point.as_bytes())?;
            Some((parent, place))
        });
        let mut groups: BTreeSet<u32> = on.iter().filter_map(|(parent, _)| parent.shared).collect();
        while let Some((_, slave)) = edges.iter().find(|(m, slave)| groups.contains(m) && !groups.contains(slave)) {
            groups.insert(*slave);
        }
        Wanted { id: target.id, dev: target.dev, root: target.root.clone(), on, groups }
    }

    fn is_same_content(&self, mount: &RawMount<'_>) -> bool {
        mount.id == self.id || (mount.dev == self.dev && mount.root().as_ref() == self.root.as_bytes())
    }

    /// Whether what is mounted on the mount the target stands on is mounted on `mount` too.
    fn is_tied(&self, mount: &RawMount<'_>) -> bool {
        let receives = [mount.shared, mount.master].into_iter().flatten().any(|group| self.groups.contains(&group));
        receives && self.on.as_ref().is_some_and(|(parent, _)| parent.dev == mount.dev)
    }

    /// Whether `mount_point` on `parent` is the directory that the target is mounted on.
    fn is_place(&self, parent: &Mount, mount_point: &[u8]) -> bool {
        self.on.as_ref().is_some_and(|(_, wanted)| place(parent, mount_point).as_ref() == Some(wanted))
    }
}

/// The directory, in the file system of `parent`, that `mount_point` is.
fn place(parent: &Mount, mount_point: &[u8]) -> Option<Vec<u8>> {
    let above = parent.mount_point.as_bytes();
    if !is_path_within(mount_point, above) {
        return None;
    }
    let below = mount_point.get(above.strip_suffix(b"/").unwrap_or(above).len()..)?;
    let root = parent.root.as_bytes();
    Some([root.strip_suffix(b"/").unwrap_or(root), below].concat())
}

/// Most namespaces have neither the file system nor a peer of the place: a search for their marks
/// costs less than reading every line.
fn may_have_any(table: &Table, wanted: &[Wanted]) -> bool {
    let marks = |wanted: &Wanted| {
        let groups = wanted.groups.iter().flat_map(|group| [format!("shared:{group} "), format!("master:{group} ")]);
        groups.chain([format!(" {} ", wanted.dev)]).collect::<Vec<_>>()
    };
    let marks: Vec<String> = wanted.iter().flat_map(marks).collect();
    let all = marks.len();
    table.absent_marks(marks).len() < all
}

fn space(namespace: &Namespace, wanted: &[Wanted]) -> Option<Space> {
    let table = &namespace.table;
    if !may_have_any(table, wanted) {
        return None;
    }
    let mut tied: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); wanted.len()];
    let parents = table.mounts(|mount| {
        let mut any = false;
        for (wanted, tied) in wanted.iter().zip(&mut tied) {
            if wanted.is_tied(mount) {
                tied.insert(mount.id);
                any = true;
            }
        }
        any
    });
    // Per target: the copies, and whether each stands where propagation would have put it.
    let mut pairs: Vec<(usize, u32, bool)> = Vec::new();
    table.mounts(|mount| {
        for (target, wanted) in wanted.iter().enumerate() {
            let stands_on_tied = tied[target].contains(&mount.parent);
            let parent = parents.mounts.iter().find(|parent| stands_on_tied && parent.id == mount.parent);
            let at_place = parent.is_some_and(|parent| wanted.is_place(parent, &mount.mount_point()));
            if at_place || wanted.is_same_content(mount) {
                pairs.push((target, mount.id, at_place));
            }
        }
        false
    });
    if pairs.is_empty() {
        return None;
    }
    let mounts = surroundings(namespace, &pairs);
    let copies = pairs.iter().filter_map(|(target, id, at_place)| {
        let mount = mounts.iter().find(|mount| mount.id == *id)?;
        let kind = if *id == wanted[*target].id {
            CopyKind::Original
        } else if *at_place && is_checked(mount, &mounts) {
            CopyKind::Propagated
        } else {
            CopyKind::Private
        };
        Some(MountCopy { target: *target, id: *id, mount_point: mount.mount_point.clone(), kind })
    });
    let copies = copies.collect();
    Some(Space { ns: namespace.table.ns, pids: namespace.pids.clone(), copies, mounts })
}

/// The kernel passes over a copy that other mounts stand on, unless one covers it whole.
fn is_checked(mount: &Mount, mounts: &[Mount]) -> bool {
    let mut on_it = mounts.iter().filter(|other| other.parent == mount.id && other.id != mount.id);
    match (on_it.next(), on_it.next()) {
        (None, _) => true,
        (Some(only), None) => only.mount_point == mount.mount_point,
        (Some(_), Some(_)) => false,
    }
}

/// The copies with the mounts they stand on and those on or below them.
fn surroundings(namespace: &Namespace, pairs: &[(usize, u32, bool)]) -> Vec<Mount> {
    let table = &namespace.table;
    let ids: BTreeSet<u32> = pairs.iter().map(|(_, id, _)| *id).collect();
    let copies = table.mounts(|mount| ids.contains(&mount.id)).mounts;
    let below_a_copy = |point: &[u8]| copies.iter().any(|copy| is_path_within(point, copy.mount_point.as_bytes()));
    let wanted = |mount: &RawMount<'_>| {
        ids.contains(&mount.id)
            || copies.iter().any(|copy| copy.parent == mount.id || copy.id == mount.parent)
            || below_a_copy(&mount.mount_point())
    };
    let mut mounts = table.mounts(wanted).mounts;
    let root = &namespace.table.root;
    if root != b"/" {
        for mount in &mut mounts {
            let below = mount.mount_point.as_bytes().strip_suffix(b"/").unwrap_or(mount.mount_point.as_bytes());
            mount.mount_point = HostPath::new([root.as_slice(), below].concat());
        }
    }
    mounts
}
