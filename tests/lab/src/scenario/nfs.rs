//! A task of the pod waits for an NFS server. Only in a machine of its own: what waits so may never end.

use super::{Repair, Scenario, Staged, support};
use crate::{Gate, Node, PodSpec, process};

/// What `tests/vm/inside.sh` serves.
const EXPORT: &str = "10.99.0.1:/srv/export";

/// A file that a dying process closes, over NFS 4.
pub const NFS4_WRITER: Scenario = Scenario {
    name: "vm-nfs4-writer",
    about: "the container's process has written a file on NFS 4, and the server is silent",
    // `umount -f` does not end its wait.
    stage: |node| Ok(writer(node, "vm-nfs4-writer", "4.2")?.by_hand(Repair::Server)),
};

/// A file that a dying process closes, over NFS 3.
pub const NFS3_WRITER: Scenario = Scenario {
    name: "vm-nfs3-writer",
    about: "the container's process has written a file on NFS 3, and the server is silent",
    stage: |node| writer(node, "vm-nfs3-writer", "3,nolock"),
};

/// On its way out it sends what it has written, and waits for the answer.
fn writer(node: &Node, name: &str, version: &str) -> anyhow::Result<Staged> {
    answer()?;
    let mut spec = PodSpec::new(name).container(&[
        "/bin/sh",
        "-c",
        "exec 3> /data/log; while true; do echo on >&3; sleep 1; done",
    ]);
    let volume = node.nfs_volume(&mut spec, "data", EXPORT, version)?;
    let spec = spec.mount(&volume, "/data");
    let task = node.run(&spec)?.app()?.pid;
    support::wait_exists(&volume.join("log"))?;
    support::shell("iptables -I INPUT -p tcp --dport 2049 -j DROP")?;
    std::thread::sleep(std::time::Duration::from_secs(3));
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_state(task, "D")?;
    support::wait_stack(task, "nfs")?;
    let path = volume.display().to_string();
    let names = vec![task.to_string(), EXPORT.to_owned(), path.clone()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, "NfsServerNotResponding", names)
        .cured_by(format!("umount -f {path}")))
}

/// Lets the servers of the machine answer.
pub fn answer() -> anyhow::Result<()> {
    support::shell("iptables -F INPUT")
}
