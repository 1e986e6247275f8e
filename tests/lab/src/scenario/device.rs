//! A task of the pod waits for a file system on a local device.

use std::fs;

use anyhow::Context as _;

use super::{Staged, support};
use crate::{Gate, Launch, Node, PodSpec, process};

scenarios! {
    "frozen-file-system", "the container's process writes to an ext4 that was frozen for a snapshot",
        frozen_file_system;
    "frozen-by-path", "the container's process makes a file on an ext4 that is frozen", frozen_by_path;
}

fn frozen_by_path(node: &Node) -> anyhow::Result<Staged> {
    let (disk, data) = (node.layout().mnt("by-path.img"), node.layout().mnt("by-path"));
    fs::create_dir_all(&data).context("create a mount point")?;
    fs::File::create(&disk).and_then(|file| file.set_len(16 << 20)).context("create the image of a disk")?;
    support::shell(&format!("mkfs.ext4 -q {0} && mount -o loop {0} {1}", disk.display(), data.display()))?;
    support::shell(&format!("fsfreeze -f {}", data.display()))?;
    // The node's own disk is written to, so it is not frozen.
    node.launch(Launch::stand_in("journal").args(["stand-in", "hold", "--journal", "/var/tmp"]))?;
    let spec = PodSpec::new("frozen-by-path").container(&["/bin/touch", "/data/new"]).mount(&data, "/data");
    let task = node.run(&spec)?.app()?.pid;
    support::wait_stack(task, "percpu_rwsem_wait")?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    support::wait_killed(task)?;
    process::wait_state(task, "D")?;
    let names = vec![task.to_string(), "/data".to_owned(), "fsfreeze -u".to_owned()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, "FileSystemFrozen", names)
        .cured_by(format!("fsfreeze -u {}", data.display())))
}

fn frozen_file_system(node: &Node) -> anyhow::Result<Staged> {
    let disk = node.layout().mnt("data.img");
    let data = node.layout().mnt("data");
    fs::create_dir_all(&data).context("create a mount point")?;
    fs::File::create(&disk).and_then(|file| file.set_len(16 << 20)).context("create the image of a disk")?;
    support::shell(&format!("mkfs.ext4 -q {0} && mount -o loop {0} {1}", disk.display(), data.display()))?;
    let command = ["/bin/sh", "-c", "exec 3> /data/log; while true; do echo on >&3; sleep 1; done"];
    let spec = PodSpec::new("frozen-file-system").container(&command).mount(&data, "/data");
    let task = node.run(&spec)?.app()?.pid;
    support::wait_exists(&data.join("log"))?;
    support::shell(&format!("fsfreeze -f {}", data.display()))?;
    support::wait_stack(task, "percpu_rwsem_wait")?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    support::wait_killed(task)?;
    process::wait_state(task, "D")?;
    let names = vec![task.to_string(), "/data".to_owned(), "fsfreeze -u".to_owned()];
    let cure = format!("fsfreeze -u {}", data.display());
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, "FileSystemFrozen", names).cured_by(cure))
}
