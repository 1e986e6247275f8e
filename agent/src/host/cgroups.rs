//! The pods' cgroups, in every hierarchy, named by either driver.
//!
//! Most of it is read here and not through `cgroups-rs`: that crate finds the hierarchies under
//! `/sys/fs/cgroup` only and not on a hybrid machine, takes a directory that is gone for an empty
//! one, and on v2 reads what freeze was *asked* for, not what *is*. Its reader of the v1 freezer
//! has none of these faults and is used. It is version 0.3 of the crate, which has the same reader:
//! from 0.4 on it speaks D-Bus to systemd, and brings an async runtime for it, thirty crates, without
//! a feature that leaves them out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cgroups_rs::freezer::{FreezerController, FreezerState};
use findings::PodUid;

use super::{HostRoot, fault_at};
use crate::observation::{CgroupDir, CgroupMount, CgroupNode, FaultKind, Freezer, HostPath, PodCgroup, Seen};
use crate::parse;
use crate::sys::{self, EntryKind};

/// `memory.stat` has some sixty short lines.
const MAX_MEMORY_STAT_BYTES: usize = 16 << 10;
/// A nested runtime can make many cgroups; more than this in one pod are not looked at.
const MAX_CGROUPS: usize = 1000;

/// The v1 controllers runc knows and therefore removes (`libcontainer/cgroups/fs`).
const KNOWN_TO_RUNC: [&str; 14] = [
    "cpuset", "devices", "memory", "cpu", "cpuacct", "pids", "blkio", "hugetlb", "net_cls", "net_prio", "perf_event",
    "freezer", "rdma", "misc",
];

/// The cgroup hierarchies of the host, from its mount table.
pub fn hierarchies(table: &[u8]) -> Vec<CgroupMount> {
    let mut hierarchies = Vec::new();
    parse::mountinfo::mounts_with(table, b" - cgroup", |mount| {
        let controllers =
            || mount.super_options().split(|b| *b == b',').map(|option| String::from_utf8_lossy(option).into_owned());
        let v1 = match mount.fs_type() {
            b"cgroup2" => None,
            b"cgroup" => Some(
                controllers()
                    .filter(|option| !["rw", "ro", "xattr", "clone_children"].contains(&option.as_str()))
                    .collect(),
            ),
            _ => return false,
        };
        // A reader in a cgroup namespace of its own sees the host's root as `/../..`; a container's
        // own view has a path below it.
        let is_whole = mount.root().split(|b| *b == b'/').all(|part| part.is_empty() || part == b"..");
        if is_whole {
            hierarchies.push(CgroupMount { mount_point: HostPath::new(mount.mount_point()), v1 });
        }
        false
    });
    // Cilium mounts version 2 once more for itself.
    let is_hosts = |mount: &CgroupMount| mount.mount_point.as_path().starts_with("/sys/fs/cgroup");
    if hierarchies.iter().any(|mount| mount.v1.is_none() && is_hosts(mount)) {
        hierarchies.retain(|mount| mount.v1.is_some() || is_hosts(mount));
    }
    hierarchies
}

/// Finds the cgroups of all pods below `cgroup_root`, without looking into them.
pub fn pods(host: &HostRoot, mounts: &[CgroupMount], cgroup_root: &str) -> Seen<Vec<PodCgroup>> {
    let mut dirs: BTreeMap<PodUid, Vec<CgroupDir>> = BTreeMap::new();
    let mut any_tree = false;
    let mut failed = None;
    for mount in mounts {
        for tree in trees(mount, cgroup_root) {
            let entries = match sys::list(&host.at(&tree)) {
                Ok(entries) => entries,
                Err(error) if sys::is_gone(&error) => continue,
                Err(error) => {
                    failed = Some(fault_at(&tree, &error));
                    continue;
                }
            };
            any_tree = true;
            for entry in entries.iter().filter(|entry| entry.kind == EntryKind::Directory) {
                let Some(uid) = entry.name.to_str().and_then(pod_uid) else { continue };
                dirs.entry(uid).or_default().push(dir_of(mount, tree.join(&entry.name)));
            }
        }
    }
    match failed {
        Some(fault) => Seen::Failed(fault),
        None if any_tree => Seen::Seen(dirs.into_iter().map(|(uid, dirs)| PodCgroup { uid, dirs }).collect()),
        None => Seen::Missing,
    }
}

/// Finds the cgroups of these pods only, without listing those of the others.
pub fn pods_of(
    uids: &BTreeSet<PodUid>,
    host: &HostRoot,
    mounts: &[CgroupMount],
    cgroup_root: &str,
) -> Seen<Vec<PodCgroup>> {
    let mut dirs: BTreeMap<PodUid, Vec<CgroupDir>> = BTreeMap::new();
    let mut any_tree = false;
    for mount in mounts {
        for tree in trees(mount, cgroup_root) {
            any_tree = any_tree || sys::file_facts(&host.at(&tree)).is_ok();
            for uid in uids {
                let path = tree.join(name(&tree, uid));
                match sys::file_facts(&host.at(&path)) {
                    Ok(_) => dirs.entry(uid.clone()).or_default().push(dir_of(mount, path)),
                    Err(error) if sys::is_gone(&error) => {}
                    Err(error) => return Seen::Failed(fault_at(&path, &error)),
                }
            }
        }
    }
    let pods = dirs.into_iter().map(|(uid, dirs)| PodCgroup { uid, dirs });
    if any_tree { Seen::Seen(pods.collect()) } else { Seen::Missing }
}

/// What [`pod_uid`] reads: how a pod's cgroup is called in this tree.
fn name(tree: &HostPath, uid: &PodUid) -> String {
    let above = tree.as_path().file_name().and_then(|name| name.to_str());
    match above.and_then(|above| above.strip_suffix(".slice")) {
        Some(slice) => format!("{slice}-pod{}.slice", uid.as_str().replace('-', "_")),
        None => format!("pod{uid}"),
    }
}

fn dir_of(mount: &CgroupMount, path: HostPath) -> CgroupDir {
    let known = |controllers: &Vec<String>| {
        controllers.iter().any(|c| c == "name=systemd" || KNOWN_TO_RUNC.contains(&c.as_str()))
    };
    CgroupDir {
        path,
        hierarchy: mount.v1.as_ref().map_or_else(|| "v2".to_owned(), |controllers| controllers.join(",")),
        known_to_runtime: mount.v1.as_ref().is_none_or(known),
        cpu_at_minimum: None,
        dirty_bytes: None,
        tree: Seen::NotAsked,
    }
}

/// The directories in which pods' cgroups lie, for both drivers (`cgroup_manager_linux.go`).
fn trees(mount: &CgroupMount, cgroup_root: &str) -> Vec<HostPath> {
    let top = mount.mount_point.as_path();
    let parts: Vec<&str> = cgroup_root.split('/').filter(|part| !part.is_empty()).collect();
    let mut trees = Vec::new();
    let cgroupfs: PathBuf = parts.iter().fold(top.to_owned(), |path, part| path.join(part)).join("kubepods");
    trees.push(HostPath::from(cgroupfs.clone()));
    trees.extend(["burstable", "besteffort"].map(|quality| HostPath::from(cgroupfs.join(quality))));
    let mut names: Vec<String> = parts.iter().map(|part| part.replace('-', "_")).collect();
    names.push("kubepods".to_owned());
    for quality in ["", "burstable", "besteffort"] {
        let mut path = top.to_owned();
        let mut prefix = String::new();
        for name in names.iter().map(String::as_str).chain((!quality.is_empty()).then_some(quality)) {
            prefix = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}-{name}") };
            path.push(format!("{prefix}.slice"));
        }
        trees.push(HostPath::from(path));
    }
    trees
}

/// `pod<uid>` or `kubepods-burstable-pod<uid with underscores>.slice`.
fn pod_uid(name: &str) -> Option<PodUid> {
    let name = name.strip_suffix(".slice").unwrap_or(name);
    let (_, uid) = name.rsplit_once("pod")?;
    PodUid::parse(&uid.replace('_', "-"))
}

/// Looks into one pod's cgroup: its tree, its processes, its freezers, its share of the CPU.
pub fn read_tree(host: &HostRoot, pod: &mut PodCgroup) {
    for dir in &mut pod.dirs {
        dir.tree = tree(host, dir);
        dir.cpu_at_minimum = cpu_at_minimum(&host.at(&dir.path), &dir.hierarchy);
        dir.dirty_bytes = dirty_bytes(&host.at(&dir.path), &dir.hierarchy);
    }
}

pub fn tree(host: &HostRoot, dir: &CgroupDir) -> Seen<Vec<CgroupNode>> {
    tree_at(&host.at(&dir.path), &dir.hierarchy)
}

/// Whether the kubelet has reduced the pod's CPU to the minimum, which it does to a pod it has
/// begun to clean up (`cleanupOrphanedPodCgroups`).
pub fn cpu_at_minimum(path: &Path, hierarchy: &str) -> Option<bool> {
    let (file, minimum) = match hierarchy {
        "v2" => ("cpu.weight", "1"),
        v1 if v1.split(',').any(|c| c == "cpu") => ("cpu.shares", "2"),
        _ => return None,
    };
    sys::read_text(&path.join(file), 64).ok().map(|value| value.trim() == minimum)
}

/// What is written and not on disk yet, by the memory controller.
fn dirty_bytes(path: &Path, hierarchy: &str) -> Option<u64> {
    let field = match hierarchy {
        "v2" => "file_dirty",
        v1 if v1.split(',').any(|c| c == "memory") => "total_dirty",
        _ => return None,
    };
    let text = sys::read_text(&path.join("memory.stat"), MAX_MEMORY_STAT_BYTES).ok()?;
    text.lines().find_map(|line| line.strip_prefix(field)?.trim().parse().ok())
}

fn tree_at(top: &Path, hierarchy: &str) -> Seen<Vec<CgroupNode>> {
    let mut nodes = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        let path = top.join(&below);
        let procs = match sys::read_capped(&path.join("cgroup.procs"), sys::limits::MAX_CGROUP_PROCS_BYTES) {
            Ok(bytes) if hierarchy == "v2" && bytes.is_empty() => match leaderless(&path) {
                Ok(procs) => procs,
                Err(error) => return Seen::Failed(fault_at(path.as_path(), &error)),
            },
            Ok(bytes) => numbers(&bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            // A threaded cgroup refuses this file; its threads' processes stand in its parent.
            Err(error) if findings::errno(&error) == Some(libc::EOPNOTSUPP) => Vec::new(),
            Err(error) => return Seen::Failed(fault_at(path.as_path(), &error)),
        };
        let children =
            if sys::may_have_subdirectories(&path) { sys::list(&path).unwrap_or_default() } else { Vec::new() };
        let children = children.iter().filter(|entry| entry.kind == EntryKind::Directory);
        open.extend(children.map(|entry| below.join(&entry.name)));
        nodes.push(CgroupNode { freezer: freezer(&path, hierarchy), below: HostPath::from(below), procs });
        if nodes.len() == MAX_CGROUPS {
            return Seen::failed(
                top.display().to_string(),
                (FaultKind::TooLarge, format!("has more than {MAX_CGROUPS} cgroups")),
            );
        }
    }
    if nodes.is_empty() { Seen::Missing } else { Seen::Seen(nodes) }
}

/// The processes of which threads alone are left: version 2 lists by the leader, and leaves one out that has ended, also
/// while another thread hangs at its end and holds the cgroup (`css_task_iter_advance`).
fn leaderless(path: &Path) -> std::io::Result<Vec<u32>> {
    let threads = match sys::read_capped(&path.join("cgroup.threads"), sys::limits::MAX_CGROUP_PROCS_BYTES) {
        // Before Linux 4.14 there is no such file, and afterwards none of a cgroup that has just gone.
        Err(error) if sys::is_gone(&error) => Vec::new(),
        threads => threads?,
    };
    let processes: BTreeSet<u32> = numbers(&threads).into_iter().filter_map(super::processes::process_of).collect();
    Ok(processes.into_iter().collect())
}

fn numbers(bytes: &[u8]) -> Vec<u32> {
    let line = |line: &[u8]| std::str::from_utf8(line).ok()?.trim().parse().ok();
    bytes.split(|b| *b == b'\n').filter_map(line).filter(|pid| *pid != 0).collect()
}

fn freezer(path: &Path, hierarchy: &str) -> Freezer {
    if hierarchy == "v2" {
        return freezer_v2(path);
    }
    if !hierarchy.split(',').any(|controller| controller == "freezer") {
        return Freezer::Thawed;
    }
    let controller = FreezerController::new(path.to_owned(), false);
    // `freezer.self_freezing` says whether it was frozen here or only with a cgroup above.
    let is_own = sys::read_text(&path.join("freezer.self_freezing"), 16).is_ok_and(|text| text.trim() == "1");
    match controller.state() {
        Ok(FreezerState::Frozen) if is_own => Freezer::Frozen,
        Ok(FreezerState::Freezing) if is_own => Freezer::Freezing,
        Ok(FreezerState::Frozen | FreezerState::Freezing) => Freezer::FrozenAbove,
        _ => Freezer::Thawed,
    }
}

fn freezer_v2(path: &Path) -> Freezer {
    let is = |file: &str, line: &str| {
        sys::read_text(&path.join(file), sys::limits::MAX_LINES_BYTES)
            .is_ok_and(|text| text.lines().any(|l| l.trim() == line))
    };
    match (is("cgroup.events", "frozen 1"), is("cgroup.freeze", "1")) {
        (true, true) => Freezer::Frozen,
        (true, false) => Freezer::FrozenAbove,
        (false, true) => Freezer::Freezing,
        (false, false) => Freezer::Thawed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "96fb425e-919e-44f9-8b42-b1254a602ba1";

    #[test]
    fn names_both_drivers_trees() {
        let mount = CgroupMount { mount_point: HostPath::from("/sys/fs/cgroup"), v1: None };
        let shown: Vec<String> = trees(&mount, "/foo/bar-baz").iter().map(HostPath::show).collect();
        assert_eq!(
            shown,
            [
                "/sys/fs/cgroup/foo/bar-baz/kubepods",
                "/sys/fs/cgroup/foo/bar-baz/kubepods/burstable",
                "/sys/fs/cgroup/foo/bar-baz/kubepods/besteffort",
                "/sys/fs/cgroup/foo.slice/foo-bar_baz.slice/foo-bar_baz-kubepods.slice",
                "/sys/fs/cgroup/foo.slice/foo-bar_baz.slice/foo-bar_baz-kubepods.slice/foo-bar_baz-kubepods-burstable.slice",
                "/sys/fs/cgroup/foo.slice/foo-bar_baz.slice/foo-bar_baz-kubepods.slice/foo-bar_baz-kubepods-besteffort.slice",
            ]
        );
    }

    #[test]
    fn reads_the_uid_of_both_drivers() {
        let uid = PodUid::parse(UID);
        assert_eq!(pod_uid(&format!("pod{UID}")), uid);
        assert_eq!(pod_uid(&format!("kubepods-burstable-pod{}.slice", UID.replace('-', "_"))), uid);
        assert_eq!(pod_uid("kubepods-burstable.slice"), None);
    }

    #[test]
    fn one_pod_is_found_as_among_all() {
        let dir = tempfile::tempdir().unwrap();
        let uids = [UID.to_owned(), UID.replace('9', "8")].map(|uid| PodUid::parse(&uid).unwrap());
        let slice = |uid: &PodUid| format!("kubepods-burstable-pod{}.slice", uid.as_str().replace('-', "_"));
        for uid in &uids {
            std::fs::create_dir_all(dir.path().join(format!("a/kubepods/pod{uid}"))).unwrap();
            let below = "b/kubepods.slice/kubepods-burstable.slice";
            std::fs::create_dir_all(dir.path().join(below).join(slice(uid))).unwrap();
        }
        let mount = |name| CgroupMount { mount_point: HostPath::from(dir.path().join(name)), v1: None };
        let (mounts, host) = ([mount("a"), mount("b")], HostRoot::default());
        let Seen::Seen(all) = pods(&host, &mounts, "/") else { panic!("no tree") };
        assert_eq!(all.len(), 2);
        for pod in all {
            assert_eq!(
                (pod.dirs.len(), pods_of(&[pod.uid.clone()].into(), &host, &mounts, "/")),
                (2, Seen::Seen(vec![pod]))
            );
        }
        let other = PodUid::parse(&UID.replace('9', "7")).unwrap();
        assert_eq!(pods_of(&[other.clone()].into(), &host, &mounts, "/"), Seen::Seen(vec![]));
        assert_eq!(pods_of(&[other].into(), &host, &[mount("c")], "/"), Seen::Missing);
    }

    /// Both versions are read from made-up trees: the same code reads the real ones in the lab.
    #[test]
    fn finds_a_pod_in_a_tree() {
        let dir = tempfile::tempdir().unwrap();
        let pod = dir.path().join(format!("kubepods/burstable/pod{UID}"));
        std::fs::create_dir_all(pod.join("child")).unwrap();
        std::fs::write(pod.join("cgroup.procs"), "").unwrap();
        std::fs::write(pod.join("cpu.weight"), "1\n").unwrap();
        std::fs::write(pod.join("child/cgroup.procs"), "12\n0\n").unwrap();
        std::fs::write(pod.join("child/cgroup.freeze"), "1\n").unwrap();
        std::fs::write(pod.join("child/cgroup.events"), "populated 1\nfrozen 0\n").unwrap();
        let mounts = [CgroupMount { mount_point: HostPath::from(dir.path().to_owned()), v1: None }];
        let Seen::Seen(mut found) = pods(&HostRoot::default(), &mounts, "/") else { panic!("no tree") };
        read_tree(&HostRoot::default(), &mut found[0]);
        let dir = &found[0].dirs[0];
        assert_eq!(dir.cpu_at_minimum, Some(true));
        let nodes = dir.tree.get().unwrap();
        assert_eq!(nodes.len(), 2);
        assert_eq!((nodes[1].procs.as_slice(), nodes[1].freezer), ([12].as_slice(), Freezer::Freezing));
    }

    /// As a thread that hangs at its end leaves it, of a process whose first thread has ended.
    #[test]
    fn a_process_is_found_by_a_thread_that_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let thread = std::thread::spawn(move || {
            std::fs::write(dir.path().join("cgroup.procs"), "").unwrap();
            std::fs::write(dir.path().join("cgroup.threads"), format!("{}\n", nix::unistd::gettid())).unwrap();
            (tree_at(dir.path(), "v2"), tree_at(dir.path(), "pids"))
        });
        let (v2, v1) = thread.join().unwrap();
        assert_eq!(v2.get().unwrap()[0].procs, [std::process::id()]);
        assert_eq!(v1.get().unwrap()[0].procs, [0; 0]);
    }

    #[test]
    fn threads_that_cannot_be_read_are_not_none() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("cgroup.procs"), "").unwrap();
        std::fs::create_dir(dir.path().join("cgroup.threads")).unwrap();
        assert!(tree_at(dir.path(), "v2").fault().is_some());
    }

    #[test]
    fn a_second_mount_of_version_2_is_not_looked_through() {
        let line = |at: &str, kind: &str| format!("30 24 0:27 / {at} rw - {kind} cgroup rw\n");
        let cgroups = |lines: &[String]| {
            let table = lines.concat();
            let mounts = hierarchies(table.as_bytes());
            mounts.iter().map(|mount| mount.mount_point.show()).collect::<Vec<_>>()
        };
        let own = line("/run/cilium/cgroupv2", "cgroup2");
        assert_eq!(cgroups(&[own.clone(), line("/sys/fs/cgroup", "cgroup2")]), ["/sys/fs/cgroup"]);
        assert_eq!(cgroups(&[line("/sys/fs/cgroup/unified", "cgroup2"), own.clone()]), ["/sys/fs/cgroup/unified"]);
        assert_eq!(
            cgroups(&[own, line("/sys/fs/cgroup/pids", "cgroup")]),
            ["/run/cilium/cgroupv2", "/sys/fs/cgroup/pids"]
        );
    }

    #[test]
    fn no_tree_is_missing_not_empty() {
        let dir = tempfile::tempdir().unwrap();
        let mounts = [CgroupMount { mount_point: HostPath::from(dir.path().to_owned()), v1: None }];
        assert_eq!(pods(&HostRoot::default(), &mounts, "/"), Seen::Missing);
    }
}
