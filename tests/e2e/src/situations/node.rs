//! What a real kubelet waits for.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use lab::process::{children, signal, state, wait_state};
use lab::{mounts, wait_for};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::cluster::Cluster;
use crate::container::{container_id, first_process, freezer, is_unified, runtime, shim};
use crate::pod;
use crate::process::{Killed, holder, stand_in};
use crate::situation::{Cure, POD, Situation, Staged};

/// All of them.
pub fn all() -> Vec<Situation> {
    vec![
        Situation::of_node("shim", "ShimNotResponding", stopped_shim, Cure::Typed(&["kill -CONT"])),
        frozen_pod(),
        Situation::of_node("fuse", "FuseServerNotResponding", fuse, Cure::Typed(&["/abort"])),
        Situation::of_node("snapshot", "FileSystemFrozen", frozen_file_system, Cure::Typed(&["fsfreeze -u"]))
            .elsewhere(),
        Situation::of_node("rootfs", "RootfsBusy", rootfs_held, Cure::Typed(&["kill"])),
        Situation::of_node("unreaped", "", unreaped, Cure::None),
        Situation::of_node("zombie", "PidNamespaceZombieUnreaped", zombie, Cure::Typed(&["kill"])),
        Situation::of_node("traced", "ZombieHeldByTracer", traced, Cure::Typed(&["kill"])),
        Situation::of_node("runtime", "RuntimeNotResponding", stopped_runtime, Cure::Typed(&["kill -CONT"])).alone(),
        Situation::of_node("kubelet", "KubeletStopped", stopped_kubelet, Cure::Typed(&["kill -CONT"])).alone(),
    ]
}

/// On cgroup v2 a SIGKILL thaws what it ends, so that there a frozen pod holds nothing.
fn frozen_pod() -> Situation {
    match is_unified() {
        true => Situation::of_node("frozen", "", frozen, Cure::None),
        false => Situation::of_node("frozen", "CgroupFrozen", frozen, Cure::Typed(&["echo"])),
    }
}

fn stopped_shim(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    pod::run(cluster, namespace, pod::SLEEPS, &json!({"emptyDir": {}}))?;
    let pid = shim(cluster, namespace, POD)?;
    signal(pid, Signal::SIGSTOP)?;
    wait_state(pid, "T")?;
    Ok(Staged::at_the_end(move || drop(signal(pid, Signal::SIGCONT))))
}

fn frozen(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    pod::run(cluster, namespace, pod::SLEEPS, &json!({"emptyDir": {}}))?;
    let (file, word) = freezer(first_process(cluster, namespace, POD)?)?;
    std::fs::write(&file, word).with_context(|| format!("freeze by {}", file.display()))?;
    let thaw = move || drop(std::fs::write(&file, if word == "1" { "0" } else { "THAWED" }));
    Ok(Staged::at_the_end(thaw))
}

/// A FUSE mount of the host, taken away at the end.
struct Mounted {
    server: Option<Killed>,
    at: PathBuf,
    /// Whether the connections can be seen since now only. Nodes have them mounted; without, two minutes prove what
    /// one look at the waiting requests does.
    shows_connections: bool,
}

const CONNECTIONS: &str = "/sys/fs/fuse/connections";

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(self.server.take());
        let _ = Command::new("umount").arg("-l").arg(&self.at).output();
        let _ = std::fs::remove_dir(&self.at);
        if self.shows_connections {
            let _ = Command::new("umount").arg(CONNECTIONS).output();
        }
    }
}

fn fuse(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let at = PathBuf::from("/run/why-terminating-e2e-fuse");
    std::fs::create_dir_all(&at)?;
    let args = ["hangfs".as_ref(), at.as_os_str(), "--source".as_ref(), "s3fs".as_ref()];
    let mut mounted = Mounted { server: None, at: at.clone(), shows_connections: false };
    if std::fs::read_dir(CONNECTIONS)?.next().is_none() {
        let output = Command::new("mount").args(["-t", "fusectl", "fusectl", CONNECTIONS]).output()?;
        mounted.shows_connections = output.status.success();
    }
    mounted.server = Some(stand_in(args)?);
    wait_for("the FUSE mount", Duration::from_secs(10), || {
        Ok(std::fs::read_to_string("/proc/self/mountinfo")?.contains(&*at.to_string_lossy()).then_some(()))
    })?;
    let volume = json!({"hostPath": {"path": at, "type": "Directory"}});
    pod::run(cluster, namespace, "cat /data/ok; exec cat /data/hang", &volume)?;
    Ok(Staged::until_the_end(mounted))
}

/// A frozen file system of the host that the container writes to; taken away at the end.
struct Frozen {
    disk: tempfile::NamedTempFile,
    at: PathBuf,
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("-u").arg(&self.at).output();
        let _ = Command::new("umount").arg("-l").arg(&self.at).output();
        let _ = std::fs::remove_dir(&self.at);
    }
}

fn frozen_file_system(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let frozen = Frozen { disk: tempfile::NamedTempFile::new()?, at: PathBuf::from("/run/why-terminating-e2e-disk") };
    std::fs::create_dir_all(&frozen.at)?;
    frozen.disk.as_file().set_len(16 << 20)?;
    let (disk, at) = (frozen.disk.path().display(), frozen.at.display());
    cluster.types(&format!("mkfs.ext4 -q {disk} && mount -o loop {disk} {at}"))?;
    let volume = json!({"hostPath": {"path": frozen.at, "type": "Directory"}});
    pod::run(cluster, namespace, "exec 3>/data/log; while :; do echo on >&3; sleep 1; done", &volume)?;
    let writer = first_process(cluster, namespace, POD)?;
    cluster.types(&format!("fsfreeze -f {at}"))?;
    wait_state(writer, "D")?;
    Ok(Staged::until_the_end(frozen))
}

/// A process of the host stands in the root file system.
fn rootfs_held(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    pod::run(cluster, namespace, pod::SLEEPS, &json!({"emptyDir": {}}))?;
    let id = container_id(cluster, namespace, POD)?;
    let mounts = mounts::seen_by(1)?;
    let is_its = |mount: &&mounts::Mount| mount.target.ends_with(Path::new(&id).join("rootfs"));
    let rootfs = &mounts.iter().find(is_its).context("its root file system is not mounted here")?.target;
    Ok(Staged::until_the_end(holder(rootfs, &["--cwd"])?))
}

/// The container's init does not reap: that alone holds nothing.
fn unreaped(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    pod::run(cluster, namespace, "sleep 0 & exec sleep 100000", &json!({"emptyDir": {}}))?;
    let init = first_process(cluster, namespace, POD)?;
    wait_for("the zombie", Duration::from_secs(10), || {
        Ok(children(init).into_iter().any(|pid| state(pid) == Some('Z')).then_some(()))
    })?;
    Ok(Staged::default())
}

/// In the container, of a parent that is outside and does not reap.
fn zombie(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    pod::run(cluster, namespace, pod::SLEEPS, &json!({"emptyDir": {}}))?;
    let member = first_process(cluster, namespace, POD)?.to_string();
    let parent = stand_in(["foreign-parent", "--namespace-of", &member])?;
    wait_for("the child in the container", Duration::from_secs(10), || {
        Ok((!children(parent.pid()).is_empty()).then_some(()))
    })?;
    Ok(Staged::until_the_end(parent))
}

fn traced(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    pod::run(cluster, namespace, pod::SLEEPS, &json!({"emptyDir": {}}))?;
    let init = first_process(cluster, namespace, POD)?.to_string();
    let tracer = stand_in(["tracer", "--of", &init])?;
    let traced_by = format!("TracerPid:\t{}\n", tracer.pid());
    wait_for("the debugger traces the process", Duration::from_secs(10), || {
        Ok(std::fs::read_to_string(format!("/proc/{init}/status"))?.contains(&traced_by).then_some(()))
    })?;
    Ok(Staged::until_the_end(tracer))
}

fn stopped_runtime(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    pod::run(cluster, namespace, pod::SLEEPS, &json!({"emptyDir": {}}))?;
    let pid = runtime()?;
    signal(pid, Signal::SIGSTOP)?;
    wait_state(pid, "T")?;
    Ok(Staged::at_the_end(move || drop(signal(pid, Signal::SIGCONT))))
}

/// Until its node has the taint of one that is not heard.
fn stopped_kubelet(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    pod::run(cluster, namespace, pod::SLEEPS, &json!({"emptyDir": {}}))?;
    let pid = kubelet()?;
    signal(pid, Signal::SIGSTOP)?;
    let node = cluster.node.clone();
    let staged = Staged::at_the_end(move || {
        drop(signal(pid, Signal::SIGCONT));
        let ready = ["wait", "--for=condition=Ready", "--timeout=60s", &format!("node/{node}")].map(str::to_owned);
        let _ = Command::new("kubectl").args(ready).output();
    });
    wait_for("the node is tainted", Duration::from_secs(150), || {
        std::thread::sleep(Duration::from_secs(1));
        let taints = cluster.json(&["get", "node", &cluster.node])?["spec"]["taints"].to_string();
        Ok(taints.contains("node.kubernetes.io/unreachable").then_some(()))
    })?;
    Ok(staged)
}

fn kubelet() -> anyhow::Result<i32> {
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if std::fs::read_to_string(entry.path().join("comm")).is_ok_and(|comm| comm == "kubelet\n") {
            return Ok(pid);
        }
    }
    anyhow::bail!("no kubelet runs here")
}
