//! What shows a cause by hand, for whole families of them: by the gate or the area they sit at, then by the reason of their
//! Event, then by their own id. Commands that only read, and read nothing that lies on a mount that may hang: `/proc` of a
//! process without its command line, mount tables, cgroups, the runtime's and the API server's answers.

use super::{Advice, Area, Cause, ClusterArea};
use crate::Gate;

/// A command, and what it shows.
#[derive(Debug, PartialEq, Eq)]
pub struct Check {
    /// A sentence without a full stop.
    pub shows: &'static str,
    /// With placeholders, as in an [`Advice`](super::Advice).
    pub command: &'static str,
}

/// The checks of this cause, the narrowest first; none that is one of its steps.
pub fn checks(cause: &'static Cause) -> impl Iterator<Item = &'static Check> {
    let families = [cause_checks(cause.id), reason_checks(cause.event_reason), area_checks(cause.area)];
    let mut known: Vec<&str> = cause.safe.iter().flat_map(Advice::commands).collect();
    families.into_iter().flatten().filter(move |check| {
        let is_new = !known.iter().any(|command| command.contains(check.command));
        known.push(check.command);
        is_new
    })
}

fn area_checks(area: Area) -> &'static [Check] {
    match area {
        Area::Node => KUBELET,
        Area::Gate(Gate::ContainersStopped) => CONTAINERS,
        Area::Gate(Gate::SandboxStopped) => SANDBOX,
        Area::Gate(Gate::VolumesUnmounted) => VOLUMES,
        Area::Gate(Gate::CgroupRemoved) => CGROUP,
        Area::Gate(Gate::DevicesUnprepared | Gate::StatusReported | Gate::ObjectRemoved) => OBJECT,
        Area::Cluster(ClusterArea::Api) => API,
        Area::Cluster(ClusterArea::ControlPlane) => CONTROL_PLANE,
        Area::Cluster(ClusterArea::Namespace) => NAMESPACE,
        Area::Cluster(ClusterArea::Admission) => ADMISSION,
        Area::Cluster(ClusterArea::Finalizer) => FINALIZER,
        Area::Cluster(ClusterArea::Pod) => POD,
        Area::Cluster(ClusterArea::Storage) => STORAGE,
    }
}

fn reason_checks(reason: &str) -> &'static [Check] {
    match reason {
        "PodProcessUninterruptible" => TASK,
        "PodZombieUnreaped" => ZOMBIE,
        "PodShimGone" | "PodShimNotResponding" | "PodSandboxedGuestNotStopped" => SHIM,
        "PodCgroupFrozen" | "PodCgroupBusy" | "PodCgroupLeft" => CGROUP,
        "PodVolumeBusy" | "PodRootfsBusy" | "PodDeviceInUse" | "PodMountCopied" => HOLDER,
        "PodVolumeDriverFails"
        | "PodVolumeDriverIsBack"
        | "PodVolumeDriverMissing"
        | "PodVolumeDataMissing"
        | "PodVolumeServerGone"
        | "CsiDriverNotOnNode"
        | "VolumeStillMounted" => DRIVER,
        "OrphanedPodDirectory" | "PodForceDeletedStillRunning" => ORPHAN,
        "PodBlockDeviceBusy" => BLOCK,
        "NodeRuntimeNotResponding" | "NodeNetworkNotReady" => RUNTIME,
        "NodeUnreachable"
        | "NodeShutDown"
        | "NodeNotReadyHoldsPods"
        | "NodeNeverReported"
        | "NodeKubeletSilent"
        | "NodeObjectGone"
        | "OutOfServiceNotEffective"
        | "EvictionSuspended"
        | "LocalVolumeOnLostNode" => NODE,
        "DrainBudgetAllowsNone" | "DrainPodDeclines" | "DrainPodReturns" | "DrainNeedsConsent" | "DrainNotIssued" => {
            DRAIN
        }
        _ => &[],
    }
}

fn cause_checks(id: &str) -> &'static [Check] {
    match id {
        "FuseServerNotResponding" | "FuseServerGone" => FUSE,
        "NfsServerNotResponding" | "FileServerNotResponding" => FILE_SERVER,
        "BlockDeviceNotResponding" | "BlockDeviceSuspended" | "FileSystemFrozen" => BLOCK,
        "WebhookUnavailable"
        | "WebhookCertificateInvalid"
        | "WebhookGoneWithNamespace"
        | "WebhookRefusesDelete"
        | "WebhookBlocksUpdate" => WEBHOOK,
        "ConversionWebhookUnavailable" | "StoredVersionNotServed" | "CrdInstancesRemain" => CRD,
        "GarbageCollectorNotWorking"
        | "ForegroundDependentsRemain"
        | "OwnerInOtherNamespace"
        | "OwnerKindUnknown"
        | "OrphanFinalizerPending" => OWNERS,
        _ => &[],
    }
}

/// Declares the checks of each family: what a command shows, and the command.
macro_rules! families {
    ($($(#[$about:meta])* $family:ident { $($shows:literal: $command:literal,)* })*) => {
        $($(#[$about])* static $family: &[Check] = &[$(Check { shows: $shows, command: $command }),*];)*
    };
}

families! {
    CONTAINERS {
        "What the runtime believes of the pod's containers; one that is RUNNING is what the kubelet waits for":
            "{crictl} --runtime-endpoint {cri_endpoint} --timeout=5s ps -a --label io.kubernetes.pod.uid={uid}",
        "Who is still in the pod's cgroup, whatever the runtime believes (where systemd drives it, the uid has _ for -)":
            "grep -rs . /sys/fs/cgroup --include=cgroup.procs | grep {uid}",
        "What the kubelet last said of the containers, and how long they had":
            "kubectl get pod {name} -n {namespace} -o yaml",
    }

    TASK {
        "Each thread's state, and whether SIGKILL (0100) waits for it: in D it is not heard":
            "grep -H -E '^(State|SigPnd|ShdPnd)' /proc/{pid}/task/*/status",
        "In which function of the kernel each thread waits; it names the file system or the device":
            "grep -H . /proc/{pid}/task/*/wchan",
    }

    FUSE {
        "How many requests the FUSE server has not answered; the directory is gone when the server is":
            "cat /sys/fs/fuse/connections/{connection}/waiting",
        "Which FUSE mounts there are, and which number each has (0:NUMBER), in the node's table and in that of the unit kubelet":
            "grep -s ' - fuse' /proc/1/mountinfo /proc/$(systemctl show kubelet -p MainPID --value)/mountinfo",
    }

    FILE_SERVER {
        "Which network mounts the process sees, with their servers":
            "grep -E ' - (nfs4?|cifs|smb3|ceph|9p) ' /proc/{pid}/mountinfo",
        "What the kernel says of a server that does not answer":
            "dmesg --level=err,warn,notice,info | grep -i 'not responding'",
    }

    BLOCK {
        "What the kernel says of its devices": "dmesg --level=err,warn,notice",
        "Which devices are suspended (device-mapper), and which are open": "dmsetup info",
        "What is stacked on what; it asks the kernel's tables only": "lsblk -o NAME,MAJ:MIN,TYPE,RO,MOUNTPOINTS",
    }

    ZOMBIE {
        "That it is a zombie (Z), its parent, and its tracer":
            "grep -E '^(State|PPid|TracerPid|NSpid)' /proc/{pid}/status",
        "Whether one of its threads lives on: then it is no zombie yet": "grep -H '^State' /proc/{pid}/task/*/status",
    }

    SHIM {
        "Whether the runtime still answers for the pod":
            "{crictl} --runtime-endpoint {cri_endpoint} --timeout=5s pods --label io.kubernetes.pod.uid={uid}",
        "Whether the shim runs, is stopped (T) or waits (D)": "grep -H '^State' /proc/{pid}/status",
    }

    SANDBOX {
        "Whether the sandbox is still READY":
            "{crictl} --runtime-endpoint {cri_endpoint} --timeout=5s pods --label io.kubernetes.pod.uid={uid}",
        "What the runtime says of the network's end, with the plugin's own words":
            "journalctl -u {runtime_journal} --since -15min --no-pager --grep 'StopPodSandbox|DEL|netns'",
        "Whether there is a configuration for a network": "ls -la /etc/cni/net.d",
    }

    VOLUMES {
        "What of the pod is still mounted, in the node's table and in that of the unit kubelet, which may be another":
            "grep -s {uid} /proc/1/mountinfo /proc/$(systemctl show kubelet -p MainPID --value)/mountinfo",
        "What the kubelet says of it; a failed unmount writes no Event":
            "journalctl -u {kubelet_journal} --since -15min --no-pager --grep {uid}",
    }

    HOLDER {
        "What the process holds, without following a link":
            "find /proc/{pid}/fd /proc/{pid}/cwd /proc/{pid}/root /proc/{pid}/exe -type l -printf '%p -> %l\\n'",
        "Whether it is in another mount namespace than the node's first process":
            "readlink /proc/{pid}/ns/mnt /proc/1/ns/mnt",
        "Which unit or pod it belongs to": "cat /proc/{pid}/cgroup",
    }

    DRIVER {
        "Which CSI drivers are registered at the node": "kubectl get csinode {node} -o yaml",
        "Which have a socket there": "ls -la /var/lib/kubelet/plugins_registry",
        "Where the driver's pods are, and whether they run":
            "kubectl get pods -A -o wide --field-selector spec.nodeName={node}",
    }

    ORPHAN {
        "That the API does not know the pod":
            "kubectl get pods -A -o custom-columns=UID:.metadata.uid,NAME:.metadata.name",
        "What the kubelet says of pods that it does not know":
            "journalctl -u {kubelet_journal} --since -15min --no-pager --grep orphaned",
    }

    CGROUP {
        "Who is in the pod's cgroup and below it (where systemd drives it, the uid has _ for -)":
            "grep -rs . /sys/fs/cgroup --include=cgroup.procs | grep {uid}",
        "Whether it is frozen: v1 and v2 say so in these files":
            "grep -rs . /sys/fs/cgroup --include=freezer.state --include=cgroup.events | grep {uid}",
    }

    OBJECT {
        "Its phase, its finalizers, and what the kubelet last reported":
            "kubectl get pod {name} -n {namespace} -o yaml",
        "Whether the kubelet's word reaches the API server":
            "journalctl -u {kubelet_journal} --since -15min --no-pager --grep {uid}",
    }

    KUBELET {
        "Whether it runs, and as which process":
            "systemctl show {kubelet_unit} -p ActiveState,SubState,MainPID,NRestarts",
        "Whether it is stopped (T) or waits (D)": "grep -H '^State' /proc/{pid}/task/*/status",
        "What it says": "journalctl -u {kubelet_journal} --since -15min --no-pager --priority warning",
    }

    RUNTIME {
        "Whether the runtime answers, and what it says of its network":
            "{crictl} --runtime-endpoint {cri_endpoint} --timeout=5s info",
        "What it says": "journalctl -u {runtime_journal} --since -15min --no-pager --priority warning",
    }

    API {
        "Which APIs are not available, and why":
            "kubectl get apiservices -o 'custom-columns=NAME:.metadata.name,SERVICE:.spec.service.name,AVAILABLE:.status.conditions[?(@.type==\"Available\")].status,WHY:.status.conditions[?(@.type==\"Available\")].message'",
        "What the namespace's controller could not list": "kubectl get namespace {namespace} -o yaml",
        "Whether anybody stands behind the service": "kubectl get endpointslices -A",
    }

    CONTROL_PLANE {
        "Which checks of the API server fail; etcd is one": "kubectl get --raw '/readyz?verbose'",
        "Who leads, and when the lease was last renewed":
            "kubectl get leases -n kube-system -o custom-columns=NAME:.metadata.name,HOLDER:.spec.holderIdentity,RENEWED:.spec.renewTime",
        "Whether the programs run, where they are pods": "kubectl get pods -n kube-system -o wide",
    }

    NAMESPACE {
        "What its controller says; since 1.33 it may say \"removed\" while pods remain":
            "kubectl get namespace {namespace} -o yaml",
        "What is in it, of every kind that can be listed":
            "kubectl api-resources --verbs=list --namespaced -o name | xargs -n 1 kubectl get --ignore-not-found --show-kind -n {namespace}",
    }

    ADMISSION {
        "Which objects remain, and what was said when their deletion was tried":
            "kubectl get namespace {namespace} -o yaml",
        "Which webhooks and policies are asked":
            "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicies",
    }

    WEBHOOK {
        "Each webhook's service, failurePolicy and rules":
            "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml",
        "Whether anybody stands behind its service": "kubectl get services,endpointslices,pods -n {namespace}",
    }

    CRD {
        "Its conversion, its stored and its served versions, its conditions":
            "kubectl get crds -o custom-columns=NAME:.metadata.name,CONVERSION:.spec.conversion.strategy,STORED:.status.storedVersions,DELETED:.metadata.deletionTimestamp",
        "What the namespace's controller says of its objects": "kubectl get namespace {namespace} -o yaml",
    }

    FINALIZER {
        "Its finalizers, and who set them when (managedFields)":
            "kubectl get {type} {name} -n {namespace} -o yaml --show-managed-fields",
        "What its controller said of it": "kubectl events --for {type}/{name} -n {namespace}",
        "Which controllers run, and which are not ready": "kubectl get deployments,statefulsets,daemonsets -A",
    }

    OWNERS {
        "Who owns it, and whether that blocks the owner's deletion (ownerReferences)":
            "kubectl get {type} {name} -n {namespace} -o yaml",
        "Whether the controller manager, which collects, still leads":
            "kubectl get lease kube-controller-manager -n kube-system -o yaml",
    }

    POD {
        "Its phase, its finalizers, its containers, its deletionTimestamp (the grace period is in it)":
            "kubectl get pod {name} -n {namespace} -o yaml",
        "Its Events; a namespace in deletion accepts no new ones": "kubectl events --for pod/{name} -n {namespace}",
        "What the agents said of the nodes": "kubectl get events -n default --field-selector involvedObject.kind=Node",
    }

    NODE {
        "Whether the node is Ready, since when not, and its taints": "kubectl describe node {node}",
        "When its kubelet was last heard": "kubectl get lease {node} -n kube-node-lease -o yaml",
        "What is on it": "kubectl get pods -A -o wide --field-selector spec.nodeName={node}",
    }

    DRAIN {
        "What each budget allows, and of which pods": "kubectl get poddisruptionbudgets -A",
        "What is still on the node": "kubectl get pods -A -o wide --field-selector spec.nodeName={node}",
        "The node's Events": "kubectl events --for node/{node} -A",
    }

    STORAGE {
        "The claims and the volumes, what is bound to what, and what is being deleted":
            "kubectl get persistentvolumeclaims,persistentvolumes -A",
        "What is attached where, and the error of the last try": "kubectl get volumeattachments -o yaml",
        "Who uses claims":
            "kubectl get pods -A -o custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,PHASE:.status.phase,CLAIMS:.spec.volumes..claimName",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::all;
    use crate::{Placeholder, placeholder::holes};

    #[test]
    fn every_cause_can_be_looked_at_in_two_ways_or_more() {
        for cause in all() {
            let checks: Vec<_> = checks(cause).collect();
            let steps = cause.safe.iter().filter(|step| step.command.is_some());
            assert!(!checks.is_empty() && checks.len() + steps.count() >= 2, "{}: {checks:#?}", cause.id);
            for (at, check) in checks.iter().enumerate() {
                assert!(!checks[..at].contains(check), "{}: {check:?} twice", cause.id);
            }
        }
    }

    /// What opens, lists or asks for the state of a path on a mount that hangs, hangs too; so does what reads the command
    /// line of a process whose memory is locked.
    #[test]
    fn checks_only_read_and_cannot_hang() {
        const READS: [&str; 10] =
            ["cat", "{crictl}", "dmesg", "dmsetup", "find", "grep", "journalctl", "kubectl", "ls", "lsblk"];
        for check in all().flat_map(checks) {
            let Check { command, .. } = check;
            for part in command.split(" | ") {
                let program = part.split_whitespace().next().unwrap();
                assert!(READS.contains(&program) || ["readlink", "systemctl", "xargs"].contains(&program), "{command}");
            }
            let changes =
                ["delete", "patch", "edit", "apply", "drain", "resume", "remove", "stop ", "restart", "-delete"];
            assert!(!changes.iter().any(|word| command.contains(word)), "{command}");
            assert!(
                !["cmdline", "environ", "maps", "{mount}", "{path}", "/volumes"].iter().any(|on| command.contains(on))
            );
            assert!(
                !command.starts_with("ls ") || command.ends_with("net.d") || command.ends_with("registry"),
                "{command}"
            );
            assert!(!command.starts_with("find ") || command.contains("-type l"), "{command}");
            assert!(!command.contains("grep -r") || command.contains(" /sys/fs/cgroup "), "{command}");
            for name in holes(command).filter_map(|(_, name)| name) {
                assert!(Placeholder::ALL.iter().any(|known| known.as_str() == name), "{command}: {name}");
            }
        }
    }

    #[test]
    fn the_narrowest_is_first_and_no_step_is_repeated() {
        let fuse = checks(crate::cause::find("FuseServerNotResponding").unwrap()).next().unwrap();
        assert!(fuse.command.contains("/waiting"), "{fuse:?}");
        let network = checks(crate::cause::find("NetworkNotReady").unwrap());
        assert!(network.into_iter().all(|check| check.command != "ls -la /etc/cni/net.d"));
    }
}
