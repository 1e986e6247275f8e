//! Words of the kubelet and of container runtimes that mean something. Nothing else of the judgement looks
//! into a text.

/// The runtime has found no network configuration, and may do without: CRI-O, in the words of ocicni
/// (`pkg/ocicni/ocicni.go`, `errMissingDefaultNetwork`, up to 0.4.1 with a capital).
pub fn is_network_unconfigured(network_ready: &str) -> bool {
    network_ready.contains("No CNI configuration") || network_ready.contains("no CNI configuration")
}

/// The runtime has loaded no network plugin and calls none: `ErrCNINotInitialized` of go-cni (`errors.go`), which
/// containerd's `Status` returns, or `cni config uninitialized` of cri-dockerd (`network/cni/cni.go`, `checkInitialized`).
pub fn is_network_uninitialized(network_ready: &str) -> bool {
    network_ready.contains("initialized")
}

/// The `/healthz` of a kubelet whose sync loop has not turned: the check has this name (`pkg/kubelet/server/server.go`),
/// and its words are logged only (`apiserver/pkg/server/healthz/healthz.go`, `handleRootHealth`).
pub fn is_sync_loop_late(healthz: &str) -> bool {
    healthz.contains("[-]syncloop failed")
}

/// The Ready condition of a kubelet that has not listed its containers for three minutes (`pkg/kubelet/pleg/generic.go`,
/// `Healthy`, of which `pkg/kubelet/runtime.go`, `runtimeErrors`, makes the condition); its `/healthz` says nothing of it.
pub fn is_pleg_late(not_ready: &str) -> bool {
    not_ready.contains("pleg was last seen active")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_they_are_said() {
        for first in ["No", "no"] {
            let words =
                format!("{first} CNI configuration file in /etc/cni/net.d/. Has your network provider started?");
            assert!(is_network_unconfigured(&words), "{words}");
        }
        assert!(is_network_uninitialized("Network plugin returns error: cni plugin not initialized"));
        assert!(is_network_uninitialized("docker: network plugin is not ready: cni config uninitialized"));
        assert!(!is_network_uninitialized("plugin status check failed"));
        assert!(is_sync_loop_late("[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed"));
        assert!(!is_sync_loop_late("[+]syncloop ok\n[-]log failed: reason withheld"));
        assert!(is_pleg_late("PLEG is not healthy: pleg was last seen active 4m0s ago; threshold is 3m0s"));
        assert!(!is_pleg_late("container runtime is down"));
    }
}
