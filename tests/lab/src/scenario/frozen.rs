//! The cgroup freezer holds the pod's tasks.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::sys::signal::Signal;

use super::Staged;
use crate::{Gate, Node, PodSpec, cgroup, process, wait_for};

scenarios! {
    "frozen-v1", "the pod's cgroup is frozen (v1): SIGKILL waits for the thaw", |node| frozen_v1(node, "frozen-v1");
    "frozen-v2", "the container's cgroup is frozen (v2): the stop signal waits, so the whole grace period passes",
        frozen_v2;
}

/// The pod's cgroup, not the container's: runc thaws the container's own before it kills.
pub(super) fn frozen_v1(node: &Node, name: &str) -> anyhow::Result<Staged> {
    let spec = PodSpec::sleeping(name);
    node.run(&spec)?;
    let file = cgroup::below(Path::new("/sys/fs/cgroup/freezer"), &spec.pod.cgroup()).join("freezer.state");
    freeze_v1(&file)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    let cgroup = file.with_file_name("");
    let names = vec![cgroup.display().to_string().trim_end_matches('/').to_owned()];
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, "CgroupFrozen", names)
        .cured_by(format!("echo THAWED > {}", file.display())))
}

fn frozen_v2(node: &Node) -> anyhow::Result<Staged> {
    let grace = Duration::from_secs(600);
    let command = ["/bin/sh", "-c", "trap 'exit 0' TERM; while true; do sleep 1; done"];
    let spec = PodSpec::new("frozen-v2").container(&command).grace(grace);
    let pod = node.run(&spec)?;
    let task = pod.app()?.pid;
    // An init that is frozen before that never hears of the stop signal, thawed or not.
    process::wait_handled(task, Signal::SIGTERM)?;
    let cgroup = v2_cgroup(task)?;
    fs::write(cgroup.join("cgroup.freeze"), "1").with_context(|| format!("freeze {}", cgroup.display()))?;
    wait_for("the cgroup is frozen", Duration::from_secs(5), || {
        let events = fs::read_to_string(cgroup.join("cgroup.events"))?;
        Ok(events.contains("frozen 1").then_some(()))
    })?;
    node.delete_with_deadline(&spec, jiff::Timestamp::now() + grace)?;
    node.wait_held(&spec.pod, Gate::ContainersStopped)?;
    let path = cgroup.display().to_string();
    let cure = format!("echo 0 > {path}/cgroup.freeze");
    let mut staged = Staged::stuck(spec.pod, Gate::ContainersStopped, "CgroupFrozen", vec![path]).cured_by(cure);
    staged.expect.iter_mut().for_each(|expect| expect.verdict = "Progressing");
    Ok(staged)
}

/// Freezes a version 1 cgroup, given its `freezer.state`. It may stay FREEZING: like runc
/// (`libcontainer/cgroups/fs/freezer.go`) we thaw it then and begin anew.
pub fn freeze_v1(file: &Path) -> anyhow::Result<()> {
    let write = |state: &str| fs::write(file, state).with_context(|| format!("write {state} to {}", file.display()));
    write("FROZEN")?;
    let mut begun = Instant::now();
    wait_for(&format!("{} says FROZEN", file.display()), Duration::from_secs(5), || {
        if fs::read_to_string(file)?.starts_with("FROZEN") {
            return Ok(Some(()));
        }
        if begun.elapsed() > Duration::from_secs(1) {
            write("THAWED")?;
            write("FROZEN")?;
            begun = Instant::now();
        }
        Ok(None)
    })
}

/// A process' cgroup in the version 2 hierarchy.
pub(super) fn v2_cgroup(pid: i32) -> anyhow::Result<PathBuf> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup"))?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::")).context("this machine has no cgroup v2")?;
    let roots = cgroup::hierarchies()?;
    let root = roots.into_iter().find(|root| root.join("cgroup.controllers").exists());
    Ok(cgroup::below(&root.context("the cgroup v2 hierarchy is not mounted")?, path))
}
