//! Why a node does not drain.

use crate::cause::circumstance::{Budget, Circumstance};
use crate::cause::page::*;

const TOO_FEW_READY: Circumstance = Circumstance::Budget(Budget::TooFewReady);
const TOO_FEW_READY_OF_ALL: Circumstance = Circumstance::Budget(Budget::TooFewReadyOfAll);
const NOT_COUNTED: Circumstance = Circumstance::Budget(Budget::NotCounted);
const OF_PROGRAM: Circumstance = Circumstance::Budget(Budget::OfProgram);
const NONE_UNAVAILABLE: Circumstance = Circumstance::Budget(Budget::NoneUnavailable);
const WANTS_ALL: Circumstance = Circumstance::Budget(Budget::All);
const SEVERAL: Circumstance = Circumstance::Budget(Budget::Several);

/// What every short cut around an eviction does.
const AROUND: Danger = Danger::new(
    "Do not run kubectl drain --disable-eviction --force, or delete the pods",
    "It asks no PodDisruptionBudget: the service behind the pods may be down until others are ready, and a pod without a \
        controller is gone for good.",
);

causes! {
    DRAIN_BUDGET_ALLOWS_NONE = Cause::cluster(ClusterArea::Pod, "DrainBudgetAllowsNone")
        .holds_from_the_start()
        .title("A PodDisruptionBudget allows no eviction of pods on a node that is being drained")
        .meaning("An eviction is refused (429 Too Many Requests) while the budget of a pod allows 0 disruptions: too \
            few of its pods are healthy, or its status is not computed yet, or it wants as many healthy pods as there are, so \
            that it never allows one. Some programs (Longhorn, Rook) keep such a budget while an eviction would lose data, \
            and remove it themselves. And the API server evicts no pod that more than one budget selects: each eviction \
            fails with 500, whatever they allow. The drain retries without end. Karpenter deletes around it in time for the end of the \
            NodeClaim's terminationGracePeriod, if it has one; until then the drain goes on.")
        .proof("The pod runs on a node that is cordoned, or that Karpenter or the cluster autoscaler is taking away; one \
            PodDisruptionBudget selects it and has status.disruptionsAllowed 0, or two or more select it.")
        .safe(&[
            check("See what the budgets of its namespace select").run("kubectl get pdb -n {namespace} -o yaml").when(&[SEVERAL]),
            check("See what the budget wants and what it has").run("kubectl describe {type} {name} -n {namespace}").typed(),
            step("Leave one budget for each pod; the evictions then continue").when(&[SEVERAL]),
            check("See whether the controller manager runs, which counts the pods of a budget")
                .run("kubectl -n kube-system get lease kube-controller-manager -o yaml").typed().when(&[NOT_COUNTED]),
            step("Make the pods ready that are not; the budget then allows an eviction").when(&[TOO_FEW_READY]),
            step("Set unhealthyPodEvictionPolicy: AlwaysAllow in the budget: pods that are not ready, as {pod} of this node, may \
                then be evicted").when(&[TOO_FEW_READY, TOO_FEW_READY_OF_ALL]).if_known(),
            step("Make the pods ready that are not. Then add a replica, or set maxUnavailable of the budget to 1: with all of \
                them ready it still allows no eviction").when(&[TOO_FEW_READY_OF_ALL]),
            check("Read what that program waits for (Longhorn, Rook), and leave the budget alone").when(&[OF_PROGRAM]),
            step("Set maxUnavailable of the budget to 1 while the node is drained: with 0 no replica more helps")
                .when(&[NONE_UNAVAILABLE]),
            step("Add a replica (its pods are of {workload}), or set maxUnavailable: 1 in place of minAvailable")
                .when(&[WANTS_ALL]).if_known(),
            step("Or, where the pods may end without it, skip the drain of the machine")
                .run("kubectl annotate {user} -n {user_namespace} machine.cluster.x-k8s.io/exclude-node-draining=")
                .if_known(),
        ])
        .danger(AROUND)
        .sources(&[
            "karpenter#2802",
            "kubernetes: pkg/registry/core/pod/storage/eviction.go",
            "longhorn-manager: controller/instance_manager_controller.go, canDeleteInstanceManagerPDB",
            "rook: pkg/operator/ceph/disruption/clusterdisruption/osd.go, createBlockingPDBForOSD",
        ])
        .diagnosis(Proven::Cluster("budget-zero"));

    DRAIN_POD_DECLINES = Cause::cluster(ClusterArea::Pod, "DrainPodDeclines")
        .holds_from_the_start()
        .title("A pod's annotation keeps a node from being taken away")
        .meaning("Karpenter evicts no pod with karpenter.sh/do-not-disrupt, and the cluster autoscaler none with \
            cluster-autoscaler.kubernetes.io/safe-to-evict: \"false\". The node stays until the pod has ended, or until \
            the node's terminationGracePeriod has ended.")
        .proof("The node is being taken away by that program (its taint, or its finalizer on the Node), and the pod runs \
            there with the annotation.")
        .safe(&[
            check("Find its owner").run("kubectl get pods -n {namespace} -o wide"),
            step("Let the pod end, if it is a job that will"),
            step("Otherwise ask its owner, and remove the annotation"),
        ])
        .danger(AROUND)
        .sources(&["karpenter: pkg/utils/pod/scheduling.go, IsEvictable", "cluster-autoscaler: safe-to-evict"])
        .diagnosis(Proven::Cluster("drain-declined"));

    DRAIN_POD_RETURNS = Cause::cluster(ClusterArea::Pod, "DrainPodReturns")
        .holds_from_the_start()
        .title("Pods come back to a node that is being drained, because they tolerate its taint")
        .meaning("A cordoned node has the taint node.kubernetes.io/unschedulable:NoSchedule. A pod that tolerates it \
            (often by a toleration with operator Exists and no key) may be scheduled there all the same: it is \
            evicted, its controller creates another, and that one is scheduled to the same node. The node is never \
            empty.")
        .proof("The node is cordoned or is being taken away, the pod was created after the time at which the node got \
            the taint (timeAdded), runs there, and tolerates it.")
        .safe(&[
            check("Take the toleration out of the pod template of its controller, or name the taints that it is for")
                .run("kubectl get pods -n {namespace} -o wide"),
            step("Or let its controller have no pods while the node is drained, if it can be spared"),
        ])
        .danger(AROUND)
        .sources(&["kubernetes: pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go"])
        .diagnosis(Proven::Cluster("drain-returns"));

    DRAIN_NEEDS_CONSENT = Cause::cluster(ClusterArea::Pod, "DrainNeedsConsent")
        .holds_from_the_start()
        .title("kubectl drain stops at pods that would lose something")
        .meaning("kubectl drain evicts nothing at all while the node has a pod without a controller (it would be gone \
            for good) or with an emptyDir (its data would be), unless flags say that this may be lost.")
        .proof("The node is cordoned, and the pod runs there without an owner that is a controller, or with a volume of \
            kind emptyDir. Whether the node is being drained, and with which flags, cannot be seen.")
        .safe(&[
            check("See what the pods are").run("kubectl get pods -A -o wide --field-selector spec.nodeName={node}").typed(),
            step("Where the data in emptyDir is only a cache: drain with --delete-emptydir-data")
                .run("kubectl drain {node} --ignore-daemonsets --delete-emptydir-data --dry-run=server"),
            step("A pod without a controller is not created again: save what it is for, or give it a controller first"),
        ])
        .danger(AROUND)
        .sources(&["kubectl: pkg/drain/filters.go"])
        .diagnosis(Proven::Cluster("drain-consent"));

    DRAIN_NOT_ISSUED = Cause::cluster(ClusterArea::Pod, "DrainNotIssued")
        .title("Pods stay on a node that is being drained, without an eviction request")
        .meaning("Nothing forbids the eviction of these pods: no budget, no annotation, no missing controller, no \
            webhook that cannot be called. They \
            have no deletionTimestamp, so they were not evicted: the drain has stopped, waits for \
            other pods, or the node was only cordoned.")
        .proof("The node is cordoned or is being taken away, the pod runs there without a deletionTimestamp, and no \
            PodDisruptionBudget that selects it allows 0 disruptions; no webhook without a backend is asked about its \
            eviction. That no eviction was requested is inferred.")
        .safe(&[
            check("See who drains it, and what that says").run("kubectl describe node {node}").typed(),
            step("If other pods are being deleted at this moment, wait: Karpenter evicts in groups, those of critical \
                pods last"),
            step("If the drain has ended: drain \
                it").run("kubectl drain {node} --ignore-daemonsets --dry-run=server"),
        ])
        .danger(AROUND)
        .sources(&[
            "karpenter#3144",
            "karpenter#2219",
            "karpenter: pkg/controllers/node/termination/terminator/terminator.go, Evict",
        ])
        .diagnosis(Proven::Cluster("drain-not-issued"));
}
