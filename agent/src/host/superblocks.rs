//! File systems on block devices that live on without a mount in the kubelet's namespace: another process has one mounted,
//! and the device stays claimed.

use std::{collections::BTreeSet, ffi::OsString};

use super::{HostRoot, mounts::Table};
use crate::{observation::Dev, sys};

/// File systems that show each of theirs in `/sys/fs`, by the name of its device.
const KINDS: [&str; 2] = ["ext4", "xfs"];
/// A node has a few dozen.
const MAX_FILE_SYSTEMS: usize = 1024;

/// Those that `table` does not have.
pub(super) fn unmounted(host: &HostRoot, table: &Table) -> Vec<Dev> {
    let sysfs = host.at(&"/sys".into());
    let names = KINDS.iter().flat_map(|kind| {
        let entries = sys::list_capped(&sysfs.join("fs").join(kind), MAX_FILE_SYSTEMS).unwrap_or_default();
        entries.into_iter().map(|entry| entry.name)
    });
    let names = names.chain(journals(host));
    let number = |name: OsString| {
        // Entries that are no devices (`features`, `stats`) have none.
        Dev::parse(&sys::read_text(&sysfs.join("class/block").join(name).join("dev"), 64).ok()?)
    };
    let devs: BTreeSet<Dev> = names.filter_map(number).collect();
    let missing = table.absent_marks(devs.iter().map(|dev| format!(" {dev} ")).collect());
    devs.into_iter().filter(|dev| missing.contains(&format!(" {dev} "))).collect()
}

/// The devices with a journal of ext4, `dm-0-8` in `/proc/fs/jbd2`: while a file system is unmounted it has one longer than
/// it stands in `/sys/fs` (`ext4_put_super`, fs/ext4/super.c).
fn journals(host: &HostRoot) -> impl Iterator<Item = OsString> {
    let entries = sys::list_capped(&host.at(&"/proc/fs/jbd2".into()), MAX_FILE_SYSTEMS).unwrap_or_default();
    entries.into_iter().filter_map(|entry| Some(entry.name.to_str()?.rsplit_once('-')?.0.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_system_that_nobody_here_has_mounted() {
        let dir = tempfile::tempdir().unwrap();
        let sysfs = dir.path().join("sys");
        for path in ["fs/ext4/features", "fs/ext4/sdb", "fs/ext4/vda", "fs/xfs/stats", "class/block"] {
            fs::create_dir_all(sysfs.join(path)).unwrap();
        }
        // One that is being unmounted has only its journal left.
        for journal in ["dm-3-8", "vda-8"] {
            fs::create_dir_all(dir.path().join("proc/fs/jbd2").join(journal)).unwrap();
        }
        for (name, number) in [("sdb", "8:16\n"), ("vda", "254:0\n"), ("dm-3", "253:3\n")] {
            fs::create_dir(sysfs.join("class/block").join(name)).unwrap();
            fs::write(sysfs.join("class/block").join(name).join("dev"), number).unwrap();
        }
        let table = Table::kept(b"27 1 254:0 / / rw - ext4 /dev/vda rw\n");
        let unmounted = unmounted(&HostRoot::new(dir.path()), &table);
        assert_eq!(unmounted, [Dev { major: 8, minor: 16 }, Dev { major: 253, minor: 3 }]);
    }
}
