//! What several pages say.

use crate::cause::circumstance::{Circumstance, Circumstances, Cleanup, Controller, Existence, Users, Words};
use crate::cause::entry::{Advice, Cause, Danger, check, step};

pub(in crate::cause) const READY: Circumstance = Circumstance::Controller(Controller::Ready);
pub(in crate::cause) const NOT_READY: Circumstance = Circumstance::Controller(Controller::NotReady);
pub(in crate::cause) const CRASHING: Circumstance = Circumstance::Controller(Controller::Crashing);
pub(in crate::cause) const SCALED_DOWN: Circumstance = Circumstance::Controller(Controller::ScaledDown);
pub(in crate::cause) const ABSENT: Circumstance = Circumstance::Controller(Controller::Absent);
pub(in crate::cause) const HIDDEN: Circumstance = Circumstance::Controller(Controller::Hidden);
pub(in crate::cause) const IN_SERVER: Circumstance = Circumstance::Controller(Controller::InServer);
pub(in crate::cause) const UNKNOWN: Circumstance = Circumstance::Controller(Controller::Unknown);
pub(in crate::cause) const UNSEEN: Circumstance = Circumstance::Controller(Controller::Unseen);
pub(in crate::cause) const USED: Circumstance = Circumstance::Users(Users::Some);
pub(in crate::cause) const UNUSED: Circumstance = Circumstance::Users(Users::None);
pub(in crate::cause) const USED_ELSEWHERE: Circumstance = Circumstance::Users(Users::Elsewhere);
pub(in crate::cause) const USERS_UNKNOWN: Circumstance = Circumstance::Users(Users::Unknown);
pub(in crate::cause) const NODE_EXISTS: Circumstance = Circumstance::Node(Existence::Present);
pub(in crate::cause) const NODE_GONE: Circumstance = Circumstance::Node(Existence::Gone);
pub(in crate::cause) const DRIVER_GONE: Circumstance = Circumstance::Driver(Existence::Gone);
pub(in crate::cause) const ACCOUNT_EXISTS: Circumstance = Circumstance::Account(Existence::Present);
pub(in crate::cause) const ACCOUNT_GONE: Circumstance = Circumstance::Account(Existence::Gone);
pub(in crate::cause) const PENDING: Circumstance = Circumstance::Cleanup(Cleanup::Pending);
pub(in crate::cause) const NOTHING: Circumstance = Circumstance::Cleanup(Cleanup::Nothing);
pub(in crate::cause) const CURRENT_WORDS: Circumstance = Circumstance::Words(Words::Current);
pub(in crate::cause) const REFUTED_WORDS: Circumstance = Circumstance::Words(Words::Refuted);

pub(in crate::cause) const STORED: Circumstance = Circumstance::Stored(Existence::Present);
pub(in crate::cause) const NOT_STORED: Circumstance = Circumstance::Stored(Existence::Gone);

/// Of any kind of object.
pub(in crate::cause) const READ_REPORTS: Advice = check("Read what is reported about the object")
    .run("kubectl describe {type} {name} -n {namespace}")
    .typed()
    .if_known();

/// The agent's check of one pod, where no agent runs. kube-system admits privileged pods, and is never being deleted.
pub(in crate::cause) const CHECK_POD_ONCE: &str = "kubectl -n kube-system debug node/{agentless_node} -it --profile=sysadmin \
    --image={agent_image} -- /why-terminating-agent check --pod {agent_pod}";
/// The same of all that its node holds.
pub(in crate::cause) const CHECK_NODE_ONCE: &str = "kubectl -n kube-system debug node/{agentless_node} -it --profile=sysadmin \
    --image={agent_image} -- /why-terminating-agent check";
pub(in crate::cause) const DELETE_DEBUG_POD: Advice = check("Delete the debug pod; kubectl leaves it behind")
    .run(
        // By name: kubectl labels them since 1.34 only (kubernetes#131791).
        "kubectl -n kube-system get pods -o name --field-selector spec.nodeName={agentless_node},status.phase!=Running \
            | grep /node-debugger- | xargs -r kubectl -n kube-system delete",
    )
    .if_known();

/// Of a controller that runs.
pub(in crate::cause) const READ_LOG: Advice = check("Read the log of {workload} for {name}")
    .run("kubectl -n {workload_namespace} logs {workload} --since=1h --tail=200")
    .if_known()
    .when(&[READY]);
pub(in crate::cause) const REPAIR: Advice =
    step("Repair what it reports; it tries again").when(&[READY, CURRENT_WORDS]);
pub(in crate::cause) const REPAIR_SILENT: Advice =
    step("Repair what its log names; it tries again").when(&[READY, Circumstance::Words(Words::None)]);
/// It has not looked again.
pub(in crate::cause) const RESTART: Advice = step("Restart it: what it lacked is there, and it has not checked again")
    .run("kubectl -n {workload_namespace} rollout restart {workload}")
    .if_known()
    .when(&[READY, REFUTED_WORDS]);
/// Where the controller reads an annotation of the object.
pub(in crate::cause) const KEEP_OUTSIDE: Advice =
    step("To keep what it stands for outside of the cluster, and delete the object alone")
        .run("kubectl annotate {type} {name} -n {namespace} {keep_annotation} --overwrite")
        .if_known();

/// Of one of which nothing is known.
pub(in crate::cause) const FIND_IT: Advice =
    check("See whether {released_by} runs, and restore it if not. managedFields shows who set the finalizer")
        .run("kubectl get {type} {name} -n {namespace} -o yaml --show-managed-fields")
        .typed()
        .if_known()
        .when(&[UNKNOWN, UNSEEN]);
pub(in crate::cause) const HIDDEN_ONE: Advice = step(
    "Its controller runs where the chain says: install no second one. See whether it still does, read its log there, or \
        ask the support of the cloud that runs it",
)
.when(&[HIDDEN]);

/// What refuses the removal of a finalizer refuses this too, and says why.
pub(in crate::cause) const TRY_A_CHANGE: Advice =
    check("See whether the API server accepts a change of the object: removing a finalizer is one")
        .run("kubectl annotate {type} {name} -n {namespace} why-terminating=try --dry-run=server")
        .typed()
        .if_known();

/// The same where something may refuse it.
pub(in crate::cause) const TRY_A_GUARDED_CHANGE: Advice =
    Advice { when: &[Circumstance::Admission(Existence::Present)], ..TRY_A_CHANGE };

/// k3s and RKE2 have controllers that no pod shows: install nothing.
pub(in crate::cause) const READ_SERVER_LOG: Advice =
    check("Its controller is built into the server of k3s or RKE2. On a server node, search its log for {name}")
        .run("journalctl -u k3s -u rke2-server --since -1h --no-pager --grep {name}")
        .if_known()
        .when(&[IN_SERVER]);
pub(in crate::cause) const REPAIR_SERVER: Advice = step(
    "Repair what it reports. Where it reports nothing, restart the server, one node at a time: its controllers begin again",
)
.when(&[IN_SERVER]);

pub(in crate::cause) const TAKE_OFF: &str =
    "kubectl patch {type} {name} -n {namespace} --type=json -p {finalizer_patch}";

/// `kubectl patch` does not reach this subresource: it changes what was read, and no server.
pub(in crate::cause) const FINALIZE_WITHOUT: &str = "kubectl get namespace {namespace} -o json | \
    kubectl patch --local -f - --type=json -p {spec_finalizer_patch} -o json | \
    kubectl replace --raw /api/v1/namespaces/{namespace}/finalize -f -";

/// What uses the object, by its name.
pub(in crate::cause) const SEE_USER: Advice = Advice {
    otherwise: Some("kubectl describe {user}"),
    ..check("See what it is and what it reports")
        .run("kubectl describe {user} -n {user_namespace}")
        .if_known()
        .when(&[USED, USED_ELSEWHERE])
};
pub(in crate::cause) const UNUSED_LAST_RESORT: Advice = step(
    "Last resort, after you have seen that nothing in its own namespace uses it: remove this one finalizer; refused if \
        the object or its list has changed",
)
.run(TAKE_OFF)
.if_known()
.when(&[UNUSED, USED_ELSEWHERE]);

/// Where the object shows that nothing is lost.
pub(in crate::cause) const TAKE_OFF_FOR_NOTHING: Advice =
    step("Remove this one finalizer: nothing is left to clean up. Refused if the object or its list has changed")
        .run(TAKE_OFF)
        .if_known()
        .when(&[NOTHING]);

/// Where nothing will take it off.
pub(in crate::cause) const LAST_RESORT: Advice = step(
    "Last resort. Lost, if it was not cleaned up by hand before: {lost}. Remove this one finalizer; refused if the \
        object or its list has changed",
)
.run(TAKE_OFF)
.if_known()
.when(&[ABSENT, UNKNOWN, IN_SERVER, PENDING]);

/// The same where its controller cannot work any more, although it may exist.
pub(in crate::cause) const LAST_RESORT_ANYWAY: Advice = Advice { when: &[PENDING], ..LAST_RESORT };

/// The same of one that may have been deleted with what it served.
pub(in crate::cause) const HIDDEN_LAST_RESORT: Advice = Advice {
    when: &[HIDDEN, PENDING],
    ..step(
        "Last resort, only where {released_by} was deleted for good. Lost, if it was not cleaned up by hand before: {lost}. Remove \
            this one finalizer; refused if the object or its list has changed",
    )
    .run(TAKE_OFF)
    .if_known()
};

/// For a finalizer behind which nothing is left.
pub(in crate::cause) const ALL_OF_THEM: Danger = Danger::new(
    "Do not remove all finalizers at once (kubectl patch … finalizers: null)",
    "Each other one stands for a clean-up of its own, which is then skipped for good.",
);

pub(in crate::cause) const READ_CONFIGURATION: Advice = check("Read what the webhook is called for, and where")
    .run("kubectl get {configuration} -o yaml")
    .typed()
    .if_known();

pub(in crate::cause) const FINALIZE: Danger = Danger::new(
    "Do not empty spec.finalizers of the namespace (PUT /finalize)",
    "The objects that could not be deleted stay in etcd, and no client can remove them any more.",
);

pub(in crate::cause) const EMPTY_THE_NAMESPACE: Danger = Danger::new(
    "Do not empty spec.finalizers of the namespaces (PUT /finalize)",
    "The namespace is deleted and its objects stay in etcd. They cannot even be patched until a namespace of that name \
        exists again, and whatever they stand for outside of the cluster is never cleaned up.",
);

pub(in crate::cause) const CONTENT_BY_HAND: Danger = Danger::new(
    "Do not delete the objects by hand, or empty spec.finalizers (PUT /finalize)",
    "Nothing is wrong with the objects. What is removed by hand is not cleaned up, and an emptied namespace leaves its \
        objects in etcd.",
);

/// For every finalizer whose clean-up matters.
pub(in crate::cause) const BY_HAND: Danger = Danger::new(
    "Do not remove the finalizer by hand (kubectl patch … finalizers: null) before its clean-up is done",
    "The clean-up it stands for is skipped for good: cloud disks, load balancers, DNS records, accounts stay and cost \
        money, unknown to Kubernetes.",
);

/// For every cause whose steps let a stopped deletion continue.
pub(in crate::cause) const RESUMES: &str =
    "The deletion cannot be undone; it completes as soon as the controller works again";

pub(in crate::cause) const READ_LEASE: Advice = check("See whether the controller manager runs")
    .run("kubectl -n kube-system get lease kube-controller-manager -o yaml")
    .typed();

pub(in crate::cause) const WITHOUT_FOREGROUND: Danger =
    Danger::new("Do not remove foregroundDeletion", "The owner is deleted, and its dependents stay without one.");

impl Cause {
    /// What not to do in a case.
    pub(crate) fn danger_of(&self, facts: &Circumstances) -> &Danger {
        match facts.has(NOTHING) && self.danger.is_any_finalizer_by_hand() {
            true => &ALL_OF_THEM,
            false => &self.danger,
        }
    }

    /// What follows when the deletion continues, where a clean-up is still to be done.
    pub(crate) fn note_of(&self, facts: &Circumstances) -> Option<String> {
        (!self.note.is_empty() && facts.meet(&[PENDING])).then(|| self.note.to_owned())
    }

    /// Whether what it does when it continues depends on the finalizer.
    pub fn resumes_deletion(&self) -> bool {
        self.note == RESUMES
    }
}

impl Danger {
    /// Whether it is to take some finalizer off by hand: what that breaks depends on the finalizer.
    pub fn is_any_finalizer_by_hand(&self) -> bool {
        self.action == BY_HAND.action
    }
}

/// For every pod whose node has not let it go.
pub(in crate::cause) const FORCE: Danger = Danger::new(
    "Do not run kubectl delete pod --force",
    "It removes the object only. What still runs keeps running and what is mounted stays mounted, and a replacement \
        can write to the same data.",
)
.right_when("after the node's instance is confirmed terminated, or its process and mounts are confirmed gone");

/// The kubelet's log on any node: the API does not show its unit.
pub(in crate::cause) const KUBELET_JOURNAL: &str =
    "journalctl -u kubelet -u 'k3s*' -u 'k0s*' -u '*kubelite*' -u microshift -u edgecore --since -1h --no-pager";

#[cfg(test)]
mod tests {
    use crate::kubernetes_distribution::{DISTRIBUTIONS, is_unit};

    /// As `journalctl` matches it, which completes a name and no pattern.
    fn names(pattern: &str, unit: &str) -> bool {
        let Some(start) = pattern.strip_suffix('*') else { return is_unit(pattern, unit) };
        start.strip_prefix('*').map_or_else(|| unit.starts_with(start), |part| unit.contains(part))
    }

    #[test]
    fn the_journal_of_every_kubelet_is_read() {
        let patterns: Vec<&str> = super::KUBELET_JOURNAL
            .split(" -u ")
            .skip(1)
            .filter_map(|rest| rest.split(' ').next())
            .map(|pattern| pattern.trim_matches('\''))
            .collect();
        let writes_a_file = |of: &crate::kubernetes_distribution::Distribution| {
            of.rancher.is_some_and(|rancher| rancher.kubelet_log.is_some())
        };
        for unit in DISTRIBUTIONS.iter().filter(|of| !writes_a_file(of)).flat_map(|of| of.kubelets).map(|one| one.unit)
        {
            assert!(patterns.iter().any(|pattern| names(pattern, unit)), "{unit} is not among {patterns:?}");
        }
    }
}
