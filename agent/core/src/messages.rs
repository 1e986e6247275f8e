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

/// The `/healthz` of a kubelet whose sync loop has not turned (`pkg/kubelet/server` `syncLoopHealthCheck`).
pub fn is_sync_loop_late(healthz: &str) -> bool {
    healthz.contains("syncloop")
}

/// The `/healthz` of a kubelet that has not listed its containers for three minutes (`pkg/kubelet/pleg/generic.go`).
pub fn is_pleg_late(healthz: &str) -> bool {
    healthz.contains("pleg was last seen")
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
        assert!(is_sync_loop_late("[-]syncloop failed: sync Loop took longer than expected"));
        assert!(is_pleg_late("[-]pleg failed: pleg was last seen active 4m0s ago; threshold is 3m0s"));
    }
}
