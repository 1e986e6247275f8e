//! Words of the kubelet and of container runtimes that mean something. Nothing else of the judgement looks
//! into a text.

/// The runtime has found no network configuration, and may do without: cri-dockerd and dockershim
/// (`libcni` `ErrNoConfig` as CRI-O's ocicni puts it, `pkg/ocicni/ocicni.go`).
pub fn is_network_unconfigured(network_ready: &str) -> bool {
    network_ready.contains("No CNI configuration")
}

/// The runtime has loaded no network plugin and calls none: `cni.ErrCNINotInitialized` of `containerd/go-cni`,
/// which containerd and cri-dockerd return from `Status`.
pub fn is_network_uninitialized(network_ready: &str) -> bool {
    network_ready.contains("initialized")
}

/// The `/healthz` of a kubelet whose sync loop has not turned: the check has this name (`pkg/kubelet/server/server.go`),
/// and its words go to the log only (`apiserver/pkg/server/healthz`).
pub fn is_sync_loop_late(healthz: &str) -> bool {
    healthz.contains("[-]syncloop failed")
}

/// The Ready condition of a kubelet that has not listed its containers for three minutes (`pkg/kubelet/pleg/generic.go`,
/// of which `pkg/kubelet/runtime.go` makes the condition); its `/healthz` says nothing of it.
pub fn is_pleg_late(not_ready: &str) -> bool {
    not_ready.contains("pleg was last seen active")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_they_are_said() {
        assert!(is_network_unconfigured(
            "No CNI configuration file in /etc/cni/net.d/. Has your network provider started?"
        ));
        assert!(is_network_uninitialized("Network plugin returns error: cni plugin not initialized"));
        assert!(!is_network_uninitialized("plugin status check failed"));
        assert!(is_sync_loop_late("[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed"));
        assert!(!is_sync_loop_late("[+]syncloop ok\n[-]log failed: reason withheld"));
        assert!(is_pleg_late("PLEG is not healthy: pleg was last seen active 4m0s ago; threshold is 3m0s"));
        assert!(!is_pleg_late("container runtime is down"));
    }
}
