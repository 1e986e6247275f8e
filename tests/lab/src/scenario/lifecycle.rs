//! Pods that are not stuck, and one that was deleted by force.

use std::time::Duration;

use super::{Cure, Expect, Repair, Staged, support};
use crate::{Gate, Node, PodSpec, process, wait_for};

scenarios! {
    "healthy", "one pod runs, another ended in the normal way: nothing to say", healthy;
    "grace", "the pod was deleted a moment ago and is inside its grace period", grace;
    "pre-stop-hook", "the pod was deleted a moment ago, and its preStop hook runs beside its container's process",
        pre_stop_hook;
    "force-deleted", "the pod was deleted by force: the API does not know it, its container runs on", force_deleted;
}

fn healthy(node: &Node) -> anyhow::Result<Staged> {
    let running = PodSpec::sleeping("healthy");
    node.run(&running)?;
    let mut finished = PodSpec::sleeping("finished");
    node.empty_dir(&mut finished, "scratch", true)?;
    node.run(&finished)?;
    node.delete(&finished)?;
    node.wait_gone(&finished.pod, Duration::from_secs(20))?;
    Ok(Staged::fine(vec![running.pod]))
}

fn grace(node: &Node) -> anyhow::Result<Staged> {
    let patience = Duration::from_secs(600);
    let spec = PodSpec::new("grace").container(&["/bin/sh", "-c", "trap '' TERM; sleep 2147483647"]).grace(patience);
    node.run(&spec)?;
    node.delete_with_deadline(&spec, jiff::Timestamp::now() + patience)?;
    node.wait_held(&spec.pod, Gate::ContainersStopped)?;
    let mut staged = Staged::stuck(spec.pod, Gate::ContainersStopped, "GracePeriodRunning", Vec::new());
    staged.expect.iter_mut().for_each(|expect| expect.verdict = "Progressing");
    staged.cure = Cure::None;
    staged.ends = false;
    Ok(staged)
}

fn pre_stop_hook(node: &Node) -> anyhow::Result<Staged> {
    let patience = Duration::from_secs(600);
    let spec = PodSpec::new("pre-stop-hook").container(&["/bin/sleep", "2147483647"]).grace(patience);
    let pod = node.run(&spec)?;
    let app = pod.app()?;
    let shim = process::parent(app.pid)?;
    let before = process::children(shim);
    node.delete_with_deadline(&spec, jiff::Timestamp::now() + patience)?;
    node.start_in(&app.id, "hook", &["/bin/sleep", "600"])?;
    let hook = wait_for("the hook runs", Duration::from_secs(5), || {
        Ok(process::children(shim).into_iter().find(|pid| !before.contains(pid)))
    })?;
    node.wait_held(&spec.pod, Gate::ContainersStopped)?;
    let names = vec![hook.to_string(), "sleep".to_owned()];
    let mut staged = Staged::stuck(spec.pod, Gate::ContainersStopped, "GracePeriodRunning", names);
    staged.expect.iter_mut().for_each(|expect| expect.verdict = "Progressing");
    staged.cure = Cure::None;
    staged.ends = false;
    Ok(staged)
}

fn force_deleted(node: &Node) -> anyhow::Result<Staged> {
    let spec = PodSpec::sleeping("force-deleted");
    let pod = node.run(&spec)?;
    node.force_delete(&spec.pod)?;
    support::age(&pod.dir)?;
    let container = pod.app()?;
    let names = vec![container.pid.to_string(), container.id.clone()];
    let expect = Expect {
        pod_uid: Some(spec.pod.uid.clone()),
        // Nothing shows when it was deleted, so its grace period may not be over.
        verdict: "CannotTell",
        gate: Some(Gate::ContainersStopped.name()),
        cause: Some("ForceDeletedStillRunning"),
        names,
    };
    Ok(Staged {
        pods: vec![spec.pod],
        expect: vec![expect],
        cure: Cure::ByHand(Repair::Kubelet),
        known_good: Vec::new(),
        ends: true,
    })
}

/// A kubelet that has been restarted finds the pod in the runtime and not in the API, and ends it.
pub fn restart_kubelet(node: &Node) -> anyhow::Result<()> {
    node.adopt(&PodSpec::sleeping("force-deleted"))
}
