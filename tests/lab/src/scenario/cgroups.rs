//! Gate CgroupRemoved: a task that stays in the pod's cgroup.

use std::path::Path;

use super::{Scenario, Staged, frozen::freeze_v1, support};
use crate::{Gate, Launch, Node, PodSpec, cgroup, process};

/// A task that cannot die.
pub const CGROUP_DSTATE: Scenario = Scenario {
    name: "cgroup-dstate",
    about: "a process in the pod's cgroup, in none of its containers, cannot be killed",
    stage: cgroup_dstate,
};

/// A nested runtime's paused container. An empty child cgroup would be removed; what keeps a child
/// is a task that does not die.
pub const NESTED_CGROUP: Scenario = Scenario {
    name: "nested-cgroup",
    about: "a nested runtime left a paused container in a child of the pod's cgroup",
    stage: nested_cgroup,
};

fn cgroup_dstate(node: &Node) -> anyhow::Result<Staged> {
    let media = node.layout().mnt("media-of-cgroup-dstate");
    let fuse = support::fuse_mount(node, "s3fs", &media)?;
    let spec = PodSpec::sleeping("cgroup-dstate");
    node.run(&spec)?;
    let launch = Launch::stand_in("sync").args(["stand-in", "hold", "--read"]).arg(media.join("hang"));
    let task = node.launch(launch)?;
    support::wait_fuse_wait(task)?;
    // With version 2 no process may be beside the containers' cgroups.
    let stray = if cgroup::is_unified() { format!("{}/stray", spec.pod.cgroup()) } else { spec.pod.cgroup() };
    cgroup::create(&stray)?;
    for dir in cgroup::directories(&stray)? {
        cgroup::join(&dir, task)?;
    }
    node.delete_until(&spec, Gate::CgroupRemoved)?;
    process::wait_state(task, "D")?;
    let names = vec![task.to_string(), fuse.server.to_string(), format!("pod{}", spec.pod.uid)];
    Ok(Staged::stuck(spec.pod, Gate::CgroupRemoved, "FuseServerNotResponding", names).cured_by(fuse.abort_command()))
}

fn nested_cgroup(node: &Node) -> anyhow::Result<Staged> {
    let spec = PodSpec::sleeping("nested-cgroup");
    node.run(&spec)?;
    let child = format!("{}/docker/paused", spec.pod.cgroup());
    cgroup::create(&child)?;
    let task = node.launch(Launch::program("nested", "/bin/sleep").arg("2147483647"))?;
    for dir in cgroup::directories(&child)? {
        cgroup::join(&dir, task)?;
    }
    let file = cgroup::below(Path::new("/sys/fs/cgroup/freezer"), &child).join("freezer.state");
    freeze_v1(&file)?;
    node.delete_until(&spec, Gate::CgroupRemoved)?;
    let names = vec![format!("pod{}/docker/paused", spec.pod.uid)];
    Ok(Staged::stuck(spec.pod, Gate::CgroupRemoved, "CgroupFrozen", names)
        .cured_by(format!("echo THAWED > {}", file.display())))
}
