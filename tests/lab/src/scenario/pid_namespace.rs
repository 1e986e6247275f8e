//! Processes that are dead and are not reaped.

use std::time::Duration;

use anyhow::Context as _;

use super::{Staged, support};
use crate::{Gate, Launch, Node, PodSpec, process, wait_for};

scenarios! {
    "zombie-foreign-parent", "a dead process in the container is not reaped by its parent, which lives outside",
        zombie_foreign_parent;
    "zombie-shared-namespace",
        "the pause process of a pod with one pid namespace waits for a dead process with a parent outside",
        zombie_shared_namespace;
    "traced-zombie", "the container's process has ended, and a debugger of the host that traces it does not let it go",
        traced_zombie;
}

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
    let (parent, child) = foreign_parent(node, init)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_state(child, "Z")?;
    support::wait_stack(init, "zap_pid_ns_processes")?;
    let names = vec![parent.to_string(), child.to_string()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, "PidNamespaceZombieUnreaped", names)
        .cured_by(format!("kill -9 {parent}")))
}

fn zombie_shared_namespace(node: &Node) -> anyhow::Result<Staged> {
    let spec = PodSpec::sleeping("zombie-shared-namespace").shared_processes();
    let app = node.run(&spec)?.app()?.pid;
    let pause = *process::children(process::parent(app)?).iter().find(|&&pid| pid != app).context("find pause")?;
    let (parent, child) = foreign_parent(node, app)?;
    node.delete_until(&spec, Gate::SandboxStopped)?;
    process::wait_state(child, "Z")?;
    support::wait_stack(pause, "zap_pid_ns_processes")?;
    let names = vec![parent.to_string(), child.to_string()];
    Ok(Staged::stuck(spec.pod, Gate::SandboxStopped, "PidNamespaceZombieUnreaped", names)
        .cured_by(format!("kill -9 {parent}")))
}

/// A process outside of the pid namespace of `member`, and its child inside.
fn foreign_parent(node: &Node, member: i32) -> anyhow::Result<(i32, i32)> {
    let launch = Launch::stand_in("debug-agent").args(["stand-in", "foreign-parent", "--namespace-of"]);
    let parent = node.launch(launch.arg(member.to_string()))?;
    let child = wait_for("the foreign parent has its child", Duration::from_secs(5), || {
        Ok(process::children(parent).first().copied())
    })?;
    Ok((parent, child))
}
