//! What keeps a volume of a pod from being taken down.

use std::{fs, path::PathBuf};

use anyhow::Context as _;
use lab::{mounts, process};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::cluster::Cluster;
use crate::pod;
use crate::process::holder;
use crate::situation::{Cure, Situation, Staged};
use crate::thrown_away::thrown_away_afterwards;

/// All of them.
pub fn all() -> Vec<Situation> {
    let held = |name, cause, stage| Situation::of_node(name, cause, stage, Cure::Typed(&["kill"]));
    vec![
        held("holder", "VolumeHeldByProcess", |cluster, namespace| hold(cluster, namespace, "", &["--cwd"])),
        held("mapping", "VolumeHeldByProcess", |cluster, namespace| hold(cluster, namespace, "log", &["--map"])),
        Situation::of_node(
            "in-flight",
            "VolumeHeldInFlight",
            |cluster, namespace| hold(cluster, namespace, "log", &["--send"]),
            Cure::Done(|_, _| end_senders().map(|()| Staged::default())),
        ),
        held("copy", "VolumeHeldInOtherNamespace", |cluster, namespace| {
            hold(cluster, namespace, "log", &["--namespace", "slave", "--open"])
        }),
        held("subpath", "VolumeHeldByProcess", sub_path),
        Situation::of_node("nested", "NestedMount", nested, Cure::Typed(&["umount "])),
        Situation::of_node("stray", "StrayFileInVolumes", stray, Cure::Typed(&["mv "])).one_of("what is moved away"),
    ]
}

const VOLUME: &str = "volumes/kubernetes.io~empty-dir/data";

/// A process of the host, at this path of a volume in memory.
fn hold(cluster: &Cluster, namespace: &str, path: &str, flags: &[&str]) -> anyhow::Result<Staged> {
    let writes = format!("echo on >/data/log; {}", pod::SLEEPS);
    pod::run(cluster, namespace, &writes, &json!({"emptyDir": {"medium": "Memory"}}))?;
    let volume = pod::dir(cluster, namespace)?.join(VOLUME);
    // Without a slash at the end.
    let path = if path.is_empty() { volume } else { volume.join(path) };
    Ok(Staged::until_the_end(holder(&path, flags)?))
}

/// No step kills on suspicion; the test knows who the sender was.
fn end_senders() -> anyhow::Result<()> {
    for entry in fs::read_dir("/proc").context("list the processes")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let has = |word: &[u8]| line.split(|byte| *byte == 0).any(|argument| argument == word);
        if has(b"hold") && has(b"--send") {
            process::signal(pid, Signal::SIGKILL)?;
        }
    }
    Ok(())
}

fn sub_path(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let (volume, mount) = (json!({"emptyDir": {}}), json!({"mountPath": "/data", "subPath": "part"}));
    pod::mounting(cluster, namespace, pod::SLEEPS, &volume, &mount)?;
    let mounted = pod::dir(cluster, namespace)?.join("volume-subpaths/data/main/0");
    Ok(Staged::until_the_end(holder(&mounted, &["--cwd"])?))
}

/// Unmounted at the end.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = mounts::unmount(&self.0);
    }
}

/// Something of the host is mounted in the volume.
fn nested(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    pod::run(cluster, namespace, pod::SLEEPS, &json!({"emptyDir": {}}))?;
    let mounted = Mounted(pod::dir(cluster, namespace)?.join(VOLUME).join("inner"));
    mounts::tmpfs(&mounted.0)?;
    Ok(Staged::until_the_end(mounted))
}

/// A file where the kubelet has directories only.
fn stray(cluster: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let afterwards = thrown_away_afterwards();
    pod::run(cluster, namespace, pod::SLEEPS, &json!({"emptyDir": {}}))?;
    let file = pod::dir(cluster, namespace)?.join("volumes/backup.log");
    std::fs::write(&file, "something").with_context(|| file.display().to_string())?;
    let removed = move || drop(std::fs::remove_file(file));
    Ok(afterwards.and(Staged::at_the_end(removed)))
}
