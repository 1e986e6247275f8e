//! The file that pins a sandbox's network namespace: gone, or busy.

use super::kubelet::AT_THE_KUBELET;
use crate::cause::page::*;

causes! {
    NETNS_PATH_MISSING = Cause::gate(Gate::SandboxStopped, "NetnsPathMissing")
        .title("The sandbox's network namespace path is missing")
        .meaning("The runtime or CNI plugin is asked to release a network whose namespace path is empty or gone, \
            usually after a reboot. A plugin that treats this as an error makes every StopPodSandbox fail, although \
            nothing is left to release.")
        .proof("The network namespace path of the sandbox does not exist, and either a CRI-O before 1.31.14, 1.32.8 \
            and 1.33.4 still shows the sandbox READY after all containers have ended, or the sandbox is older than this boot and the pod's phase is still \
            Running with volumes or a cgroup left. What the plugin says is not seen, so it is only probable.")
        .safe(&[
            check("Read the runtime's message for this sandbox")
                .read(log_of!("runtime", "-15min", "{sandbox}")),
            step("Upgrade the CNI plugin or CRI-O to a release that accepts a missing namespace on release"),
        ])
        .dont("Creating a file at the missing path",
            "The plugin works on a namespace that is not the pod's and may remove addresses of others.")
        .sources(&["cilium#40459", "kubernetes#133081"])
        .event_reason("PodNetworkTeardownFailing")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);

    NETNS_BUSY = Cause::gate(Gate::SandboxStopped, "NetnsBusy")
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
        .dont("umount -l of everything below /var/run/netns",
            "Namespaces of running pods lose their pin, and their networks can no longer be released.")
        .sources(&["containerd#3667", "imroc/learning-kubernetes#33"])
        .event_reason("PodNetworkTeardownFailing")
        .diagnosis(Proven::Observation);
}
