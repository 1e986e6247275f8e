//! What only shows when several things happen at once.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use lab::{Node, PodSpec, scenario};

use super::ask;

/// A hung FUSE volume, a task in D, a stopped shim and a stopped containerd: the answer comes in
/// time (`ask` measures it), and no process of the agent stays behind.
pub fn everything_dead() -> anyhow::Result<()> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    for name in ["dstate-fuse", "fuse-hung-volume", "shim-stopped", "containerd-stopped"] {
        let scenario = scenario::find(name).with_context(|| format!("the lab has no scenario {name}"))?;
        (scenario.stage)(&node).with_context(|| format!("stage {name}"))?;
    }
    let answer = ask::check(&node)?;
    ensure!(answer.code == 2, "the exit code is {}:\n{}", answer.code, answer.text);
    let silent = answer.report.node_findings.iter().any(|found| found.finding.cause.id == "RuntimeNotResponding");
    ensure!(silent, "the runtime's silence is not reported:\n{}", answer.text);
    let left = Command::new("pgrep").args(["-x", "why-terminating"]).output()?;
    ensure!(left.stdout.is_empty(), "processes of the agent are left: {}", String::from_utf8_lossy(&left.stdout));
    node.down().context("take the node down")
}

/// While `check` runs again and again, a volume can be mounted and unmounted: the agent holds no
/// descriptor, working directory or mount in it.
pub fn not_a_leak() -> anyhow::Result<()> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    let staged = (scenario::find("cwd").context("the lab has no scenario cwd")?.stage)(&node)?;
    let pod = staged.pods.first().context("cwd stages a pod")?;
    let volume =
        node.layout().kubelet_root().join("pods").join(&pod.uid).join("volumes/kubernetes.io~empty-dir/looked-at");
    std::fs::create_dir_all(&volume)?;
    let busy = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let looker = scope.spawn(|| {
            while busy.load(Ordering::Relaxed) {
                ask::check(&node)?;
            }
            anyhow::Ok(())
        });
        let tried = (0..200).try_for_each(|_| {
            run("mount", &["-t", "tmpfs", "looked-at"], &volume)?;
            std::thread::sleep(Duration::from_millis(5));
            run("umount", &[], &volume)
        });
        busy.store(false, Ordering::Relaxed);
        looker.join().map_err(|_| anyhow::anyhow!("the thread that looks died"))??;
        tried
    })?;
    std::fs::remove_dir(&volume)?;
    node.down().context("take the node down")
}

/// Runs a program on a path.
pub fn run(program: &str, args: &[&str], path: &std::path::Path) -> anyhow::Result<()> {
    let done = Command::new(program).args(args).arg(path).stdin(Stdio::null()).output()?;
    ensure!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}

/// The storage engineer's case: no API server is asked, and the node itself shows what is stuck.
pub fn without_api() -> anyhow::Result<()> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    for name in ["healthy", "dstate-fuse", "cwd"] {
        let scenario = scenario::find(name).with_context(|| format!("the lab has no scenario {name}"))?;
        (scenario.stage)(&node).with_context(|| format!("stage {name}"))?;
    }
    let answer = ask::check_with(&node, &["--api", "off"])?;
    let found: Vec<&str> =
        answer.report.pods.iter().flat_map(|pod| &pod.findings).map(|finding| finding.cause.0.id).collect();
    ensure!(answer.code == 2, "the exit code is {}:\n{}", answer.code, answer.text);
    ensure!(answer.report.pods.len() == 2, "other pods than the stuck ones are reported:\n{}", answer.text);
    for cause in ["FuseServerNotResponding", "VolumeHeldByProcess"] {
        ensure!(found.contains(&cause), "{cause} is not found:\n{}", answer.text);
    }
    node.down().context("take the node down")
}

/// A pod that runs, in a volume of its own: no process outside of it would hold that, until one of the host does.
pub fn before_a_deletion() -> anyhow::Result<()> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    let command = ["/bin/sh", "-c", "cd /scratch && exec /bin/sleep 2147483647"];
    let mut spec = PodSpec::new("before").container(&command);
    let volume = node.empty_dir(&mut spec, "scratch", true)?;
    let spec = spec.mount(&volume, "/scratch");
    node.run(&spec)?;
    let pod = format!("{}/{}", spec.pod.namespace, spec.pod.name);
    let flags = ["--pod", &pod, "--before"];
    let free = ask::check_with(&node, &flags)?;
    ensure!(free.code == 0 && free.report.pods.is_empty(), "its own process would hold it:\n{}", free.text);
    let mut holder = Command::new("sleep").arg("600").current_dir(&volume).spawn()?;
    let held = ask::check_with(&node, &flags);
    holder.kill()?;
    holder.wait()?;
    let held = held?;
    let found = held.report.pods.iter().filter(|pod| pod.before).flat_map(|pod| &pod.findings);
    let causes: Vec<&str> = found.map(|finding| finding.cause.0.id).collect();
    ensure!(held.code == 2 && causes == ["VolumeHeldByProcess"], "{causes:?}:\n{}", held.text);
    node.down().context("take the node down")
}

/// An observation that was saved gives the same answer again, without the node.
pub fn judged_again() -> anyhow::Result<()> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    (scenario::find("cwd").context("the lab has no scenario cwd")?.stage)(&node)?;
    let file = node.layout().dir().join("observation.json");
    let path = file.to_str().context("the lab's directory is text")?;
    let answer = ask::check_with(&node, &["--save-observation", path])?;
    let again = ask::judge(path)?;
    ensure!(again.code == answer.code, "judge ends with {}, check with {}", again.code, answer.code);
    ensure!(
        again.report.pods.iter().map(|p| &p.findings).eq(answer.report.pods.iter().map(|p| &p.findings)),
        "{}",
        again.text
    );
    node.down().context("take the node down")
}
