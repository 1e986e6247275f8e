//! States of the node that hold all its terminating pods.

use super::entry::{Advice, Area, Cause, Danger, Proven};

causes! {
    /// No kubelet process runs on the node.
    KUBELET_NOT_RUNNING = Cause {
        id: "KubeletNotRunning",
        area: Area::Node,
        title: "The kubelet does not run",
        meaning: "No kubelet process was found on this node. Nobody stops containers, unmounts volumes or reports a \
            status, so every terminating pod here stays as it is. The containers themselves may run on.",
        proof: "The scan of /proc was complete, saw the host's processes, and found no kubelet (nor a k3s, rke2, \
            k0s or microk8s process that contains one) outside of pods.",
        safe: &[
            Advice {
                text: "Read why it ended",
                command: Some("journalctl -u {kubelet_unit} --since -1h --no-pager"),
                proven: Proven::Untested,
            },
            Advice {
                text: "Start the kubelet; running containers are not touched",
                command: Some("systemctl start {kubelet_unit}"),
                proven: Proven::Untested,
            },
            Advice {
                text: "If it ends again, repair what its log names (configuration, certificate, runtime socket, full \
                    disk)",
                command: None,
                proven: Proven::Untested,
            },
        ],
        danger: Danger {
            action: "kubectl delete pod --force for the pods of this node",
            breaks: "Their containers may still run here; replacements elsewhere write the same data.",
        },
        sources: &["reference: API-side look-alikes (kubelet down)"],
        event_reason: "NodeKubeletNotRunning",
        diagnosis: Proven::Observation,
    };

    /// The kubelet's main loop hangs, typically in a stat on a dead mount.
    KUBELET_SYNC_LOOP_HUNG = Cause {
        id: "KubeletSyncLoopHung",
        area: Area::Node,
        title: "The kubelet's main loop hangs",
        meaning: "The kubelet runs, but its main loop stands still, usually in a stat or statfs on a mount whose NFS \
            or FUSE server does not answer. Housekeeping is part of this loop, so one dead mount stops every pod of \
            the node. Kubelets since 1.30 are less prone to it, because they use statx.",
        proof: "/healthz of the kubelet fails at syncloop (sync Loop took longer than expected), or the kubelet's \
            process is stopped (T).",
        safe: &[
            Advice {
                text: "See which kernel function the kubelet's thread {tid} waits in",
                command: Some("cat /proc/{pid}/task/{tid}/stack"),
                proven: Proven::Untested,
            },
            Advice {
                text: "Bring the NFS or FUSE server behind that mount back: the kubelet then goes on by itself",
                command: None,
                proven: Proven::Untested,
            },
            Advice {
                text: "If it is a FUSE server that cannot answer any more, abort its connection: waiting requests \
                    fail and writes the server has not stored are lost",
                command: Some("echo 1 > /sys/fs/fuse/connections/{connection}/abort"),
                proven: Proven::Untested,
            },
            Advice {
                text: "If the server behind {mount} will not come back, force the unmount; data in flight is lost",
                command: Some("umount -f {mount}"),
                proven: Proven::Untested,
            },
        ],
        danger: Danger {
            action: "Restarting the kubelet again and again",
            breaks: "A thread in D cannot die, so the old process stays, and the new one hangs at the same mount.",
        },
        sources: &[
            "kubernetes#100178", "kubernetes#101622", "kubernetes#90593", "kubernetes#31272", "kubernetes#122318",
            "kubernetes#122491",
        ],
        event_reason: "NodeKubeletHung",
        diagnosis: Proven::Observation,
    };

    /// The runtime accepts connections and does not answer.
    RUNTIME_NOT_RESPONDING = Cause {
        id: "RuntimeNotResponding",
        area: Area::Node,
        title: "The container runtime does not answer",
        meaning: "The runtime's socket takes connections, but requests stay without an answer: the process is \
            stopped, overloaded, or blocked inside. The kubelet learns nothing about containers and can stop none, so \
            every terminating pod of the node waits.",
        proof: "connect() to the CRI socket succeeds and a Version or List request gets no answer within its deadline, \
            in two looks; /proc/<runtime>/stat and its threads' states say whether it is T or D.",
        safe: &[
            Advice {
                text: "If the runtime, pid {pid}, is stopped (state T), let it run again",
                command: Some("kill -CONT {pid}"),
                proven: Proven::Lab("containerd-stopped"),
            },
            Advice {
                text: "Read the runtime's last messages",
                command: Some("journalctl -u {runtime_unit} --since -15min --no-pager"),
                proven: Proven::Untested,
            },
            Advice {
                text: "Look at load, memory and disk of the node; a runtime that is only slow recovers",
                command: None,
                proven: Proven::Untested,
            },
            Advice {
                text: "Restart the runtime; running containers stay",
                command: Some("systemctl restart {runtime_unit}"),
                proven: Proven::Untested,
            },
        ],
        danger: Danger {
            action: "Killing the shims, or deleting the runtime's state directory",
            breaks: "Every running container of the node is lost, and a volume mounted below may be wiped.",
        },
        sources: &["cri-o#6865", "kubernetes#121435", "reference: kubelet PLEG, CRI List hangs"],
        event_reason: "NodeRuntimeNotResponding",
        diagnosis: Proven::Lab("containerd-stopped"),
    };

    /// The runtime's socket is missing or refuses connections.
    RUNTIME_NOT_REACHABLE = Cause {
        id: "RuntimeNotReachable",
        area: Area::Node,
        title: "The container runtime cannot be reached",
        meaning: "The runtime's socket does not exist or refuses connections, so the runtime does not run or listens \
            elsewhere. The kubelet can neither list nor stop containers. The containers themselves may run on under \
            their shims.",
        proof: "connect() to the CRI socket that the kubelet uses gives ENOENT or ECONNREFUSED.",
        safe: &[
            Advice {
                text: "Read why the runtime ended",
                command: Some("journalctl -u {runtime_unit} --since -1h --no-pager"),
                proven: Proven::Untested,
            },
            Advice {
                text: "Start the runtime; containers that still run are taken over again",
                command: Some("systemctl start {runtime_unit}"),
                proven: Proven::Untested,
            },
            Advice {
                text: "Check that the kubelet's containerRuntimeEndpoint is the socket the runtime listens on",
                command: None,
                proven: Proven::Untested,
            },
        ],
        danger: Danger {
            action: "kubectl delete pod --force for the pods of this node",
            breaks: "Their containers may still run under their shims; replacements elsewhere write the same data.",
        },
        sources: &["reference: kubelet CRI endpoints", "reference: containerd shims outlive containerd"],
        event_reason: "NodeRuntimeNotReachable",
        diagnosis: Proven::Observation,
    };

    /// The PLEG has not listed the containers for too long.
    PLEG_STALLED = Cause {
        id: "PlegStalled",
        area: Area::Node,
        title: "The kubelet's container list is stale (PLEG)",
        meaning: "The kubelet's PLEG lists all containers every second, and it has not succeeded for more than 3 min. \
            Each pod worker waits, without a message, for a list newer than its last sync. So every terminating pod \
            of the node stands still.",
        proof: "The node's Ready condition says pleg was last seen active … ago; threshold is 3m0s, or \
            kubelet_pleg_last_seen_seconds is older than that, or the log says GenericPLEG: Unable to retrieve pods.",
        safe: &[
            Advice {
                text: "See whether the runtime lists its containers in time",
                command: Some("crictl ps -a"),
                proven: Proven::Untested,
            },
            Advice {
                text: "Repair what makes the list slow or hang: a hung runtime, a stopped shim, an overloaded disk",
                command: None,
                proven: Proven::Untested,
            },
            Advice {
                text: "If the runtime answers and the PLEG does not recover, restart the kubelet; containers keep \
                    running",
                command: Some("systemctl restart {kubelet_unit}"),
                proven: Proven::Untested,
            },
        ],
        danger: Danger {
            action: "kubectl delete pod --force for the pods of this node",
            breaks: "Their containers still run; replacements elsewhere write the same data.",
        },
        sources: &["kubernetes#121435", "reference: kubelet GenericPLEG, GetNewerThan"],
        event_reason: "NodePlegStalled",
        diagnosis: Proven::Observation,
    };

    /// The runtime reports that the node's pod network is not ready.
    NETWORK_NOT_READY = Cause {
        id: "NetworkNotReady",
        area: Area::Node,
        title: "The pod network of the node is not ready",
        meaning: "The runtime says that its network is not ready: it has no CNI configuration, or the plugin is not \
            initialised. No new pod gets a network, and with containerd stopping a sandbox fails as well, so \
            terminating pods wait.",
        proof: "CRI Status of containerd or cri-dockerd has the condition NetworkReady=false; its message is cni plugin \
            not initialized or cni config not initialized; and a stopped sandbox of a pod that should be gone has \
            kept its network namespace.",
        safe: &[
            Advice {
                text: "Bring the CNI pod of this node back: it writes the configuration and the network becomes ready",
                command: None,
                proven: Proven::Lab("cni-config-gone"),
            },
            Advice {
                text: "See what the CNI configuration directory holds",
                command: Some("ls -la /etc/cni/net.d"),
                proven: Proven::Untested,
            },
        ],
        danger: Danger {
            action: "Putting a made-up configuration into /etc/cni/net.d",
            breaks: "The runtime uses another plugin than the one that made the pods' networks: releases go wrong and \
                new pods get wrong addresses.",
        },
        sources: &["containerd#8774", "cri-tools#1687"],
        event_reason: "NodeNetworkNotReady",
        diagnosis: Proven::Lab("cni-config-gone"),
    };
}
