//! Starting the kubelet stand-in.

use std::{fs, time::Duration};

use anyhow::Context as _;

use super::{Layout, NODE_NAME};
use crate::{Launch, wait_for};

/// In what circumstances the kubelet runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Restart {
    programs_missing: bool,
    own_mount_namespace: bool,
}

impl Restart {
    /// The kubelet finds no programs, as in a container image without util-linux.
    pub fn without_programs() -> Self {
        Self { programs_missing: true, ..Self::default() }
    }

    /// The kubelet's mounts are hidden from the rest of the node.
    pub fn in_own_mount_namespace() -> Self {
        Self { own_mount_namespace: true, ..Self::default() }
    }
}

/// Starts it with a real kubelet's command line and returns its pid.
pub fn start(layout: &Layout, restart: Restart) -> anyhow::Result<i32> {
    let config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncgroupDriver: cgroupfs\n";
    fs::write(layout.kubelet_config(), config).context("write the kubelet's configuration")?;
    let mut launch = Launch::stand_in("kubelet")
        .arg(format!("--root-dir={}", layout.kubelet_root().display()))
        .arg(format!("--config={}", layout.kubelet_config().display()))
        .arg(format!("--container-runtime-endpoint=unix://{}", layout.socket().display()))
        .arg(format!("--cgroup-root={}", layout.cgroup_root()))
        .arg(format!("--hostname-override={NODE_NAME}"))
        .arg(format!("--kubeconfig={}", layout.kubeconfig().display()));
    if restart.programs_missing {
        launch = launch.search_path("/nonexistent");
    }
    if restart.own_mount_namespace {
        launch = launch.own_mount_namespace();
    }
    let pid = launch.start(layout)?;
    wait_for("the kubelet stand-in has written its pid", Duration::from_secs(10), || {
        let text = fs::read_to_string(layout.kubelet_pid()).unwrap_or_default();
        Ok((text == pid.to_string()).then_some(()))
    })?;
    Ok(pid)
}
