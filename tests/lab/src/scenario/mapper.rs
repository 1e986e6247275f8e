//! A file system on a device-mapper device that is suspended.

use super::{Staged, csi, machine::Map, remote, support};
use crate::{Gate, Node, PodSpec, process, standin::csi::Manner};

scenarios! {
    "vm-dm-suspended",
        "the container's process writes to a volume on a device-mapper device that was suspended and not resumed",
        suspended;
    "vm-dm-suspended-below",
        "the container's process has a file stored on a device-mapper device that was suspended below its file system",
        suspended_below;
}

const MIB: u64 = 1 << 20;
const SIZE: u64 = 64 * MIB;

/// A pod that runs `command` with a CSI volume on a new map.
fn on_map(node: &Node, name: &str, command: &str) -> anyhow::Result<(PodSpec, Map, i32)> {
    csi::start_driver(node, Manner::Proper)?;
    let map = Map::create(node, name, SIZE)?;
    let mut spec = PodSpec::new(name).container(&["/bin/sh", "-c", command]);
    let volume = node.csi_directory(&mut spec, "pvc-data")?;
    let device = map.device();
    support::shell(&format!("mkfs.ext4 -q {0} && mount {0} {1}", device.display(), volume.target.display()))?;
    let spec = spec.mount(&volume.target, "/data");
    let task = node.run(&spec)?.app()?.pid;
    support::wait_exists(&volume.target.join("log"))?;
    Ok((spec, map, task))
}

fn stuck_on(map: &Map, spec: PodSpec, task: i32) -> Staged {
    let resume = format!("dmsetup resume {}", map.name);
    let names = vec![task.to_string(), "/data".to_owned(), resume.clone()];
    Staged::stuck(spec.pod, Gate::ContainersStopped, "BlockDeviceSuspended", names).cured_by(resume)
}

fn suspended(node: &Node) -> anyhow::Result<Staged> {
    let command = "exec 3> /data/log; while true; do echo on >&3; sleep 1; done";
    let (spec, map, task) = on_map(node, "vm-dm-suspended", command)?;
    support::shell(&format!("dmsetup suspend {}", map.name))?;
    support::wait_stack(task, "percpu_rwsem_wait")?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    support::wait_killed(task)?;
    process::wait_state(task, "D")?;
    Ok(stuck_on(&map, spec, task))
}

fn suspended_below(node: &Node) -> anyhow::Result<Staged> {
    // A file that is made anew each time has the journal written.
    let command = "while true; do dd if=/dev/zero of=/data/log bs=4k count=1 conv=fsync; rm /data/log; done";
    let (spec, map, init) = on_map(node, "vm-dm-suspended-below", command)?;
    support::shell(&format!("dmsetup suspend --nolockfs {}", map.name))?;
    let task = remote::waiting(init)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    support::wait_killed(task)?;
    Ok(stuck_on(&map, spec, task))
}
