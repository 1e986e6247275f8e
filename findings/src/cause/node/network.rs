//! The node's pod network: while it is not ready, some runtimes refuse to release any pod's network.

use crate::cause::page::*;

pub(super) const LIST_CNI: Advice =
    check("See what the CNI configuration directory holds").run("ls -la /etc/cni/net.d");

pub(super) const MADE_UP_CNI: Danger = Danger::new(
    "Do not put a made-up configuration into /etc/cni/net.d",
    "The runtime uses another plugin than the one that made the pods' networks: releases go wrong and new pods get \
        wrong addresses.",
);

causes! {
    NETWORK_NOT_READY = Cause::node("NetworkNotReady")
        .title("The pod network of the node is not ready")
        .meaning("The runtime says that its network is not ready: it has no CNI configuration, or the plugin is not \
            initialised. No new pod gets a network, and with containerd stopping a sandbox fails as well, so \
            terminating pods wait.")
        .proof("CRI Status of containerd or cri-dockerd has the condition NetworkReady=false; its message is cni \
            plugin not initialized or cni config not initialized; and a stopped sandbox of a pod that should be gone \
            has kept its network namespace, or has lost it with a boot while the kubelet, started two minutes ago or \
            earlier, has reported no end of the pod.")
        .safe(&[
            LIST_CNI,
            step("Bring the CNI pod of this node back: it writes the configuration and the network becomes ready")
                .lab("cni-config-gone"),
        ])
        .danger(MADE_UP_CNI)
        .sources(&["containerd#8774", "cri-tools#1687"])
        .event_reason("NodeNetworkNotReady")
        .diagnosis(Proven::Lab("cni-config-gone"));
}
