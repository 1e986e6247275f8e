//! Copies of a volume in other mount namespaces.

use std::time::Duration;

use super::{Scenario, Staged, support};
use crate::{Gate, Launch, Node, PodSpec};

/// A copy that follows the host, and is used.
pub const PROPAGATED_COPY: Scenario = Scenario {
    name: "propagated-copy",
    about: "a process in another mount namespace has a file open in its copy of the volume, which follows the host's",
    stage: propagated_copy,
};

/// A copy that does not follow the host: nobody's fault.
pub const PRIVATE_COPY: Scenario = Scenario {
    name: "private-copy",
    about: "a private mount namespace has a copy of the volume, also with an open file: holds up nobody",
    stage: private_copy,
};

fn propagated_copy(node: &Node) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping("propagated-copy");
    let volume = node.empty_dir(&mut spec, "scratch", true)?;
    node.run(&spec)?;
    let file = volume.join("data");
    let launch = Launch::stand_in("node-exporter").args(["stand-in", "hold", "--namespace", "slave", "--open"]);
    let holder = node.launch(launch.arg(&file))?;
    support::wait_open(holder, &file)?;
    support::ensure_own_mount_namespace(holder)?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "VolumeHeldInOtherNamespace", vec![holder.to_string()])
        .cured_by(format!("kill {holder}")))
}

fn private_copy(node: &Node) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping("private-copy");
    let volume = node.empty_dir(&mut spec, "scratch", true)?;
    node.run(&spec)?;
    let file = volume.join("data");
    let launch = Launch::stand_in("node-exporter").args(["stand-in", "hold", "--namespace", "private", "--open"]);
    let bystander = node.launch(launch.arg(&file))?;
    support::wait_open(bystander, &file)?;
    support::ensure_own_mount_namespace(bystander)?;
    node.delete(&spec)?;
    node.wait_gone(&spec.pod, Duration::from_secs(20))?;
    let mut staged = Staged::fine(vec![spec.pod]);
    staged.ends = true;
    Ok(staged)
}
