//! Multipath maps below mounted devices, from `/sys`: nothing is asked of a device.

use std::path::Path;

use super::HostRoot;
use crate::observation::{Dev, MultipathMap, MultipathPath};
use crate::sys;

/// A partition or a logical volume on a map, and one more in between.
const MAX_DEPTH: usize = 4;
/// A device is built on fewer.
const MAX_SLAVES: usize = 64;

/// The map of each device that is one, or is built on one.
pub fn maps(host: &HostRoot, devices: &[Dev]) -> Vec<MultipathMap> {
    let sysfs = host.at(&"/sys".into());
    devices.iter().filter_map(|dev| map_below(&sysfs, *dev)).collect()
}

fn map_below(sysfs: &Path, mounted: Dev) -> Option<MultipathMap> {
    let mut level = vec![name_at(&sysfs.join("dev/block").join(mounted.to_string()))?];
    for _ in 0..MAX_DEPTH {
        let mut next = Vec::new();
        for device in level {
            let of = sysfs.join("class/block").join(&device);
            let slaves = slaves(&of);
            if line(&of.join("dm/uuid")).is_some_and(|uuid| uuid.starts_with("mpath-")) {
                let name = line(&of.join("dm/name"))?;
                let path = |slave: String| MultipathPath { state: state(sysfs, &slave), device: slave };
                let paths = slaves?.into_iter().map(path).collect();
                return Some(MultipathMap { mounted, name, device, paths });
            }
            next.extend(slaves.unwrap_or_default());
        }
        level = next;
    }
    None
}

/// `None` when they cannot be listed, which is not "none".
pub(super) fn slaves(device: &Path) -> Option<Vec<String>> {
    let entries = sys::list_capped(&device.join("slaves"), MAX_SLAVES).ok()?;
    let mut names: Vec<String> = entries.iter().filter_map(|entry| entry.name.to_str().map(str::to_owned)).collect();
    names.sort();
    Some(names)
}

/// The last part of where a link leads.
pub(super) fn name_at(link: &Path) -> Option<String> {
    String::from_utf8(sys::read_link(link).ok()?.rsplit(|b| *b == b'/').next()?.to_vec()).ok()
}

fn state(sysfs: &Path, device: &str) -> Option<String> {
    line(&sysfs.join("class/block").join(device).join("device/state"))
}

pub(super) fn line(path: &Path) -> Option<String> {
    sys::read_text(path, sys::limits::MAX_LINE_BYTES)
        .ok()
        .map(|text| text.trim().to_owned())
        .filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    const DEV: Dev = Dev { major: 253, minor: 4 };

    /// `/sys` with a logical volume (253:4) on a map of two paths.
    fn sysfs(states: [&str; 2]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join("sys").join(path);
        let put = |path: &str, text: &str| {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs::write(at(path), text).unwrap();
        };
        put("devices/dm-4/dm/uuid", "LVM-abc\n");
        put("devices/dm-4/slaves/dm-3/dev", "");
        put("devices/dm-3/dm/uuid", "mpath-3600a\n");
        put("devices/dm-3/dm/name", "mpatha\n");
        fs::create_dir_all(at("devices/dm-3/slaves")).unwrap();
        for (name, state) in ["sdb", "sdc"].into_iter().zip(states) {
            put(&format!("devices/dm-3/slaves/{name}"), "");
            if !state.is_empty() {
                put(&format!("devices/{name}/device/state"), &format!("{state}\n"));
            }
        }
        fs::create_dir_all(at("class/block")).unwrap();
        fs::create_dir_all(at("dev/block")).unwrap();
        for name in ["dm-4", "dm-3", "sdb", "sdc"] {
            symlink(format!("../../devices/{name}"), at("class/block").join(name)).unwrap();
        }
        symlink("../../devices/dm-4", at("dev/block/253:4")).unwrap();
        dir
    }

    fn seen(dir: &tempfile::TempDir) -> Vec<MultipathMap> {
        maps(&HostRoot::new(dir.path()), &[DEV])
    }

    #[test]
    fn the_map_below_a_logical_volume() {
        let maps = seen(&sysfs(["offline", "transport-offline"]));
        assert_eq!((maps[0].name.as_str(), maps[0].device.as_str(), maps[0].mounted), ("mpatha", "dm-3", DEV));
        assert!(maps[0].is_without_path(), "{maps:?}");
        assert!(!seen(&sysfs(["offline", "running"]))[0].is_without_path());
        assert!(!seen(&sysfs(["offline", ""]))[0].is_without_path(), "what is not reported is not dead");
    }

    #[test]
    fn slaves_that_cannot_be_listed_are_not_none() {
        let dir = sysfs(["offline", "offline"]);
        fs::remove_dir_all(dir.path().join("sys/devices/dm-3/slaves")).unwrap();
        assert_eq!(seen(&dir), []);
        fs::create_dir(dir.path().join("sys/devices/dm-3/slaves")).unwrap();
        assert!(seen(&dir)[0].is_without_path());
    }

    #[test]
    fn another_device_is_no_map() {
        let dir = sysfs(["offline", "offline"]);
        fs::write(dir.path().join("sys/devices/dm-3/dm/uuid"), "CRYPT-LUKS2-abc\n").unwrap();
        assert_eq!(seen(&dir), []);
        assert_eq!(maps(&HostRoot::default(), &[Dev { major: 4000, minor: 1 }]), []);
    }
}
