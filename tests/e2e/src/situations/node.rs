//! What a real kubelet waits for.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use anyhow::Context as _;
use lab::process::{signal, wait_state};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::container::{first_process, freezer, shim};
use crate::situation::{Cure, POD, Situation, Staged};

/// All of them.
pub fn all() -> Vec<Situation> {
    vec![
        Situation {
            name: "holder",
            cause: "VolumeHeldByProcess",
            on_node: true,
            stage: holder,
            cure: Cure::Typed(&["kill"]),
        },
        Situation {
            name: "shim",
            cause: "ShimNotResponding",
            on_node: true,
            stage: stopped_shim,
            cure: Cure::Typed(&["kill -CONT"]),
        },
        Situation {
            name: "frozen",
            cause: "CgroupFrozen",
            on_node: true,
            stage: frozen,
            cure: Cure::Typed(&["freez"]),
        },
        Situation {
            name: "fuse",
            cause: "FuseServerNotResponding",
            on_node: true,
            stage: fuse,
            cure: Cure::Typed(&["/abort"]),
        },
    ]
}

/// A pod with one container that runs this, and one volume.
fn pod(cluster: &Cluster, namespace: &str, runs: &str, volume: &Value) -> anyhow::Result<()> {
    let mount = json!({"name": "data", "mountPath": "/data"});
    let mut volume = volume.clone();
    volume["name"] = json!("data");
    cluster.apply(&[json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": POD, "namespace": namespace},
        "spec": {
            "terminationGracePeriodSeconds": 2, "nodeName": cluster.node,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{
                "name": "main", "image": lab::image::BUSYBOX, "imagePullPolicy": "Never",
                "command": ["sh", "-c", runs], "volumeMounts": [mount]
            }],
            "volumes": [volume]
        }
    })])?;
    cluster.wait_ready(namespace, POD)
}

/// Sleeps, and ends when it is asked to.
const SLEEPS: &str = "trap 'exit 0' TERM; sleep 100000 & wait";

/// Ends with what holds it.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn stand_in(args: &[&std::ffi::OsStr]) -> anyhow::Result<Killed> {
    Ok(Killed(Command::new(std::env::current_exe()?).arg("stand-in").args(args).spawn()?))
}

/// Keeps it until the end.
fn until_the_end<T: 'static>(thing: T) -> Staged {
    Staged { ends: vec![Box::new(move || drop(thing))] }
}

fn holder(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    pod(cluster, namespace, SLEEPS, &json!({"emptyDir": {"medium": "Memory"}}))?;
    let uid = cluster.json(&["get", "pod", "-n", namespace, POD])?["metadata"]["uid"].clone();
    let uid = uid.as_str().context("no uid")?;
    let dir = Path::new("/var/lib/kubelet/pods").join(uid).join("volumes/kubernetes.io~empty-dir/data");
    let child = Command::new("sleep").arg("100000").current_dir(&dir).spawn().context("hold the volume")?;
    Ok(until_the_end(Killed(child)))
}

fn stopped_shim(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    pod(cluster, namespace, SLEEPS, &json!({"emptyDir": {}}))?;
    let pid = shim(cluster, namespace, POD)?;
    signal(pid, Signal::SIGSTOP)?;
    wait_state(pid, "T")?;
    Ok(Staged { ends: vec![Box::new(move || drop(signal(pid, Signal::SIGCONT)))] })
}

fn frozen(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    pod(cluster, namespace, SLEEPS, &json!({"emptyDir": {}}))?;
    let (file, word) = freezer(first_process(cluster, namespace, POD)?)?;
    std::fs::write(&file, word).with_context(|| format!("freeze by {}", file.display()))?;
    let thaw = move || drop(std::fs::write(&file, if word == "1" { "0" } else { "THAWED" }));
    Ok(Staged { ends: vec![Box::new(thaw)] })
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
    mounted.server = Some(stand_in(&args)?);
    lab::wait_for("the FUSE mount", std::time::Duration::from_secs(10), || {
        Ok(std::fs::read_to_string("/proc/self/mountinfo")?.contains(&*at.to_string_lossy()).then_some(()))
    })?;
    let volume = json!({"hostPath": {"path": at, "type": "Directory"}});
    pod(cluster, namespace, "cat /data/ok; exec cat /data/hang", &volume)?;
    Ok(until_the_end(mounted))
}
