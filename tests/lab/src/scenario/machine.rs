//! What scenarios of the virtual machine break outside of the lab's directory: its network, and device-mapper devices.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

use super::{leftovers::losetup, support};
use crate::{Node, wait_for};

/// Where the machine's servers listen. `tests/vm/inside.sh` makes the address and starts that of NFS.
pub const ADDRESS: &str = "10.99.0.1";
pub const NFS: u16 = 2049;
pub const NBD: u16 = 10809;
pub const ISCSI: u16 = 3260;
pub const CIFS: u16 = 445;

/// Drops whatever is sent to one of its servers.
pub fn silence(port: u16) -> anyhow::Result<()> {
    support::shell(&format!("iptables -I INPUT -p tcp --dport {port} -j DROP"))
}

/// Lets its servers answer.
pub fn answer() -> anyhow::Result<()> {
    support::shell("iptables -F INPUT && exportfs -o rw,no_root_squash,no_subtree_check,insecure '*:/srv/export'")
}

/// Ends every wait for a device-mapper device of the lab.
pub fn resume() -> anyhow::Result<()> {
    each_map("dmsetup resume")
}

/// Takes the lab's device-mapper devices and network disks away, on which nothing is mounted any more.
pub fn remove_disks() -> anyhow::Result<()> {
    support::shell(&format!("[ ! -e {MIRROR} ] || mdadm --stop --quiet {MIRROR}"))?;
    end_multipathd()?;
    each_map("dmsetup remove --retry")?;
    support::shell("[ ! -e /sys/block/nbd0/pid ] || nbd-client -d /dev/nbd0")?;
    support::shell(
        "[ ! -d /sys/class/iscsi_session ] || [ -z \"$(ls /sys/class/iscsi_session)\" ] || iscsiadm -m node --logout",
    )
}

/// Ends the daemon of multipath maps, the machine's or the lab's.
pub fn end_multipathd() -> anyhow::Result<()> {
    support::shell(
        "systemctl stop multipathd.socket multipathd.service; ! pidof multipathd >&2 || multipathd shutdown >&2; true",
    )?;
    wait_for("multipathd has ended", Duration::from_secs(10), || Ok(support::shell("! pidof multipathd >&2").ok()))
}

fn each_map(command: &str) -> anyhow::Result<()> {
    support::shell(&format!("for map in /dev/mapper/lab-*; do [ ! -e $map ] || {command} $map; done"))
}

/// The mirror of the lab.
pub const MIRROR: &str = "/dev/md77";

/// Mirrors two disks.
pub fn mirror([first, second]: &[Map; 2]) -> anyhow::Result<PathBuf> {
    let disks = format!("{} {}", first.device().display(), second.device().display());
    support::shell(&format!(
        "mdadm --create {MIRROR} --quiet --run --assume-clean --level=1 --metadata=1.2 --raid-devices=2 {disks}"
    ))?;
    Ok(MIRROR.into())
}

/// Makes a logical volume of all of a disk. Below a loop device or a map LVM sees each disk twice, so it is shown this one.
pub fn logical_volume(disk: &Path) -> anyhow::Result<PathBuf> {
    let only = format!("--quiet --devices {}", disk.display());
    support::shell(&format!(
        "vgcreate {only} lab {} >&2 && lvcreate {only} --yes --wipesignatures n --extents 100%FREE --name data lab >&2",
        disk.display()
    ))?;
    Ok("/dev/mapper/lab-data".into())
}

/// A device's name in `/sys/block`.
pub fn file_name(device: &Path) -> anyhow::Result<String> {
    Ok(device.file_name().context("a device has a name")?.to_string_lossy().into_owned())
}

/// A device-mapper device that shows all of a disk.
pub struct Map {
    /// `lab-` and the scenario's name.
    pub name: String,
}

impl Map {
    /// Makes one with a new disk of this size.
    pub fn create(node: &Node, scenario: &str, bytes: u64) -> anyhow::Result<Self> {
        let disk = node.layout().mnt(&format!("{scenario}.img"));
        fs::File::create(&disk).and_then(|file| file.set_len(bytes)).context("create the image of a disk")?;
        let below = losetup(&disk)?;
        let name = format!("lab-{scenario}");
        support::shell(&format!("dmsetup create {name} --table \"0 $(blockdev --getsz {below}) linear {below} 0\""))?;
        Ok(Self { name })
    }

    /// Its device file.
    pub fn device(&self) -> PathBuf {
        Path::new("/dev/mapper").join(&self.name)
    }

    /// From now on it fails all that is sent to it.
    pub fn fail(&self) -> anyhow::Result<()> {
        let Self { name } = self;
        support::shell(&format!(
            "table=\"0 $(blockdev --getsz /dev/mapper/{name}) error\" && dmsetup suspend --nolockfs {name} \
             && dmsetup reload {name} --table \"$table\" && dmsetup resume {name}"
        ))
    }
}
