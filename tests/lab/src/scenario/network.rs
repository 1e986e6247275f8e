//! Gate SandboxStopped: the pod's network is not taken down.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::json;

use super::{Repair, Staged};
use crate::{Gate, Node, PodSpec};

scenarios! {
    "cni-del", "the CNI plugin fails to release the pod's network", cni_del;
    "cni-config-gone", "the CNI configuration was taken away, so the runtime refuses to release networks",
        cni_config_gone;
}

/// Where distributions put the CNI plugins.
const INSTALLED: [&str; 2] = ["/opt/cni/bin/loopback", "/usr/lib/cni/loopback"];
/// The plugin's file name, and its type in the configuration.
const PLUGIN: &str = "lab-net";

fn cni_del(node: &Node) -> anyhow::Result<Staged> {
    let refusal = "echo '{\"cniVersion\":\"0.4.0\",\"code\":11,\"msg\":\"address store is not available\"}'; exit 1";
    provide(node, refusal)?;
    let spec = PodSpec::sleeping("cni-del").own_network();
    let pod = node.run(&spec)?;
    node.delete_until(&spec, Gate::SandboxStopped)?;
    Ok(Staged::stuck(spec.pod, Gate::SandboxStopped, "CniTeardownFailing", vec![pod.sandbox])
        .by_hand(Repair::NetworkPlugin))
}

fn cni_config_gone(node: &Node) -> anyhow::Result<Staged> {
    provide(node, "true")?;
    let spec = PodSpec::sleeping("cni-config-gone").own_network();
    let pod = node.run(&spec)?;
    fs::remove_file(configuration(node)).context("take the CNI configuration away")?;
    node.wait_no_network()?;
    node.delete_until(&spec, Gate::SandboxStopped)?;
    Ok(Staged::stuck(spec.pod, Gate::SandboxStopped, "NetworkNotReady", vec![pod.sandbox])
        .by_hand(Repair::NetworkConfiguration))
}

/// Gives the node a network in which every pod is alone.
pub fn provide_network(node: &Node) -> anyhow::Result<()> {
    provide(node, "true")
}

fn provide(node: &Node, del: &str) -> anyhow::Result<()> {
    let dir = node.layout().cni();
    let loopback = INSTALLED.iter().find(|path| fs::exists(path).unwrap_or(false));
    let loopback = loopback.context("the CNI plugin loopback is not installed (containernetworking-plugins)")?;
    let link = dir.join("bin/loopback");
    if !fs::exists(&link)? {
        symlink(loopback, link).context("provide the CNI plugin loopback")?;
    }
    write_plugin(node, del)?;
    configure(node)
}

fn configuration(node: &Node) -> PathBuf {
    node.layout().cni().join("net.d/10-lab.conflist")
}

/// Has the runtime read the configuration, and puts it there if it was taken away.
pub fn configure(node: &Node) -> anyhow::Result<()> {
    let content = json!({"cniVersion": "0.4.0", "name": "lab", "plugins": [{"type": PLUGIN}]});
    fs::write(configuration(node), serde_json::to_vec(&content)?).context("configure CNI")?;
    node.wait_network()
}

/// ADD answers as a plugin that gave the pod an address.
fn write_plugin(node: &Node, del: &str) -> anyhow::Result<()> {
    let path = node.layout().cni().join("bin").join(PLUGIN);
    let namespaces = node.layout().network_namespaces();
    let namespaces = namespaces.display();
    let script = format!(
        r#"#!/bin/sh
cat > /dev/null
case $CNI_COMMAND in
VERSION) echo '{{"cniVersion":"0.4.0","supportedVersions":["0.3.1","0.4.0"]}}' ;;
ADD) echo "$CNI_NETNS" >> '{namespaces}'
  echo '{{"cniVersion":"0.4.0","interfaces":[{{"name":"'"$CNI_IFNAME"'","sandbox":"'"$CNI_NETNS"'"}}],"ips":[{{"version":"4","interface":0,"address":"10.244.0.9/24"}}]}}' ;;
DEL) {del} ;;
esac
"#
    );
    fs::write(&path, script).with_context(|| format!("write {}", path.display()))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).context("make the CNI plugin executable")
}

/// Lets the plugin succeed.
pub fn repair(node: &Node) -> anyhow::Result<()> {
    write_plugin(node, "true")
}
