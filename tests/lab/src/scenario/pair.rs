//! Which scenarios can be staged on one node.

use super::{Scenario, all};

/// What is alone on its node, and why.
const ALONE: &[(&str, &str)] = &[
    (
        "containerd-stopped",
        "the runtime answers nothing, so no other pod can be started or judged: it hides the other by design",
    ),
    ("containerd-killed", "the runtime is gone: the same"),
    ("shim-killed", "containerd has to be stopped for it, which hides the other by design"),
    ("hidden-volume", "what is mounted over the kubelet's directory hides the volumes of the other as well"),
    ("kubelet-stopped", "nothing of the other would be done: it hides the other by design"),
    ("kubelet-killed", "the same"),
    ("ext4-error", "what is mounted over the pods' directories hides those of the other, and then fails"),
    ("xfs-shut-down", "the same"),
    ("fuse-without-fusectl", "it takes fusectl away, which another FUSE server's answer needs"),
    ("kubelet-namespace", "what another mounts later does not reach its kubelet, which then has nothing to wait for"),
    ("kubelet-namespace-globalmount", "the same: its kubelet sees nothing that another mounts later"),
];

/// Of each of these one is on a node, and why.
const ONE_OF: &[(&[&str], &str)] = &[
    (
        &[
            "vol-data-missing", "vol-data-empty", "csi-socket-missing", "csi-left-mounted", "csi-driver-back",
            "csi-block-driver-gone", "dstate-writer", "files-below-volume", "umount-hung", "mounted-twice",
            "fuse-dead", "fuse-hung-volume", "swap-on-volume", "xfs-held", "xfs-looked-at", "orphan-remembered",
            "orphan-remembered-moved", "orphan-dir",
        ],
        "the lab has one CSI driver, and it behaves in one way",
    ),
    (
        &[
            "mounted-twice", "loop-left", "kubelet-namespace", "orphan-remembered", "orphan-remembered-moved",
            "orphan-dir",
        ],
        "both restart the kubelet, which then does not remember the first as it was",
    ),
    (
        &["loop-left", "csi-block-driver-gone"],
        "the first's kubelet has no losetup, so it detaches no loop device of the second either",
    ),
    (
        &["fd-in-flight", "socket-relative", "socket-elsewhere"],
        "each may hold the volume of the other, which is to be said of both",
    ),
    (
        &["fd-in-flight", "csi-left-mounted"],
        "the descriptor in flight may hold the volume that the driver left mounted, which is to be said of it",
    ),
    (&["cni-del", "cni-config-gone"], "the node has one network"),
    (&["kubelet-namespace", "globalmount-left"], "what the second mounts does not reach the first's kubelet"),
];

/// These restart the kubelet, so they come first.
const FIRST: &[&str] = ONE_OF[1].0;

/// A runtime that waits for one pod's shim must not change what is said of another.
const ONCE_WRONG: &[(&str, &str)] = &[("pre-stop-hook", "shim-stopped")];

/// It waits until no pod comes or goes, so it comes last.
const LAST: &str = "globalmount-left";

/// Why two scenarios cannot be staged on one node; none when they can.
pub fn conflict(one: &Scenario, other: &Scenario) -> Option<&'static str> {
    let is_one = |name: &str| name == one.name || name == other.name;
    let alone = ALONE.iter().find(|(name, _)| is_one(name)).map(|(_, why)| *why);
    let both = |names: &[&str]| names.contains(&one.name) && names.contains(&other.name);
    alone.or_else(|| ONE_OF.iter().find(|(names, _)| both(names)).map(|(_, why)| *why))
}

/// Pairs that were judged wrongly once.
pub fn once_wrong() -> impl Iterator<Item = [&'static Scenario; 2]> {
    ONCE_WRONG.iter().filter_map(|(one, other)| Some([super::find(one)?, super::find(other)?]))
}

/// Every two that can be staged on one node of this machine, in the order in which they are.
pub fn pairs() -> Vec<[&'static Scenario; 2]> {
    let possible: Vec<&Scenario> = all().filter(|scenario| scenario.obstacle().is_none()).collect();
    let mut pairs = Vec::new();
    for (at, one) in possible.iter().enumerate() {
        for other in possible.iter().skip(at + 1).filter(|other| conflict(one, other).is_none()) {
            pairs.push(if FIRST.contains(&other.name) || one.name == LAST { [*other, *one] } else { [*one, *other] });
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::find;

    #[test]
    fn every_name_is_a_scenarios() {
        let names =
            ALONE.iter().map(|(name, _)| *name).chain(ONE_OF.iter().flat_map(|(names, _)| names.iter().copied()));
        let names = names.chain(ONCE_WRONG.iter().flat_map(|(one, other)| [*one, *other])).chain([LAST]);
        assert_eq!(names.filter(|name| find(name).is_none()).collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn whoever_restarts_the_kubelet_comes_first() {
        for [one, other] in pairs() {
            assert!(!FIRST.contains(&other.name), "{} after {}", other.name, one.name);
            assert!(one.name != LAST, "{} after {}", other.name, one.name);
            assert!(one.name != other.name && conflict(one, other).is_none());
        }
    }
}
