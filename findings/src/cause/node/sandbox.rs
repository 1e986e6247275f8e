//! Gate `SandboxStopped`: a sandbox that runs, or a network that cannot be torn down.

use super::kubelet::AT_THE_KUBELET;
use crate::cause::page::*;

causes! {
    SANDBOX_NOT_STOPPED = Cause::gate(Gate::SandboxStopped, "SandboxNotStopped")
        .title("The pod's sandbox does not stop")
        .meaning("No application process is left, but the sandbox (the pause process) is still there and \
            StopPodSandbox does not succeed. The kubelet repeats it and goes no further. Usually the shim of the \
            sandbox hangs. A container that the runtime could not load when it started is UNKNOWN, and only \
            StopPodSandbox clears it.")
        .proof("CRI says the sandbox is READY past the deadline while the pod's cgroup holds only the pause process, \
            or nothing; no network failure is known, and the phase in the API is not Pending. Or CRI lists a container as \
            CONTAINER_UNKNOWN past the deadline.")
        .safe(&[
            check("Read the state of the sandbox").run("{crictl} --runtime-endpoint {cri_endpoint} inspectp {sandbox}"),
            check("Read the FailedKillPod events of the pod: they carry the runtime's reason"),
            check("Read why the runtime could not load the container").read(log_of!("runtime", "-1h", "{container}")),
            step("Ask the runtime once more and read its answer").run("{crictl} --runtime-endpoint {cri_endpoint} stopp {sandbox}"),
            step("Restart the runtime; running containers stay").run("systemctl restart {runtime_unit}"),
            step("Kill the shim of this sandbox, pid {shim_pid}; no application process is left under it")
                .run("kill -9 {shim_pid}").if_known(),
        ])
        .dont("Do not run crictl rmp -f on the sandbox",
            "The runtime forgets the sandbox while its network addresses, mounts and shim may remain.")
        .sources(&["containerd#8847", "containerd#10755", "containerd#8647", "kubernetes#73802"])
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
        .dont("Do not restart the runtime, or kill the shim of the sandbox",
            "The runtime gives up every pull of the node, and each begins anew; no process of this pod is in the way.")
        .sources(&["kubernetes#113606", "kubernetes#121435", "reference: kubelet SyncPod, PullImage"])
        .patience(Patience::NextTry)
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);

    CNI_TEARDOWN_FAILING = Cause::gate(Gate::SandboxStopped, "CniTeardownFailing")
        .title("The network of the sandbox cannot be torn down")
        .meaning("All containers have ended, but the CNI plugin fails to release the pod's network: its binary, its \
            configuration, its daemon or its address store is missing, it needs an API server it cannot reach, or it takes \
            a network namespace that a reboot has removed for an error. Each StopPodSandbox fails with it, and the kubelet \
            repeats it without end.")
        .proof("All containers are EXITED, the sandbox is NOTREADY (containerd), and its network namespace is still \
            pinned two minutes after the deadline: one StopPodSandbox lasts no longer. Before that the plugin may only \
            be slow, so it is only probable. CRI-O releases the network first and, before 1.31.14, 1.32.8 and 1.33.4, \
            goes no further until it succeeds: there the sandbox is READY still, and it is never more than probable. \
            Nor is it where the namespace's path does not exist, and the sandbox is READY there, or older than this boot \
            while the phase is still Running and volumes or a cgroup are left; or where CRI-O reports that it has no \
            configuration, and may have one in its cache. FailedKillPod events and the runtime's log have the plugin's \
            words: failed to destroy network for sandbox.")
        .safe(&[
            check("Read the runtime's message: it names the plugin that fails")
                .read(log_of!("runtime", "-15min", "{sandbox}")),
            step("Repair or reinstall the CNI plugin (binary, configuration, daemon, credentials); the next retry then succeeds"),
            step("Upgrade the CNI plugin or CRI-O to a release that accepts on release that {path} is missing").if_known(),
        ])
        .dont("Do not delete the network namespace or the CNI configuration by hand",
            "The plugin then cannot find what to release: addresses and interfaces leak, and a missing configuration \
                blocks every pod of the node.")
        .sources(&["multus#669", "spidernet-cni-plugins#47", "calico#7272", "calico#7647", "containerd-cri#732", "cilium#40459",
            "kubernetes#133081", "containerd#8774", "cri-tools#1687",
        ])
        .event_reason("PodNetworkTeardownFailing")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Lab("cni-del"));
}
