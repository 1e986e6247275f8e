//! Gate `SandboxStopped`: a sandbox that runs, or a network that cannot be torn down.

use super::kubelet::AT_THE_KUBELET;
use crate::cause::node::network::{LIST_CNI, MADE_UP_CNI};
use crate::cause::page::*;

causes! {
    CONTAINER_STATE_UNKNOWN = Cause::gate(Gate::ContainersStopped, "ContainerStateUnknown")
        .title("The runtime does not know the container's state")
        .meaning("The runtime could not load this container when it started, so it reports UNKNOWN. The kubelet stops \
            only RUNNING containers one by one and leaves this one to StopPodSandbox, which should clear it. If it \
            stays, StopPodSandbox fails, or a process of the container is still there.")
        .proof("CRI lists the container as CONTAINER_UNKNOWN past the pod's deadline.")
        .safe(&[
            check("Read why the runtime could not load the container")
                .read(log_of!("runtime", "-1h", "{container}")),
            check("Wait for the kubelet's next StopPodSandbox (10 to 15 s after the last failure) and look again"),
            step("Restart the runtime so that it tries to load the container again; running ones stay")
                .run("systemctl restart {runtime_unit}"),
        ])
        .dont("crictl rm -f of the container, or deleting its bundle",
            "UNKNOWN does not mean dead: a process may still run and write, and after the removal nothing tracks it.")
        .sources(&["reference: containerd state load, kubelet ConvertPodStatusToRunningPod"])
        .event_reason("PodContainerStateUnknown")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);

    SANDBOX_NOT_STOPPED = Cause::gate(Gate::SandboxStopped, "SandboxNotStopped")
        .title("The pod's sandbox does not stop")
        .meaning("No application process is left, but the sandbox (the pause process) is still there and \
            StopPodSandbox does not succeed. The kubelet repeats it and goes no further. Usually the shim of the \
            sandbox hangs.")
        .proof("CRI says the sandbox is READY past the deadline while the pod's cgroup holds only the pause process, \
            or nothing; no network failure is known, and the phase in the API is not Pending.")
        .safe(&[
            check("Read the state of the sandbox").run("{crictl} --runtime-endpoint {cri_endpoint} inspectp {sandbox}"),
            check("Read the FailedKillPod events of the pod: they carry the runtime's reason"),
            step("Ask the runtime once more and read its answer").run("{crictl} --runtime-endpoint {cri_endpoint} stopp {sandbox}"),
            step("Restart the runtime; running containers stay").run("systemctl restart {runtime_unit}"),
            step("Kill the shim of this sandbox, pid {shim_pid}; no application process is left under it")
                .run("kill -9 {shim_pid}").if_known(),
        ])
        .dont("crictl rmp -f of the sandbox",
            "The runtime forgets the sandbox while its network addresses, mounts and shim may remain.")
        .sources(&["containerd#8847", "containerd#10755"])
        .event_reason("PodSandboxNotStopped")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);

    POD_START_NOT_FINISHED = Cause::gate(Gate::SandboxStopped, "PodStartNotFinished")
        .title("The kubelet may still be starting the pod")
        .meaning("The pod was deleted before all of its containers had started. The kubelet stops nothing of it before \
            what it does for its start has returned, and it sets no deadline to the pull of an image: a large image or \
            a registry that does not answer holds the deletion for so long. Nothing of the pod runs meanwhile, and \
            when the pull has ended the kubelet stops the sandbox by itself.")
        .proof("CRI says the sandbox is READY and no container of the pod is RUNNING past the deadline, and the phase \
            in the API is Pending. A pod of which a container never started is Pending to the end, so that \
            StopPodSandbox fails looks the same: it is never more than probable, and by itself never called stuck.")
        .safe(&[
            check("Read the Events of the pod: Pulling without a Pulled or Failed after it is a pull that goes on, and \
                FailedKillPod has the words of a StopPodSandbox that fails")
                .run("kubectl get events --all-namespaces --field-selector involvedObject.uid={uid}"),
            check("Read what the kubelet says of this pod")
                .read(log_of!("kubelet", "-15min", "{uid}")),
            check("Wait until the image is there, or repair the way to its registry; the kubelet then stops the pod"),
        ])
        .dont("Restarting the runtime, or killing the shim of the sandbox",
            "The runtime gives up every pull of the node, and each begins anew; no process of this pod is in the way.")
        .sources(&["kubernetes#113606", "kubernetes#121435", "reference: kubelet SyncPod, PullImage"])
        .patience(Patience::NextTry)
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);

    CNI_TEARDOWN_FAILING = Cause::gate(Gate::SandboxStopped, "CniTeardownFailing")
        .title("The network of the sandbox cannot be torn down")
        .meaning("All containers have ended, but the CNI plugin fails to release the pod's network: its binary, its \
            daemon or its address store is missing, or it needs an API server it cannot reach. Each StopPodSandbox \
            fails with it, and the kubelet repeats it without end.")
        .proof("All containers are EXITED, the sandbox is NOTREADY (containerd), and its network namespace is still \
            pinned two minutes after the deadline: one StopPodSandbox lasts no longer. Before that the plugin may only \
            be slow, so it is only probable. CRI-O releases the network first and, before 1.31.14, 1.32.8 and 1.33.4, \
            goes no further until it succeeds: there the sandbox is READY still, and it is never more than probable. FailedKillPod events and the runtime's log have the plugin's \
            words: failed to destroy network for sandbox.")
        .safe(&[
            check("Read the runtime's message: it names the plugin that fails")
                .read(log_of!("runtime", "-15min", "{sandbox}")),
            step("Repair or reinstall the CNI plugin (binary, daemon, credentials); the next retry then succeeds"),
        ])
        .dont("Deleting the network namespace or the CNI configuration by hand",
            "The plugin then cannot find what to release: addresses and interfaces leak, and a missing configuration \
                blocks every pod of the node.")
        .sources(&["multus#669", "spidernet-cni-plugins#47", "calico#7272", "calico#7647", "containerd-cri#732"])
        .event_reason("PodNetworkTeardownFailing")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Lab("cni-del"));

    CNI_NOT_INITIALIZED = Cause::gate(Gate::SandboxStopped, "CniNotInitialized")
        .title("The runtime has no CNI configuration")
        .meaning("The runtime has found no CNI configuration, so it can make no pod network, and release only one that \
            it has cached. Where the cache does not help, StopPodSandbox fails. containerd has no such cache: there it \
            is a state of the node, NetworkNotReady.")
        .proof("CRI Status of CRI-O reports NetworkReady=false with No CNI configuration file in its message, and the \
            network namespace of the stopped sandbox (of old versions one that is READY) is left. What the cache holds \
            cannot be seen, so it is only probable.")
        .safe(&[
            LIST_CNI,
            step("Bring the CNI installer of this cluster back (its DaemonSet pod on this node): it writes the \
                configuration, and the next retry succeeds"),
        ])
        .danger(MADE_UP_CNI)
        .sources(&["containerd#8774", "cri-tools#1687"])
        .event_reason("PodNetworkTeardownFailing")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);
}
