//! Processes that are dead and are not reaped.

use std::time::Duration;

use super::{Scenario, Staged, support};
use crate::{Gate, Launch, Node, PodSpec, process, wait_for};

/// A zombie in the container whose parent is outside.
pub const ZOMBIE_FOREIGN_PARENT: Scenario = Scenario {
    name: "zombie-foreign-parent",
    about: "a dead process in the container is not reaped by its parent, which lives outside",
    stage: zombie_foreign_parent,
};

/// A zombie that only its debugger can see.
pub const TRACED_ZOMBIE: Scenario = Scenario {
    name: "traced-zombie",
    about: "the container's process has ended, and a debugger of the host that traces it does not let it go",
    stage: traced_zombie,
};

fn traced_zombie(node: &Node) -> anyhow::Result<Staged> {
    let spec = PodSpec::sleeping("traced-zombie");
    let init = node.run(&spec)?.app()?.pid;
    let launch = Launch::stand_in("gdb").args(["stand-in", "tracer", "--of"]);
    let tracer = node.launch(launch.arg(init.to_string()))?;
    wait_for("the debugger traces the process", Duration::from_secs(5), || {
        let status = std::fs::read_to_string(format!("/proc/{init}/status"))?;
        Ok(status.contains(&format!("TracerPid:\t{tracer}\n")).then_some(()))
    })?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_state(init, "Z")?;
    let names = vec![tracer.to_string(), init.to_string()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, "ZombieHeldByTracer", names)
        .cured_by(format!("kill -9 {tracer}")))
}

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
