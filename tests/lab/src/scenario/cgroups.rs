//! Gate CgroupRemoved: a task that stays in the pod's cgroup.

use std::path::Path;

use super::{Staged, frozen::freeze_v1, support};
use crate::{Gate, Launch, Node, PodSpec, cgroup, process};

scenarios! {
    "cgroup-dstate", "a process in the pod's cgroup, in none of its containers, cannot be killed", cgroup_dstate;
    "cgroup-dstate-by-path",
        "a process in the pod's cgroup looks for a file on one of two FUSE servers that do not answer",
        cgroup_dstate_by_path;
    "nested-cgroup", "a nested runtime left a paused container in a child of the pod's cgroup", nested_cgroup;
}

fn cgroup_dstate(node: &Node) -> anyhow::Result<Staged> {
    stray_reader(node, "cgroup-dstate", "hang")
}

fn cgroup_dstate_by_path(node: &Node) -> anyhow::Result<Staged> {
    let other = node.layout().mnt("other-of-cgroup-dstate");
    support::fuse_mount(node, "sshfs", &other)?;
    let reader = Launch::stand_in("backup").args(["stand-in", "hold", "--read"]).arg(other.join("hang"));
    support::wait_fuse_wait(node.launch(reader)?)?;
    stray_reader(node, "cgroup-dstate-by-path", "lost")
}

/// A process of the host in the pod's cgroup that reads this file of a server that does not answer.
fn stray_reader(node: &Node, name: &str, file: &str) -> anyhow::Result<Staged> {
    let media = node.layout().mnt(&format!("media-of-{name}"));
    let fuse = support::fuse_mount(node, "s3fs", &media)?;
    let spec = PodSpec::sleeping(name);
    node.run(&spec)?;
    let launch = Launch::stand_in("sync").args(["stand-in", "hold", "--read"]).arg(media.join(file));
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
