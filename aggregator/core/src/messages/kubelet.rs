//! What a kubelet says of a pod that it cannot stop, and of itself.

use super::Message;
use crate::state::{Node, condition};

/// What runtimes say when a CNI plugin's DEL fails, before the plugin's own words.
const TEARDOWN: &str = "failed to destroy network for ";

/// Whether a node is not ready because it lacks a pod network, and for nothing else: several errors stand in brackets
/// (kubernetes: pkg/kubelet/kubelet.go, `updateRuntimeUp`; pkg/kubelet/nodestatus/setters.go, `ReadyCondition`).
pub fn is_network_alone(message: &Message) -> bool {
    message.0.starts_with("container runtime network not ready: ")
}

/// Whether the kubelet of a node runs what is asked of it. Without a pod network it still does so in the node's own.
pub fn runs_pods(node: &Node) -> bool {
    let ready = condition(&node.status.conditions, "Ready");
    ready.is_some_and(|ready| ready.status == "True" || (ready.status == "False" && is_network_alone(&ready.message)))
}

/// The CNI plugin's words, when the network of the sandbox is what cannot be torn down.
pub fn network_teardown(message: &Message) -> Option<Message> {
    let (_, rest) = message.0.split_once(TEARDOWN)?;
    let (_sandbox, words) = rest.split_once(": ")?;
    Some(words.trim_end_matches(['"', ' ', '\\']).replace("\\\"", "\"").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// kubelet: pkg/kubelet/kubelet.go, `SyncTerminatingPod`, with the words of pkg/kubelet/container/sync_result.go;
    /// containerd: internal/cri/server/sandbox_stop.go, `stopPodSandbox`; CRI-O: server/sandbox_network.go, `networkStop`.
    #[test]
    fn a_cni_plugin_speaks_through_runtime_and_kubelet() {
        let killed = r#"error killing pod: failed to "KillPodSandbox" for "18ba147d" with KillPodSandboxError: "rpc error: code = Unknown desc = "#;
        for (runtime, expected) in [
            (
                r#"failed to destroy network for sandbox \"3bb4\": plugin type=\"multus\" failed (delete): no such file""#,
                r#"plugin type="multus" failed (delete): no such file"#,
            ),
            (
                r#"failed to destroy network for pod sandbox k8s_db-0_a_f2b7_0(b60c): network \"n\" requested interface name \"eth0\" already assigned""#,
                r#"network "n" requested interface name "eth0" already assigned"#,
            ),
        ] {
            let words = network_teardown(&format!("{killed}{runtime}").into());
            assert_eq!(words, Some(expected.into()));
        }
        assert_eq!(network_teardown(&format!("{killed}context deadline exceeded\"").into()), None);
    }
}
