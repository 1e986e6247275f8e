//! The runtime, its shim or the kubelet does not do its part.

use nix::sys::signal::Signal;

use super::{Repair, Staged, support};
use crate::{Gate, Launch, Node, PodSpec, process};

scenarios! {
    "shim-stopped", "the containerd-shim of the pod is stopped and answers nothing", shim_stopped;
    "shim-killed", "the containerd-shim of the pod was killed while containerd is stopped, so nothing cleans up after it",
        shim_killed;
    "containerd-stopped", "containerd is stopped: it accepts connections and answers nothing", containerd_stopped;
    "kubelet-stopped", "the kubelet is stopped, so nothing stops the container of a pod that was deleted",
        kubelet_stopped;
    "kubelet-killed", "no kubelet runs, so nothing stops the container of a pod that was deleted", |node| {
        let spec = PodSpec::sleeping("kubelet-killed");
        node.run(&spec)?;
        end(node.kubelet_pid()?)?;
        node.delete(&spec)?;
        let mut staged = Staged::node("KubeletNotRunning", Vec::new()).by_hand(Repair::KubeletStart);
        staged.pods.push(spec.pod);
        Ok(staged)
    };
    "containerd-killed", "containerd has ended, and the container of a pod that was deleted runs on under its shim", |node| {
        let spec = PodSpec::sleeping("containerd-killed");
        node.run(&spec)?;
        end(node.containerd_pid()?)?;
        node.delete_until(&spec, Gate::ContainersStopped)?;
        let socket = node.layout().socket().display().to_string();
        let mut staged = Staged::node("RuntimeNotResponding", vec![socket]).by_hand(Repair::RuntimeStart);
        staged.pods.push(spec.pod);
        Ok(staged)
    };
    "rootfs-busy", "the container's process is gone, but a process of the host stands in its root file system",
        rootfs_busy;
}

fn end(pid: i32) -> anyhow::Result<()> {
    process::signal(pid, Signal::SIGKILL)?;
    process::wait_end(pid)
}

fn shim_stopped(node: &Node) -> anyhow::Result<Staged> {
    let spec = PodSpec::sleeping("shim-stopped");
    let shim = process::parent(node.run(&spec)?.app()?.pid)?;
    process::signal(shim, Signal::SIGSTOP)?;
    process::wait_state(shim, "T")?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, "ShimNotResponding", vec![shim.to_string()])
        .cured_by(format!("kill -CONT {shim}")))
}

fn shim_killed(node: &Node) -> anyhow::Result<Staged> {
    let spec = PodSpec::sleeping("shim-killed");
    let init = node.run(&spec)?.app()?.pid;
    let (shim, containerd) = (process::parent(init)?, node.containerd_pid()?);
    process::signal(containerd, Signal::SIGSTOP)?;
    process::wait_state(containerd, "T")?;
    process::signal(shim, Signal::SIGKILL)?;
    process::wait_end(shim)?;
    anyhow::ensure!(process::state(init) == Some('S'), "the container's init {init} did not survive its shim");
    node.delete_until(&spec, Gate::ContainersStopped)?;
    let mut staged =
        Staged::node("RuntimeNotResponding", vec![containerd.to_string()]).cured_by(format!("kill -CONT {containerd}"));
    staged.pods.push(spec.pod);
    Ok(staged)
}

fn rootfs_busy(node: &Node) -> anyhow::Result<Staged> {
    let spec = PodSpec::sleeping("rootfs-busy");
    let pod = node.run(&spec)?;
    let container = pod.app()?;
    let rootfs = node.layout().bundles().join(&container.id).join("rootfs");
    let holder = node.launch(Launch::stand_in("scanner").args(["stand-in", "hold", "--cwd"]).arg(&rootfs))?;
    support::wait_link(&format!("/proc/{holder}/cwd"), &rootfs)?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    process::wait_end(container.pid)?;
    Ok(Staged::stuck(spec.pod, Gate::ContainersStopped, "RootfsBusy", vec![holder.to_string()])
        .cured_by(format!("kill {holder}")))
}

fn kubelet_stopped(node: &Node) -> anyhow::Result<Staged> {
    let spec = PodSpec::sleeping("kubelet-stopped");
    node.run(&spec)?;
    let kubelet = node.kubelet_pid()?;
    process::signal(kubelet, Signal::SIGSTOP)?;
    process::wait_state(kubelet, "T")?;
    node.delete(&spec)?;
    let mut staged =
        Staged::node("KubeletStopped", vec![kubelet.to_string()]).cured_by(format!("kill -CONT {kubelet}"));
    staged.pods.push(spec.pod);
    Ok(staged)
}

fn containerd_stopped(node: &Node) -> anyhow::Result<Staged> {
    let spec = PodSpec::sleeping("containerd-stopped");
    node.run(&spec)?;
    let containerd = node.containerd_pid()?;
    process::signal(containerd, Signal::SIGSTOP)?;
    process::wait_state(containerd, "T")?;
    node.delete_until(&spec, Gate::ContainersStopped)?;
    let mut staged =
        Staged::node("RuntimeNotResponding", vec![containerd.to_string()]).cured_by(format!("kill -CONT {containerd}"));
    staged.pods.push(spec.pod);
    Ok(staged)
}
