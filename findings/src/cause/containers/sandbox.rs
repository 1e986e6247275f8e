//! The sandbox, its network or a claimed device does not go.

use crate::Gate;
use crate::cause::entry::{Cause, Danger, Proven, step};

causes! {
    /// The containers have ended, the sandbox stays.
    SANDBOX_NOT_STOPPED = Cause::at(Gate::SandboxStopped, "SandboxNotStopped")
        .title("The pod's sandbox does not stop")
        .meaning("No application process is left, but the sandbox (the pause process) is still there and \
            StopPodSandbox does not succeed. The kubelet repeats it and goes no further. Usually the shim of the \
            sandbox hangs.")
        .proof("CRI says the sandbox is READY past the deadline while the pod's cgroup holds only the pause process, \
            or nothing; no network failure is known.")
        .safe(&[
            step("Read the FailedKillPod events of the pod: they carry the runtime's reason"),
            step("Ask the runtime once more and read its answer").run("crictl stopp {sandbox}"),
            step("Restart the runtime; running containers stay").run("systemctl restart {runtime_unit}"),
            step("Kill the shim of this sandbox, pid {shim_pid}; no application process is left under it")
                .run("kill -9 {shim_pid}").if_known(),
        ])
        .danger(Danger::new(
            "crictl rmp -f of the sandbox",
            "The runtime forgets the sandbox while its network addresses, mounts and shim may remain.",
        ))
        .sources(&["containerd#8847", "containerd#10755"])
        .event_reason("PodSandboxNotStopped")
        .diagnosis(Proven::Observation);

    /// The CNI plugin's DEL fails.
    CNI_TEARDOWN_FAILING = Cause::at(Gate::SandboxStopped, "CniTeardownFailing")
        .title("The network of the sandbox cannot be torn down")
        .meaning("All containers have ended, but the CNI plugin fails to release the pod's network: its binary, its \
            daemon or its address store is missing, or it needs an API server it cannot reach. Each StopPodSandbox \
            fails with it, and the kubelet repeats it without end.")
        .proof("All containers are EXITED and the sandbox is NOTREADY (containerd), while FailedKillPod events or the \
            log of the kubelet or runtime say: failed to destroy network for sandbox. The CRI state alone does not \
            show this.")
        .safe(&[
            step("Read the runtime's message: it names the plugin that fails")
                .run("journalctl -u {runtime_unit} --since -15min --no-pager --grep {sandbox}"),
            step("Repair or reinstall the CNI plugin (binary, daemon, credentials); the next retry then succeeds"),
        ])
        .danger(Danger::new(
            "Deleting the network namespace or the CNI configuration by hand",
            "The plugin then cannot find what to release: addresses and interfaces leak, and a missing configuration \
                blocks every pod of the node.",
        ))
        .sources(&["multus#669", "spidernet-cni-plugins#47", "calico#7272", "calico#7647", "containerd-cri#732"])
        .event_reason("PodNetworkTeardownFailing")
        .diagnosis(Proven::Lab("cni-del"));

    /// The runtime has no CNI configuration.
    CNI_NOT_INITIALIZED = Cause::at(Gate::SandboxStopped, "CniNotInitialized")
        .title("The runtime has no CNI configuration")
        .meaning("The runtime has found no CNI configuration, so it can make no pod network, and release only one that \
            it has cached. Where the cache does not help, StopPodSandbox fails. containerd has no such cache: there it \
            is a state of the node, NetworkNotReady.")
        .proof("CRI Status of CRI-O reports NetworkReady=false with No CNI configuration file in its message, and the \
            network namespace of the stopped sandbox is left. What the cache holds cannot be seen, so it is only \
            probable.")
        .safe(&[
            step("See what the CNI configuration directory holds").run("ls -la /etc/cni/net.d"),
            step("Bring the CNI installer of this cluster back (its DaemonSet pod on this node): it writes the \
                configuration, and the next retry succeeds"),
        ])
        .danger(Danger::new(
            "Putting a made-up configuration into /etc/cni/net.d",
            "The runtime uses another plugin than the one that made the pods' networks: releases go wrong and new pods \
                get wrong addresses.",
        ))
        .sources(&["containerd#8774", "cri-tools#1687"])
        .event_reason("PodNetworkTeardownFailing")
        .diagnosis(Proven::Observation);

    /// The path of the network namespace is empty, typically after a reboot.
    NETNS_PATH_MISSING = Cause::at(Gate::SandboxStopped, "NetnsPathMissing")
        .title("The sandbox's network namespace path is missing")
        .meaning("The runtime or CNI plugin is asked to release a network whose namespace path is empty or gone, \
            usually after a reboot. A plugin that treats this as an error makes every StopPodSandbox fail, although \
            nothing is left to release.")
        .proof("The network namespace path of the sandbox does not exist, and either CRI-O still shows the sandbox \
            READY after all containers have ended, or the sandbox is older than this boot and the pod's phase is not \
            terminal with volumes or a cgroup left. What the plugin says is not seen, so it is only probable.")
        .safe(&[
            step("Read the runtime's message for this sandbox")
                .run("journalctl -u {runtime_unit} --since -15min --no-pager --grep {sandbox}"),
            step("Upgrade the CNI plugin or CRI-O to a release that accepts a missing namespace on release"),
        ])
        .danger(Danger::new(
            "Creating a file at the missing path",
            "The plugin works on a namespace that is not the pod's and may remove addresses of others.",
        ))
        .sources(&["cilium#40459", "kubernetes#133081"])
        .event_reason("PodNetworkTeardownFailing")
        .diagnosis(Proven::Observation);

    /// The pinned network namespace cannot be removed because another mount namespace holds it.
    NETNS_BUSY = Cause::at(Gate::SandboxStopped, "NetnsBusy")
        .title("The sandbox's network namespace file is busy")
        .meaning("The file that pins the pod's network namespace is also mounted in another mount namespace. On old \
            kernels (CentOS and RHEL 7) it then cannot be removed, so StopPodSandbox fails. Today's kernels do not \
            have this problem.")
        .proof("The kernel is older than 3.18 without fs.may_detach_mounts=1, the network namespace file of a stopped \
            sandbox still exists, and /proc/<other>/mountinfo shows it mounted in another mount namespace.")
        .safe(&[
            step("Let the kernel detach such mounts (RHEL and CentOS 7)").run("sysctl -w fs.may_detach_mounts=1"),
            step("Restart {owner} (pid {pid}), whose mount namespace holds the copy").if_known(),
            step("Upgrade to a newer kernel"),
        ])
        .danger(Danger::new(
            "umount -l of everything below /var/run/netns",
            "Namespaces of running pods lose their pin, and their networks can no longer be released.",
        ))
        .sources(&["containerd#3667", "imroc/learning-kubernetes#33"])
        .event_reason("PodNetworkTeardownFailing")
        .diagnosis(Proven::Observation);

    /// The DRA driver of a claim does not answer or is not registered.
    DRA_DRIVER_GONE = Cause::at(Gate::DevicesUnprepared, "DraDriverGone")
        .title("The driver of a claimed device is gone")
        .meaning("All containers have ended. The kubelet must ask the DRA driver to release the pod's devices, and \
            that driver is not registered or fails. By design the kubelet waits for it: a device must not be handed on \
            before it is released.")
        .proof("All containers are EXITED while the API phase is not terminal, and dra_manager_state in the kubelet's \
            root lists a claim of this pod. A missing driver socket, or the kubelet's message, names the driver.")
        .safe(&[
            step("Bring the DRA driver of the claim back (its DaemonSet pod on this node); the kubelet asks again \
                within 15 s"),
            step("See which driver the claim {claim} was allocated from").if_known(),
            step("If the driver is there and answers, restart the kubelet: 1.34 can be stuck with an idle connection \
                (kubernetes#133920); containers keep running")
                .run("systemctl restart {kubelet_unit}"),
        ])
        .danger(Danger::new(
            "Deleting dra_manager_state or the ResourceClaim's finalizer",
            "The device counts as free while it is still set up for the old pod; the next pod may get it unclean, or \
                in use.",
        ))
        .sources(&["kubernetes#129402", "kubernetes#139772", "kubernetes#131957", "kubernetes#133920"])
        .event_reason("PodDevicesNotReleased")
        .diagnosis(Proven::Observation);
}
