//! The block devices below a mounted one, from `/sys`: nothing is asked of a device.

use std::path::Path;

use super::HostRoot;
use super::multipath::{line, name_at, slaves};
use crate::observation::{BlockDevice, BlockKind, BlockLayer, BlockStack, Dev, FileSystemErrors, HostPath};
use crate::sys;

/// A file system on a partition of a logical volume on a RAID of multipath maps is still below this.
const MAX_DEVICES: usize = 64;

/// What is below each of these devices, each looked at once.
pub fn read(host: &HostRoot, devices: &[Dev]) -> Vec<BlockStack> {
    let sysfs = host.at(&"/sys".into());
    devices.iter().filter_map(|dev| stack(&sysfs, *dev)).collect()
}

/// The same, with the counters of a second look.
pub fn read_again(host: &HostRoot, mut stack: BlockStack) -> BlockStack {
    let sysfs = host.at(&"/sys".into());
    for device in &mut stack.devices {
        (device.in_flight, device.finished[1], device.written[1]) =
            counters(&sysfs.join("class/block").join(&device.name));
    }
    stack
}

fn stack(sysfs: &Path, mounted: Dev) -> Option<BlockStack> {
    let mut names = vec![name_at(&sysfs.join("dev/block").join(mounted.to_string()))?];
    let mut devices = Vec::new();
    let mut at = 0;
    while let Some(name) = names.get(at).cloned().filter(|_| at < MAX_DEVICES) {
        let of = sysfs.join("class/block").join(&name);
        let below = lower_devices(&of);
        names.extend(below.iter().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>());
        let (in_flight, finished, written) = counters(&of);
        let (finished, written) = ([finished, None], [written, None]);
        devices.push(BlockDevice { kind: kind(&of), name, in_flight, finished, written, below });
        at += 1;
    }
    let errors = devices.first().and_then(|device| errors(&sysfs.join("fs/ext4").join(&device.name)));
    Some(BlockStack { mounted, devices, errors })
}

/// What an ext4 has counted since it was last checked.
fn errors(file_system: &Path) -> Option<FileSystemErrors> {
    let number = |name: &str| line(&file_system.join(name))?.parse::<u64>().ok();
    Some(FileSystemErrors { count: number("errors_count")?, last_ms: number("last_error_time")?.saturating_mul(1000) })
}

/// What a device is built on: the whole of a partition, else what it has taken.
fn lower_devices(device: &Path) -> Vec<String> {
    if line(&device.join("partition")).is_some() {
        let target = sys::read_link(device).ok().and_then(|target| String::from_utf8(target).ok());
        return target.and_then(|target| target.rsplit('/').nth(1).map(str::to_owned)).into_iter().collect();
    }
    slaves(device).unwrap_or_default()
}

/// All that is built on a device, each before what it is built on itself.
pub(super) fn built_on(block: &Path, device: &str) -> Vec<BlockLayer> {
    let mut names = vec![device.to_owned()];
    let mut at = 0;
    while let Some(name) = names.get(at).filter(|_| at < MAX_DEVICES) {
        let entries = sys::list_capped(&block.join(name).join("holders"), MAX_DEVICES).unwrap_or_default();
        for holder in entries.iter().filter_map(|entry| entry.name.to_str().map(str::to_owned)) {
            // What is built on two of these comes after both.
            names.retain(|known| *known != holder);
            names.push(holder);
        }
        at += 1;
    }
    let above = names.into_iter().skip(1).rev();
    above.map(|name| BlockLayer { kind: kind(&block.join(&name)), name }).collect()
}

fn kind(device: &Path) -> BlockKind {
    if let Some(name) = line(&device.join("dm/name")) {
        let uuid = line(&device.join("dm/uuid"));
        let user = uuid.and_then(|uuid| uuid.split_once('-').map(|(user, _)| user.to_owned()));
        let suspended = line(&device.join("dm/suspended")).map(|suspended| suspended == "1");
        return BlockKind::Mapper { name, user, suspended };
    }
    if let Some(file) = line(&device.join("loop/backing_file")) {
        return BlockKind::Loop { file: backing_file(file.as_bytes()).0 };
    }
    match line(&device.join("md/array_state")) {
        Some(state) => BlockKind::Raid { state },
        None => BlockKind::Disk { state: line(&device.join("device/state")) },
    }
}

/// The path without the newline and without what the kernel adds to a deleted file.
pub(super) fn backing_file(line: &[u8]) -> (HostPath, bool) {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    match line.strip_suffix(b" (deleted)") {
        Some(path) => (HostPath::new(path), true),
        None => (HostPath::new(line), false),
    }
}

/// What is in flight, what was finished and what of that was written.
///
/// Of `stat` (Documentation/block/stat.rst): the first, fifth, twelfth and sixteenth number count what was finished,
/// the ninth what is in flight. Older kernels have fewer.
fn counters(device: &Path) -> (Option<u64>, Option<u64>, Option<u64>) {
    let numbers: Vec<u64> = line(&device.join("stat"))
        .map(|line| line.split_whitespace().filter_map(|number| number.parse().ok()).collect())
        .unwrap_or_default();
    let finished = (numbers.len() > 8).then(|| [0, 4, 11, 15].iter().filter_map(|at| numbers.get(*at)).sum());
    (numbers.get(8).copied(), finished, numbers.get(4).copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    const DEV: Dev = Dev { major: 253, minor: 4 };

    /// `/sys` with a suspended logical volume (253:4) on a partition of a disk that is offline.
    fn sysfs() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join("sys").join(path);
        let put = |path: &str, text: &str| {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs::write(at(path), text).unwrap();
        };
        put("devices/dm-4/dm/uuid", "LVM-abc\n");
        put("devices/dm-4/dm/name", "vg-data\n");
        put("devices/dm-4/dm/suspended", "1\n");
        put("devices/dm-4/stat", " 1 0 0 0 2 0 0 0 0 0 0\n");
        put("devices/dm-4/slaves/sdb1", "");
        put("fs/ext4/dm-4/errors_count", "3\n");
        put("fs/ext4/dm-4/last_error_time", "1789000000\n");
        put("devices/sdb/sdb1/partition", "1\n");
        put("devices/sdb/device/state", "offline\n");
        put("devices/sdb/stat", "10 0 0 0 20 0 0 0 3 0 0 5 0 0 0 7 0\n");
        fs::create_dir_all(at("class/block")).unwrap();
        fs::create_dir_all(at("dev/block")).unwrap();
        symlink("../../devices/dm-4", at("dev/block/253:4")).unwrap();
        for (name, target) in [("dm-4", "dm-4"), ("sdb", "sdb"), ("sdb1", "sdb/sdb1")] {
            symlink(format!("../../devices/{target}"), at("class/block").join(name)).unwrap();
        }
        dir
    }

    #[test]
    fn a_volume_on_a_partition_of_a_disk() {
        let dir = sysfs();
        let host = HostRoot::new(dir.path());
        let [stack] = &read(&host, &[DEV])[..] else { panic!("no stack") };
        let names: Vec<&str> = stack.devices.iter().map(|device| device.name.as_str()).collect();
        assert_eq!(names, ["dm-4", "sdb1", "sdb"]);
        let below: Vec<&[String]> = stack.devices.iter().map(|device| device.below.as_slice()).collect();
        assert_eq!(below, [&["sdb1".to_owned()][..], &["sdb".to_owned()], &[]]);
        assert_eq!(stack.suspended().unwrap().1, "vg-data");
        assert_eq!(stack.errors, Some(FileSystemErrors { count: 3, last_ms: 1_789_000_000_000 }));
        assert_eq!(stack.devices[2].in_flight, Some(3));
        assert!(!stack.devices[2].stands_still(), "one look proves nothing");
        let again = read_again(&host, stack.clone());
        assert_eq!(again.devices[2].finished, [Some(42), Some(42)]);
        assert_eq!(again.devices[2].written, [Some(20), Some(20)]);
        assert!(again.devices[2].stands_still() && again.devices[2].is_dead());
        fs::write(dir.path().join("sys/devices/sdb/stat"), "11 0 0 0 20 0 0 0 3 0 0 5 0 0 0 7 0\n").unwrap();
        assert!(!read_again(&host, stack.clone()).devices[2].stands_still());
    }

    /// Two volumes, one of them on the other as well, as with a snapshot.
    #[test]
    fn what_is_built_on_a_device_stands_before_it() {
        let dir = tempfile::tempdir().unwrap();
        for path in
            ["loop0/holders/dm-0", "loop0/holders/dm-1", "dm-0/holders/dm-2", "dm-2/holders/dm-1", "dm-1/holders"]
        {
            fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        let names: Vec<String> = built_on(dir.path(), "loop0").into_iter().map(|layer| layer.name).collect();
        assert_eq!(names, ["dm-1", "dm-2", "dm-0"]);
    }

    #[test]
    fn strips_what_the_kernel_adds() {
        assert_eq!(backing_file(b"/a b\n"), ("/a b".into(), false));
        assert_eq!(backing_file(b"/a b (deleted)\n"), ("/a b".into(), true));
    }

    #[test]
    fn what_is_no_device_has_no_stack() {
        assert_eq!(read(&HostRoot::default(), &[Dev { major: 4000, minor: 1 }]), []);
    }
}
