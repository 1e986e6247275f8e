//! A file system on a device-mapper device that is suspended, or on what is built on one.

use std::path::Path;
use std::time::Duration;

use super::machine::{self, Map};
use super::{Staged, csi, remote, support};
use crate::{Gate, Node, PodSpec, process, standin::csi::Manner, wait_for};

scenarios! {
    "vm-dm-suspended",
        "the container's process writes to a volume on a device-mapper device that was suspended and not resumed",
        suspended;
    "vm-dm-suspended-below",
        "the container's process has a file stored on a device-mapper device that was suspended below its file system",
        suspended_below;
    "vm-lvm-suspended",
        "the container's process has a file stored on a logical volume, and the device below that was suspended", lvm;
    "vm-md-suspended",
        "the container's process has a file stored on a mirror (md), one of whose disks was suspended", mirror;
    "vm-umount-suspended",
        "the umount of a volume's CSI driver writes back to a device-mapper device that was suspended", umount;
}

const MIB: u64 = 1 << 20;
const SIZE: u64 = 64 * MIB;

/// A file that is made anew each time has the journal written.
const STORES: &str = "while true; do dd if=/dev/zero of=/data/log bs=4k count=1 conv=fsync; rm /data/log; done";

/// A pod that runs `command` with a CSI volume on this device.
fn on_device(node: &Node, name: &str, device: &Path, command: &str) -> anyhow::Result<(PodSpec, i32)> {
    csi::start_driver(node, Manner::Proper)?;
    let mut spec = PodSpec::new(name).container(&["/bin/sh", "-c", command]);
    let volume = node.csi_directory(&mut spec, "pvc-data")?;
    support::shell(&format!("mkfs.ext4 -q {0} && mount {0} {1}", device.display(), volume.target.display()))?;
    let spec = spec.mount(&volume.target, "/data");
    let task = node.run(&spec)?.app()?.pid;
    support::wait_exists(&volume.target.join("log"))?;
    Ok((spec, task))
}

fn stuck_on(map: &Map, spec: PodSpec, task: i32) -> Staged {
    let resume = format!("dmsetup resume {}", map.name);
    let names = vec![task.to_string(), "/data".to_owned(), resume.clone()];
    Staged::stuck(spec.pod, Gate::ContainersStopped, "BlockDeviceSuspended", names).cured_by(resume)
}

fn suspended(node: &Node) -> anyhow::Result<Staged> {
    let name = "vm-dm-suspended";
    let map = Map::create(node, name, SIZE)?;
    let command = "exec 3> /data/log; while true; do echo on >&3; sleep 1; done";
    let (spec, task) = on_device(node, name, &map.device(), command)?;
    support::shell(&format!("dmsetup suspend {}", map.name))?;
    support::wait_stack(task, "percpu_rwsem_wait")?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    support::wait_killed(task)?;
    process::wait_state(task, "D")?;
    Ok(stuck_on(&map, spec, task))
}

fn suspended_below(node: &Node) -> anyhow::Result<Staged> {
    let name = "vm-dm-suspended-below";
    let map = Map::create(node, name, SIZE)?;
    below(node, name, &map.device(), &map)
}

fn lvm(node: &Node) -> anyhow::Result<Staged> {
    let name = "vm-lvm-suspended";
    let map = Map::create(node, name, SIZE)?;
    let mut staged = below(node, name, &machine::logical_volume(&map.device())?, &map)?;
    staged.expect.iter_mut().for_each(|expect| expect.names.push("(LVM, lab-data)".to_owned()));
    Ok(staged)
}

fn mirror(node: &Node) -> anyhow::Result<Staged> {
    let name = "vm-md-suspended";
    let disks = [Map::create(node, &format!("{name}-a"), SIZE)?, Map::create(node, &format!("{name}-b"), SIZE)?];
    let [first, second] = &disks;
    let mut staged = below(node, name, &machine::mirror(&disks)?, second)?;
    let device = second.device().canonicalize()?;
    let chain = [machine::MIRROR.replace("/dev/", "RAID "), format!("device {}", machine::file_name(&device)?)];
    staged.expect.iter_mut().for_each(|expect| expect.names.extend(chain.clone()));
    anyhow::ensure!(first.device().exists(), "the other disk of the mirror is gone");
    Ok(staged)
}

/// The pod has a file stored on `device`, and this one below it is suspended.
fn below(node: &Node, name: &str, device: &Path, map: &Map) -> anyhow::Result<Staged> {
    let (spec, init) = on_device(node, name, device, STORES)?;
    support::shell(&format!("dmsetup suspend --nolockfs {}", map.name))?;
    let task = remote::waiting(init)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    support::wait_killed(task)?;
    Ok(stuck_on(map, spec, task))
}

fn umount(node: &Node) -> anyhow::Result<Staged> {
    let name = "vm-umount-suspended";
    let driver = csi::start_driver(node, Manner::Program)?;
    let map = Map::create(node, name, SIZE)?;
    let mut spec = PodSpec::sleeping(name);
    let volume = node.csi_directory(&mut spec, "pvc-data")?;
    let (device, target) = (map.device(), volume.target.display());
    support::shell(&format!("mkfs.ext4 -q {0} && mount {0} {target}", device.display()))?;
    node.run(&spec)?;
    support::shell(&format!(
        "dd if=/dev/zero of={target}/log bs=4k count=1 && dmsetup suspend --nolockfs {}",
        map.name
    ))?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let umount = wait_for("the driver's umount waits", Duration::from_secs(10), || {
        let mut children = process::threads(driver).into_iter().flat_map(process::children);
        Ok(children.find(|child| process::state(*child) == Some('D')))
    })?;
    let resume = format!("dmsetup resume {}", map.name);
    let names = vec![format!("pid {umount} umount"), map.name, resume.clone()];
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "BlockDeviceSuspended", names).cured_by(resume))
}
