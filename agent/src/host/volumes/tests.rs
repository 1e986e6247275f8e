use std::{collections::BTreeSet, fs, path::Path};

use super::*;
use crate::host::mounts::MountReader;
use crate::host::mounts::tests::namespace::Namespace;
use crate::observation::VolData;
use crate::parse::mountinfo::mounts;

const UID: &str = "96fb425e-919e-44f9-8b42-b1254a602ba1";

/// A kubelet's directory with one pod, and nothing mounted.
struct Staged {
    _dir: tempfile::TempDir,
    root: HostPath,
    volumes: std::path::PathBuf,
}

impl Staged {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let volumes = dir.path().join("pods").join(UID).join("volumes");
        fs::create_dir_all(&volumes).unwrap();
        Staged { root: HostPath::from(dir.path().to_owned()), volumes, _dir: dir }
    }

    fn add(&self, file: &str, bytes: &[u8]) {
        let path = self.volumes.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn read(&self, host: &HostRoot, table: &MountTable, minor: u32) -> PodDir {
        let mut dirs = pod_dirs(host, &self.root, table, None).get().cloned().unwrap();
        assert_eq!(dirs.len(), 1);
        let mut dir = dirs.remove(0);
        assert!(dir.changed_ms > 0 && dir.volumes == Seen::NotAsked);
        read_into(&mut dir, host, &self.root, table, minor);
        dir
    }
}

fn table(text: &str) -> MountTable {
    let mounts = mounts(text.as_bytes(), |_| true).mounts;
    MountTable { ns: 1, through_pid: 1, total: mounts.len(), mounts }
}

fn nothing_mounted() -> MountTable {
    table("1 1 8:1 / / rw - ext4 /dev/root rw\n")
}

fn volume(dir: &PodDir, name: &str) -> crate::observation::VolumeDir {
    dir.volumes.get().unwrap().iter().find(|volume| volume.name == name).cloned().unwrap()
}

#[test]
fn reads_a_pod_with_nothing_mounted() {
    let staged = Staged::new();
    let json = br#"{"driverName":"d","volumeHandle":"h","specVolID":"pv-1"}"#;
    staged.add("kubernetes.io~csi/pv-1/vol_data.json", json);
    staged.add("kubernetes.io~csi/pv-1/mount/left", b"data");
    staged.add("kubernetes.io~csi/pv-2/vol_data.json", b"");
    staged.add("kubernetes.io~empty-dir/cache/a", b"");
    staged.add("kubernetes.io~empty-dir/cache/b", b"");
    staged.add("stray", b"");
    fs::create_dir(staged.root.join("pods").join("not-a-uid").as_path()).unwrap();

    let dir = staged.read(&HostRoot::default(), &nothing_mounted(), 36);
    assert_eq!(dir.strays, [HostPath::from(staged.volumes.join("stray"))]);
    assert!(dir.faults.is_empty(), "{:?}", dir.faults);

    let csi = volume(&dir, "pv-1");
    assert_eq!(csi.plugin, "kubernetes.io/csi");
    assert_eq!(csi.target, Seen::Seen(csi.path.join("mount")));
    assert_eq!((csi.mounted, csi.entries), (Seen::Seen(false), Some(1)));
    assert!(matches!(csi.vol_data, VolData::Read(volume) if volume.spec_id == "pv-1"));

    let empty = volume(&dir, "pv-2");
    assert_eq!((empty.target, empty.mounted, empty.entries), (Seen::Missing, Seen::Missing, None));
    assert_eq!(empty.vol_data, VolData::Unusable("is empty (0 bytes)".to_owned()));

    let plain = volume(&dir, "cache");
    assert_eq!((plain.target, plain.entries), (Seen::Seen(plain.path), Some(2)));
    assert_eq!(plain.vol_data, VolData::NotCsi);
}

#[test]
fn a_file_that_is_too_long_is_not_read() {
    let staged = Staged::new();
    staged.add("kubernetes.io~csi/pv-1/vol_data.json", b"");
    let path = staged.volumes.join("kubernetes.io~csi/pv-1/vol_data.json");
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(1 << 30).unwrap();
    let dir = staged.read(&HostRoot::default(), &nothing_mounted(), 36);
    let VolData::Unusable(why) = volume(&dir, "pv-1").vol_data else { panic!() };
    assert!(why.contains("1073741824 bytes"), "{why}");
}

#[test]
fn a_csi_volume_that_is_a_file_fails_as_it_does_for_the_kubelet() {
    let staged = Staged::new();
    staged.add("kubernetes.io~csi/pv-1", b"");
    let dir = staged.read(&HostRoot::default(), &nothing_mounted(), 36);
    assert!(volume(&dir, "pv-1").target.fault().is_some_and(|fault| fault.source.to_string().ends_with("pv-1")));
}

#[test]
fn nothing_is_touched_on_a_file_system_that_needs_a_server() {
    let staged = Staged::new();
    staged.add("kubernetes.io~csi/pv-1/mount/secret", b"would be listed");
    staged.add("kubernetes.io~nfs/pv-2/x", b"would be listed");
    let (base, volumes) = (staged.root.as_str().unwrap(), staged.volumes.to_str().unwrap());
    let suspect = format!(
        "1 1 8:1 / / rw - ext4 /dev/root rw\n2 1 0:40 / {volumes}/kubernetes.io~csi/pv-1/mount rw - fuse.s3fs s3 rw\n\
         3 1 0:41 / {volumes}/kubernetes.io~nfs rw - nfs4 server:/ rw\n"
    );
    for minor in [29, 30] {
        let dir = staged.read(&HostRoot::default(), &table(&suspect), minor);
        let csi = volume(&dir, "pv-1");
        assert_eq!((csi.mounted, csi.entries), (Seen::Seen(true), None), "mountinfo alone shows it");
        assert_eq!(dir.faults.len(), 1);
        assert!(dir.faults[0].says.contains("nfs4"), "{:?}", dir.faults);
    }
    let root_on_nfs = table(&format!("1 1 8:1 / / rw - ext4 x rw\n2 1 0:41 / {base} rw - nfs s:/ rw\n"));
    assert!(pod_dirs(&HostRoot::default(), &staged.root, &root_on_nfs, None).fault().is_some());
}

#[test]
fn a_kubelet_without_a_directory_is_missing() {
    let nowhere = HostPath::from("/nothing-here");
    for only in [None, Some(&uids(&[UID]))] {
        assert_eq!(pod_dirs(&HostRoot::default(), &nowhere, &nothing_mounted(), only), Seen::Missing);
    }
}

#[test]
fn one_pod_is_found_as_among_all() {
    let staged = Staged::new();
    let host = HostRoot::default();
    let all = pod_dirs(&host, &staged.root, &nothing_mounted(), None);
    let other = UID.replace('9', "8");
    fs::create_dir_all(staged.volumes.parent().unwrap().with_file_name(&other)).unwrap();
    let of = |uids: BTreeSet<PodUid>| pod_dirs(&host, &staged.root, &nothing_mounted(), Some(&uids));
    assert_eq!(of(uids(&[UID])), all);
    assert_eq!(of(uids(&[UID, &other])).get().map(Vec::len), Some(2));
    assert_eq!(of(uids(&[&UID.replace('9', "7")])), Seen::Seen(Vec::new()));
}

fn uids(names: &[&str]) -> BTreeSet<PodUid> {
    names.iter().map(|name| PodUid::parse(name).unwrap()).collect()
}

/// Nothing of them is left below the pod's directory.
#[test]
fn reads_the_block_volumes_that_are_published_for_the_pod() {
    let staged = Staged::new();
    let devices = staged.root.join("plugins/kubernetes.io/csi/volumeDevices");
    let target = |name: &str, uid: &str| {
        let above = devices.join("publish").join(name);
        fs::create_dir_all(above.as_path()).unwrap();
        above.join(uid)
    };
    let other = "96fb425e-919e-44f9-8b42-b1254a602ba2";
    // It was left when the driver had unmounted it; that of another pod; one that was not bound but made.
    fs::write(target("left", UID).as_path(), "").unwrap();
    std::os::unix::fs::symlink("/dev/null", target("others", other).as_path()).unwrap();
    std::os::unix::fs::symlink("/dev/null", target("made", UID).as_path()).unwrap();
    fs::write(target("bound", UID).as_path(), "").unwrap();
    fs::write(devices.join("publish/stray").as_path(), "").unwrap();
    let data = devices.join("bound/data");
    fs::create_dir_all(data.as_path()).unwrap();
    fs::write(data.join("vol_data.json").as_path(), br#"{"driverName":"d","volumeHandle":"h"}"#).unwrap();

    let bound = target("bound", UID);
    let line = format!("2 1 0:5 /loop0 {} rw - devtmpfs udev rw\n", bound.as_str().unwrap());
    let dir = staged.read(&HostRoot::default(), &table(&format!("1 1 8:1 / / rw - ext4 /dev/root rw\n{line}")), 36);
    assert!(dir.faults.is_empty(), "{:?}", dir.faults);
    let published: Vec<_> = dir.published.iter().map(|volume| (volume.name.as_str(), &volume.mounted)).collect();
    assert_eq!(published, [("bound", &Seen::Seen(true)), ("made", &Seen::Seen(false))]);
    assert_eq!((&dir.published[0].target, &dir.published[0].path), (&Seen::Seen(bound), &data));
    assert!(matches!(&dir.published[0].vol_data, VolData::Read(volume) if volume.driver == "d"));
    assert_eq!(dir.published[1].vol_data, VolData::Missing);
}

/// Real mounts, seen through the namespace's own root as the agent does on a node.
#[test]
fn old_and_new_kubelets_differ_about_a_bind_mount_within_one_file_system() {
    let mut ns = Namespace::new();
    let staged = Staged::new();
    for name in ["bind", "tmpfs", "plain"] {
        fs::create_dir_all(staged.volumes.join("x~local").join(name)).unwrap();
    }
    fs::create_dir_all(staged.volumes.join("source/dir")).unwrap();
    let sub_paths = staged.volumes.parent().unwrap().join("volume-subpaths/v/c");
    fs::create_dir_all(sub_paths.join("0")).unwrap();
    fs::write(sub_paths.join("1"), "").unwrap();
    let devices = staged.volumes.parent().unwrap().join("volumeDevices/kubernetes.io~csi");
    fs::create_dir_all(&devices).unwrap();
    std::os::unix::fs::symlink("/nothing", devices.join("pv-b")).unwrap();
    let (base, sub) = (staged.volumes.to_str().unwrap(), sub_paths.to_str().unwrap());
    ns.run(&format!(
        "cd {base} && mount --bind source/dir x~local/bind && mount -t tmpfs t x~local/tmpfs \
         && mount --bind source/dir {sub}/0; cd /"
    ));
    let table = MountReader::new(staged.root.clone()).kubelet(ns.pid()).get().cloned().unwrap();
    let host = HostRoot::new(format!("/proc/{}/root", ns.pid()));

    for (minor, bind) in [(0, true), (29, false), (30, true)] {
        let dir = staged.read(&host, &table, minor);
        let mounted = |name| volume(&dir, name).mounted;
        assert_eq!(mounted("bind"), Seen::Seen(bind), "kubelet 1.{minor}");
        assert_eq!(mounted("tmpfs"), Seen::Seen(true));
        assert_eq!(mounted("plain"), Seen::Seen(false));
        assert_eq!(volume(&dir, "bind").entries, None);
        let subs: Vec<_> = dir.sub_paths.iter().map(|s| (s.mounted.get().copied(), s.is_file)).collect();
        assert_eq!(subs, [(Some(true), false), (Some(false), true)]);
        assert_eq!(dir.devices, [HostPath::from(devices.join("pv-b"))]);
    }
    assert!(Path::new(base).exists());
}
