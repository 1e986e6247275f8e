//! A pid namespace that does not end although all its processes are dead.

use std::time::Duration;

use super::{Scenario, Staged, support};
use crate::{Gate, Launch, Node, PodSpec, process, wait_for};

/// A zombie in the container whose parent is outside.
pub const ZOMBIE_FOREIGN_PARENT: Scenario = Scenario {
    name: "zombie-foreign-parent",
    about: "a dead process in the container is not reaped by its parent, which lives outside",
    stage: zombie_foreign_parent,
};

fn zombie_foreign_parent(node: &Node) -> anyhow::Result<Staged> {
    let spec = PodSpec::sleeping("zombie-foreign-parent");
    let init = node.run(&spec)?.app()?.pid;
    let launch = Launch::stand_in("debug-agent").args(["stand-in", "foreign-parent", "--namespace-of"]);
    let parent = node.launch(launch.arg(init.to_string()))?;
    let child = wait_for("the foreign parent has its child", Duration::from_secs(5), || {
        Ok(process::children(parent).first().copied())
    })?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_state(child, "Z")?;
    support::wait_stack(init, "zap_pid_ns_processes")?;
    let names = vec![parent.to_string(), child.to_string()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, "PidNamespaceZombieUnreaped", names)
        .cured_by(format!("kill -9 {parent}")))
}
