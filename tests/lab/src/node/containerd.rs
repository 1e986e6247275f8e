//! The node's container runtime: the installed containerd with everything in the node's directory.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;

use super::Layout;
use crate::{Launch, image, runtime::RuntimeClient, wait_for};

/// The name of its service.
pub const UNIT: &str = "containerd";

/// Writes the configuration, starts it and gives it the images.
pub fn start(layout: &Layout) -> anyhow::Result<i32> {
    let dir = layout.containerd();
    fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
    let config = dir.join("config.toml");
    fs::write(&config, configuration(layout)).with_context(|| format!("write {}", config.display()))?;
    let pid = Launch::program(UNIT, "containerd").arg("--config").arg(&config).start(layout)?;
    let client = RuntimeClient::new(&layout.socket(), Duration::from_secs(2))?;
    let log = layout.log(UNIT);
    wait_for(&format!("containerd answers (see {})", log.display()), Duration::from_secs(20), || {
        Ok(client.answers().then_some(()))
    })?;
    import_images(layout, &client)?;
    Ok(pid)
}

fn import_images(layout: &Layout, client: &RuntimeClient) -> anyhow::Result<()> {
    let archive = layout.containerd().join("images.tar");
    image::write_archive(&archive)?;
    import(layout, &archive)?;
    fs::remove_file(&archive)?;
    [image::BUSYBOX, image::SLEEPER, image::PAUSE].into_iter().try_for_each(|name| wait_image(client, name))
}

/// Starts a program in a running container and does not wait for it, as a kubelet starts a hook.
pub fn start_in(layout: &Layout, container: &str, name: &str, command: &[&str]) -> anyhow::Result<()> {
    let output = Command::new("ctr")
        .arg("--address")
        .arg(layout.socket())
        .args(["--namespace", "k8s.io", "tasks", "exec", "--detach", "--exec-id", name, container])
        .args(command)
        .stdin(Stdio::null())
        .output()
        .context("run ctr, which comes with containerd")?;
    let why = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "ctr could not start {command:?}: {why}");
    Ok(())
}

/// Gives the runtime the images of an archive, as one would by hand.
pub fn import(layout: &Layout, archive: &Path) -> anyhow::Result<()> {
    let output = Command::new("ctr")
        .arg("--address")
        .arg(layout.socket())
        .args(["--namespace", "k8s.io", "images", "import"])
        .arg(archive)
        .stdin(Stdio::null())
        .output()
        .context("run ctr, which comes with containerd")?;
    anyhow::ensure!(
        output.status.success(),
        "ctr could not import {}: {}",
        archive.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// The CRI part learns of an import by an event.
pub fn wait_image(client: &RuntimeClient, name: &str) -> anyhow::Result<()> {
    wait_for(&format!("containerd's CRI part knows the image {name}"), Duration::from_secs(10), || {
        Ok(client.has_image(name)?.then_some(()))
    })
}

fn configuration(layout: &Layout) -> String {
    let dir = layout.containerd();
    let (dir, cni, socket) = (dir.display(), layout.cni(), layout.socket());
    let (cni, socket, pause) = (cni.display(), socket.display(), image::PAUSE);
    // restrict_oom_score_adj: without it no sandbox starts where the lab itself may not lower its
    // own score.
    format!(
        r#"version = 2
root = "{dir}/root"
state = "{dir}/state"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.tracing.processor.v1.otlp"]

[grpc]
address = "{socket}"

[ttrpc]
address = "{socket}.ttrpc"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{pause}"
restrict_oom_score_adj = true
disable_tcp_service = true
stream_server_address = "127.0.0.1"
stream_server_port = "0"

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{cni}/bin"
conf_dir = "{cni}/net.d"

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
Root = "{dir}/runc"
"#
    )
}
