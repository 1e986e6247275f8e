//! A container of the cluster, as this machine's kernel knows it.

use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use anyhow::Context as _;
use lab::process::parent;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;

use crate::cluster::Cluster;

/// The runtime's id of the pod's only container.
pub fn container_id(cluster: &Cluster, namespace: &str, pod: &str) -> anyhow::Result<String> {
    let pod = cluster.json(&["get", "pod", "-n", namespace, pod])?;
    let id = pod["status"]["containerStatuses"][0]["containerID"].as_str().context("the container has no id")?;
    Ok(id.rsplit('/').next().unwrap_or_default().to_owned())
}

/// The first process of the pod's only container.
pub fn first_process(cluster: &Cluster, namespace: &str, pod: &str) -> anyhow::Result<i32> {
    let id = container_id(cluster, namespace, pod)?;
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if cgroups(pid).is_some_and(|cgroups| cgroups.contains(&id)) {
            found.push(pid);
        }
    }
    found.into_iter().min().with_context(|| format!("no process of container {id} is here"))
}

/// The containerd-shim of it.
pub fn shim(cluster: &Cluster, namespace: &str, pod: &str) -> anyhow::Result<i32> {
    parent(first_process(cluster, namespace, pod)?)
}

/// Where the runtime listens.
pub fn socket() -> OsString {
    std::env::var_os("CRI_SOCK").unwrap_or_else(|| "/run/containerd/containerd.sock".into())
}

/// The runtime itself: who listens there.
pub fn runtime() -> anyhow::Result<i32> {
    let connection = UnixStream::connect(socket()).context("reach the runtime")?;
    Ok(getsockopt(&connection, PeerCredentials).context("ask who listens")?.pid())
}

/// Whether the machine has cgroups of version 2 only.
pub fn is_unified() -> bool {
    lab::cgroup::is_unified()
}

/// The file that freezes the pod's cgroup, above that of a container's process, and the word to write. A container's own
/// is thawed by runc when it kills.
pub fn freezer(pid: i32) -> anyhow::Result<(PathBuf, &'static str)> {
    let cgroups = cgroups(pid).context("the process has gone")?;
    let of = |start: &str| {
        let line = cgroups.lines().find(|line| line.split_once(':').is_some_and(|(_, rest)| rest.starts_with(start)));
        line.and_then(|line| line.rsplit(':').next()).map(|path| path.trim_start_matches('/').to_owned())
    };
    if is_unified() {
        let path = of(":").context("no cgroup")?;
        return Ok((PathBuf::from("/sys/fs/cgroup").join(parent_of(&path)).join("cgroup.freeze"), "1"));
    }
    let path = of("freezer:").context("no freezer")?;
    Ok((PathBuf::from("/sys/fs/cgroup/freezer").join(parent_of(&path)).join("freezer.state"), "FROZEN"))
}

fn parent_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(parent, _)| parent)
}

fn cgroups(pid: i32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()
}
