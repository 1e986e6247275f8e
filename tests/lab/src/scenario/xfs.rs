//! XFS that is frozen.

use std::fs;

use anyhow::Context as _;

use super::{Staged, support};
use crate::{Gate, Node, PodSpec, process};

scenarios! {
    "vm-xfs-frozen", "the container's process writes to an xfs that was frozen for a snapshot", frozen;
}

const COMMAND: &str = "exec 3> /data/log; while true; do echo on >&3; sleep 1; done";

fn frozen(node: &Node) -> anyhow::Result<Staged> {
    let name = "vm-xfs-frozen";
    let (disk, data) = (node.layout().mnt(&format!("{name}.img")), node.layout().mnt(&format!("data-of-{name}")));
    fs::create_dir_all(&data).context("create a mount point")?;
    // mkfs.xfs refuses less than 300 MiB.
    fs::File::create(&disk).and_then(|file| file.set_len(320 << 20)).context("create the image of a disk")?;
    support::shell(&format!("mkfs.xfs -q {0} && mount -o loop {0} {1}", disk.display(), data.display()))?;
    let spec = PodSpec::new(name).container(&["/bin/sh", "-c", COMMAND]).mount(&data, "/data");
    let task = node.run(&spec)?.app()?.pid;
    support::wait_exists(&data.join("log"))?;
    support::shell(&format!("fsfreeze -f {}", data.display()))?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_state(task, "D")?;
    support::wait_stack(task, "percpu_rwsem_wait")?;
    let names = vec![task.to_string(), "/data".to_owned(), "fsfreeze -u".to_owned()];
    let cure = format!("fsfreeze -u {}", data.display());
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, "FileSystemFrozen", names).cured_by(cure))
}
