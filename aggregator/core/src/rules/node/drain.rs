//! Why a node does not drain: which pods are left on it, and what keeps each of them from being evicted.

use std::collections::{BTreeMap, BTreeSet};

use super::drainer::{CORDONED, Drainer, KARPENTERS, drainer};
use super::karpenter_termination::Termination;
use super::tolerations::{came_back, evicted_at, is_drained, is_given_up};
use crate::diagnosis::MIN_AGE_SECONDS;
use crate::messages::quote;
use crate::rules::phrases::{count, lasting, some, within};
use crate::rules::prelude::*;
use crate::rules::webhook::Request;
use crate::rules::{control_plane, data_at_risk, object_reports, webhook};

/// More namespaces than these are cheaper to list all at once.
const MAX_NAMESPACES: usize = 5;
/// More names of pods are counted.
const MAX_NAMES: usize = 5;
/// More claims of pods are not looked up.
const MAX_CLAIMS: usize = 20;

const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";
const SAFE_TO_EVICT: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";
/// Whether this finalizer of a Node waits for the drain and for nothing else that is reported here.
pub fn waits_for_drain(finalizer: &str) -> bool {
    finalizer == KARPENTERS
}

/// Why a pod is still there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Left {
    /// Without the flags for these `kubectl drain` evicts no pod at all, so they come first.
    Unmanaged,
    LocalData,
    Budget {
        namespace: String,
        name: String,
    },
    Budgets {
        namespace: String,
        names: Vec<String>,
    },
    Declines {
        annotation: &'static str,
        namespace: String,
    },
    Returns {
        taint: String,
    },
    NotAsked,
}

/// What keeps a node that is being emptied from being empty; each cause begins at the node. Pods that go already are
/// waited for.
pub fn explain(case: &mut Case, target: &ObjectRef, node: &Node) -> Vec<RootCause> {
    let assumed = case.lister.is_before().then_some(Drainer::Cordoned);
    let Some(by) = drainer(node).or(assumed) else { return Vec::new() };
    by_whom(case, target, node, by)
}

/// The same of a node whose Machine is being deleted. Cluster API evicts a pod whatever it has in an emptyDir and whatever
/// controller it has (cluster-api: internal/controllers/machine/drain/drain.go).
pub fn explain_machine(case: &mut Case, target: &ObjectRef, node: &Node) -> Vec<RootCause> {
    match drainer(node) {
        Some(Drainer::Cordoned) => by_whom(case, target, node, Drainer::ClusterApi),
        _ => explain(case, target, node),
    }
}

/// Names the Machine whose drain may be skipped.
pub fn skippable(root: RootCause, machine: &ObjectRef) -> RootCause {
    let is_machine = machine.resource.group == "cluster.x-k8s.io" && machine.resource.plural == "machines";
    let named = Some(machine).filter(|_| is_machine);
    root.name_if(Placeholder::User, named.map(ObjectRef::typed_name))
        .name_if(Placeholder::UserNamespace, named.and_then(|machine| machine.namespace.as_deref()))
}

/// The pods that a drain of the node evicts.
pub fn evicted<'a>(case: &mut Case<'_, 'a>, target: &ObjectRef) -> Vec<&'a Pod> {
    let answer = case.lister.get::<Node>(known::NODES, None, &target.name);
    let Some(node) = case.diagnosis.silently(answer) else { return Vec::new() };
    let by = drainer(node).unwrap_or(Drainer::Cordoned);
    let pods = case.diagnosis.silently(case.lister.pods_on(&target.name)).unwrap_or_default();
    pods.into_iter().filter(|pod| is_drained(pod, by, node)).collect()
}

fn by_whom(case: &mut Case, target: &ObjectRef, node: &Node, by: Drainer) -> Vec<RootCause> {
    let answer = case.lister.pods_on(&target.name);
    let Some(pods) = case.diagnosis.required(format!("pods of {target}"), "which pods are left on it", answer) else {
        return Vec::new();
    };
    let is_waited_for = |pod: &&Pod| is_drained(pod, by, node) && !is_given_up(pod, by, case.lister);
    let (waited_for, passed_over): (Vec<&Pod>, Vec<&Pod>) = pods.into_iter().partition(is_waited_for);
    let (going, staying): (Vec<&Pod>, Vec<&Pod>) =
        waited_for.into_iter().partition(|pod| pod.metadata.deletion_timestamp.is_some());
    data_at_risk::note_disks_behind(case, staying.iter().chain(&going).copied());
    given_up(case, target, by, &passed_over);
    // The pods of a node that is not well wait for the node.
    if is_true(&node.status.conditions, "Ready") && !super::is_frozen(case, node) {
        for pod in &going {
            case.diagnosis
                .wait_for(ObjectRef::pod(pod.metadata.namespace.as_deref().unwrap_or_default(), &pod.metadata.name));
        }
    }
    let (later, staying): (Vec<&Pod>, Vec<&Pod>) =
        staying.into_iter().partition(|pod| evicted_at(pod, node, case.lister.now()).is_some());
    for (pod, at) in later.iter().filter_map(|pod| Some((pod, evicted_at(pod, node, case.lister.now())?))) {
        let pod = ObjectRef::pod(pod.metadata.namespace.as_deref().unwrap_or_default(), &pod.metadata.name);
        case.diagnosis.note(format!(
            "{pod} tolerates the NoExecute taint of {target} until about {at} (tolerationSeconds); it is evicted then."
        ));
    }
    if staying.is_empty() {
        if by == Drainer::Karpenter && going.is_empty() {
            attachments(case, target, &passed_over);
        }
        return Vec::new();
    }
    let before = case.diagnosis.unknown.len();
    let termination = Termination::read(case, node, by);
    let budgets = budgets(case, &staying);
    if case.diagnosis.pending || case.diagnosis.unknown.len() > before {
        return Vec::new();
    }
    let mut left: BTreeMap<Left, Vec<&Pod>> = BTreeMap::new();
    for pod in staying.into_iter().filter(|pod| !termination.is_over_for(pod, case.lister)) {
        left.entry(why(pod, by, node, &budgets)).or_default().push(pod);
    }
    let drained = DrainedNode { lister: case.lister, target, node, by, termination };
    let mut root = match left.remove(&Left::NotAsked) {
        Some(pods) => drained.refused(case, pods, &mut left),
        None => Vec::new(),
    };
    if left.contains_key(&Left::Unmanaged) || left.contains_key(&Left::LocalData) {
        left.remove(&Left::NotAsked);
    }
    root.extend(left.iter().map(|(why, pods)| drained.limited(why, drained.found(case, why, pods, &budgets))));
    root
}

fn pods_step(pods: &[&Pod], words: &str) -> Step {
    let names = names(pods);
    Step::named(format!("{} on it", count(names.len(), "pod")), format!("{words}: {}", some(&names, MAX_NAMES)))
}

fn names(pods: &[&Pod]) -> Vec<String> {
    let name = |pod: &&Pod| format!("{}/{}", pod.metadata.namespace.as_deref().unwrap_or_default(), pod.metadata.name);
    pods.iter().map(name).collect()
}

fn budgets<'a>(case: &mut Case<'_, 'a>, pods: &[&Pod]) -> Vec<&'a Budget> {
    let namespaces: BTreeSet<&str> = pods.iter().filter_map(|pod| pod.metadata.namespace.as_deref()).collect();
    let scopes: Vec<Scope> = match namespaces.len() > MAX_NAMESPACES {
        true => vec![Scope::All],
        false => namespaces.into_iter().map(within).collect(),
    };
    let answers: Vec<_> = scopes.into_iter().map(|scope| case.lister.list::<Budget>(known::BUDGETS, scope)).collect();
    let hides = "whether their eviction is allowed";
    answers
        .into_iter()
        .flat_map(|all| case.diagnosis.required(known::BUDGETS.plural, hides, all).unwrap_or_default())
        .collect()
}

fn why(pod: &Pod, by: Drainer, node: &Node, budgets: &[&Budget]) -> Left {
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    let annotated = |name: &str, value: &str| pod.metadata.annotations.get(name).is_some_and(|it| it == value);
    let declines = match by {
        Drainer::Karpenter if annotated(DO_NOT_DISRUPT, "true") => Some(DO_NOT_DISRUPT),
        Drainer::ClusterAutoscaler if annotated(SAFE_TO_EVICT, "false") => Some(SAFE_TO_EVICT),
        _ => None,
    };
    if let Some(annotation) = declines {
        return Left::Declines { annotation, namespace };
    }
    let is_own = |one: &&&Budget| one.metadata.namespace == pod.metadata.namespace && one.selects(&pod.metadata.labels);
    let own: Vec<&&Budget> = budgets.iter().filter(is_own).collect();
    // One that has not started may always go.
    let runs = pod.status.phase != "Pending";
    let is_ready = is_true(&pod.status.conditions, "Ready");
    match own.as_slice() {
        [_, _, ..] if runs => {
            let names = own.iter().map(|one| one.metadata.name.clone()).collect();
            return Left::Budgets { namespace, names };
        }
        [only] if runs && only.refuses(is_ready) => {
            return Left::Budget { namespace, name: only.metadata.name.clone() };
        }
        _ => {}
    }
    let is_managed = pod.metadata.owner_references.iter().any(|owner| owner.controller);
    match (by, came_back(pod, node)) {
        (_, Some(taint)) if is_managed => return Left::Returns { taint: taint.key.clone() },
        _ => {}
    }
    match by {
        Drainer::Cordoned if !is_managed => Left::Unmanaged,
        Drainer::Cordoned if pod.spec.volumes.iter().any(|volume| volume.empty_dir.is_some()) => Left::LocalData,
        _ => Left::NotAsked,
    }
}

struct DrainedNode<'c, 'l> {
    lister: &'c Lister<'l>,
    target: &'c ObjectRef,
    node: &'c Node,
    by: Drainer,
    termination: Termination,
}

impl DrainedNode<'_, '_> {
    /// With what its NodeClaim says of how long that lasts.
    fn limited(&self, why: &Left, root: RootCause) -> RootCause {
        match &self.termination {
            Termination::At(at, claim) => {
                let says =
                    format!("{TERMINATES_AT}: {at}; by then it deletes pods whatever budgets and annotations say");
                root.evidence(claim.to_string(), says).progressing()
            }
            // Of one without an eviction request, more is missing.
            Termination::NotSeen(claim) if *why != Left::NotAsked => root.probable(format!(
                "whether Karpenter deletes these pods at some time without asking: {claim} says that, and was not seen"
            )),
            Termination::NotSeen(_) | Termination::Unlimited => root,
        }
    }

    fn found(&self, case: &mut Case, why: &Left, pods: &[&Pod], budgets: &[&Budget]) -> RootCause {
        let names = names(pods);
        let pods_step = |words: &str| pods_step(pods, words);
        match why {
            Left::Budget { namespace, name } => {
                let shown = ObjectRef::namespaced(known::BUDGETS, namespace, name);
                let budget = budgets.iter().find(|one| {
                    one.metadata.name == *name && one.metadata.namespace.as_deref() == Some(namespace.as_str())
                });
                let program = budget.and_then(|budget| program(budget, pods));
                let words = budget.map_or(String::new(), |budget| self.budget_words(case, budget, program));
                let left =
                    [Step::about(self.target, self.state().0), pods_step("not evicted"), Step::about(&shown, &words)];
                let is_uncounted = budget.is_some_and(|budget| !budget.is_counted());
                let silent = is_uncounted.then(|| control_plane::silent(case, self.target)).flatten();
                if let Some(silent) = silent {
                    return left.into_iter().rev().fold(silent, RootCause::under);
                }
                let workload = program.is_none().then(|| self.workload(case, pods)).flatten();
                let fact = budget.map(|budget| why_none(budget, program.is_some()));
                let root = self.below(&cause::DRAIN_BUDGET_ALLOWS_NONE, &shown);
                let root = fact.into_iter().fold(root, |root, fact| root.given(Circumstance::Budget(fact)));
                let is_unready = |pod: &&&Pod| !is_true(&pod.status.conditions, "Ready");
                let unready = pods.iter().find(is_unready).map(|pod| pod.metadata.name.as_str());
                root.name_if(Placeholder::Workload, workload)
                    .name_if(Placeholder::Pod, unready)
                    .step(pods_step("not evicted"))
                    .step(Step::about(&shown, &words))
                    .evidence(format!("status of {shown}"), words)
            }
            Left::Budgets { namespace, names } => {
                let words = "select the same pod: the API server evicts none that several select";
                let first = names.first().map_or("", String::as_str);
                self.below(&cause::DRAIN_BUDGET_ALLOWS_NONE, &ObjectRef::namespaced(known::BUDGETS, namespace, first))
                    .given(Circumstance::Budget(findings::Budget::Several))
                    .same_as(format!("{namespace}:{}", names.join(",")))
                    .name(Placeholder::Namespace, namespace)
                    .step(pods_step("not evicted"))
                    .step(Step::named(format!("PodDisruptionBudgets {} of {namespace}", names.join(" and ")), words))
            }
            Left::Declines { annotation, namespace } => {
                let words = format!("has the annotation {annotation}, and is left alone for it");
                self.below(&cause::DRAIN_POD_DECLINES, self.target)
                    .name(Placeholder::Namespace, namespace)
                    .step(pods_step(&words))
                    .evidence(names.join(", "), format!("annotation {annotation}"))
            }
            Left::Returns { taint } => {
                let words = format!("scheduled to it after it had the taint {taint}:NoSchedule, which they tolerate");
                self.below(&cause::DRAIN_POD_RETURNS, self.target)
                    .name_if(Placeholder::Namespace, pods.first().and_then(|pod| pod.metadata.namespace.as_deref()))
                    .step(pods_step(&words))
                    .evidence(names.join(", "), format!("created after the taint, with a toleration of {taint}"))
            }
            Left::Unmanaged => self.consent(pods_step(
                "no controller would create it again; without --force kubectl drain evicts no pod of the node",
            )),
            Left::LocalData => self.consent(pods_step(
                "data in an emptyDir would be lost; without --delete-emptydir-data kubectl drain evicts no pod of the node",
            )),
            Left::NotAsked => {
                let said = object_reports::read(case, self.target, &self.node.metadata);
                let root = self
                    .below(&cause::DRAIN_NOT_ISSUED, self.target)
                    .step(pods_step("not evicted, although no budget and no annotation forbids it"));
                let root = said.iter().take(3).fold(root, |root, one| root.evidence(&one.source, &one.says));
                let root = root.probable(
                    "that no eviction was requested: a request leaves no trace until it is \
                    granted",
                );
                match self.by {
                    Drainer::ClusterApi => {
                        root.probable("whether a MachineDrainRule leaves these pods, or orders them last")
                    }
                    _ => root,
                }
            }
        }
    }

    /// Whose eviction a webhook refuses that cannot be called: it is asked about the Eviction, which has no labels. The
    /// others stay `left`.
    fn refused<'p>(
        &self,
        case: &mut Case,
        pods: Vec<&'p Pod>,
        left: &mut BTreeMap<Left, Vec<&'p Pod>>,
    ) -> Vec<RootCause> {
        let (known, labels) = (case.diagnosis.causes.len(), Texts::default());
        let mut asked = BTreeMap::new();
        let (refused, free): (Vec<&Pod>, Vec<&Pod>) = pods.into_iter().partition(|pod| {
            let namespace = pod.metadata.namespace.as_deref();
            let (operation, resource) = ("CREATE", "pods/eviction");
            let eviction =
                Request { operation, group: "", version: "v1", resource, name: "", namespace, labels: &labels };
            *asked.entry(namespace).or_insert_with(|| webhook::refuses(case, &[eviction]))
        });
        if !free.is_empty() {
            left.insert(Left::NotAsked, free);
        }
        let above = |root: RootCause| {
            let root = root.under(pods_step(&refused, "not evicted")).under(Step::about(self.target, self.state().0));
            self.limited(&Left::NotAsked, root)
        };
        case.diagnosis.causes.split_off(known).into_iter().map(above).collect()
    }

    fn consent(&self, step: Step) -> RootCause {
        self.below(&cause::DRAIN_NEEDS_CONSENT, self.target)
            .step(step)
            .probable("that it is being drained, and with which flags: cordoning alone evicts nothing")
    }

    fn below(&self, cause: &'static Cause, object: &ObjectRef) -> RootCause {
        let (words, since) = self.state();
        let root = RootCause::below(cause, object)
            .name(Placeholder::Node, &self.target.name)
            .evidence(self.target.to_string(), &words)
            .step(Step::about(self.target, &words));
        match since.is_some_and(|since| self.lister.seconds_since(since) < MIN_AGE_SECONDS) {
            true => root.progressing(),
            false => root,
        }
    }

    /// Who empties it, and since when.
    fn state(&self) -> (String, Option<jiff::Timestamp>) {
        let added = |prefix: &str| {
            let taints = self.node.spec.taints.iter().filter(|taint| taint.key.starts_with(prefix));
            taints.filter_map(|taint| taint.time_added).min()
        };
        let (who, since) = match self.by {
            Drainer::Karpenter => ("Karpenter should empty it", added("karpenter.sh/")),
            Drainer::ClusterAutoscaler => ("the cluster autoscaler should empty it", added("ToBeDeleted")),
            Drainer::ClusterApi => ("Cluster API should empty it", added(CORDONED)),
            Drainer::Cordoned if drainer(self.node).is_none() => ("once it is drained", None),
            Drainer::Cordoned => ("cordoned", added(CORDONED)),
        };
        let since = since.or(self.node.metadata.deletion_timestamp);
        let until = match &self.termination {
            Termination::At(at, _) => format!("; it deletes what is left by {at}"),
            Termination::NotSeen(_) | Termination::Unlimited => String::new(),
        };
        (format!("{who}{}{until}", lasting(self.lister, since)), since)
    }

    fn budget_words(&self, case: &mut Case, budget: &Budget, program: Option<&Owner>) -> String {
        let BudgetStatus { current_healthy, desired_healthy, expected_pods, conditions, .. } = &budget.status;
        let failed = condition(conditions, "DisruptionAllowed").filter(|one| one.reason == "SyncFailed");
        if let Some(failed) = failed {
            return format!("allows 0 disruptions: {}", quote(&failed.message, 200));
        }
        if !budget.is_counted() {
            let since = if budget.is_outdated() { "since it was changed" } else { "yet" };
            return format!("allows 0 disruptions: its status is not computed {since}");
        }
        let now =
            format!("{current_healthy} of {} healthy", count(usize::try_from(*expected_pods).unwrap_or(0), "pod"));
        if *expected_pods > 0 && desired_healthy >= expected_pods && current_healthy >= desired_healthy {
            let (never, whose) = match (program, &self.termination) {
                (Some(owner), _) => ("", format!("; {} {} looks after it", owner.kind, owner.name)),
                (None, Termination::Unlimited) => (", and never will", String::new()),
                (None, Termination::At(..) | Termination::NotSeen(_)) => ("", String::new()),
            };
            return format!(
                "allows 0 disruptions{never}: it wants {desired_healthy}, and {now} is all there is{whose}"
            );
        }
        let words = format!("allows 0 disruptions: it wants {desired_healthy}, and {now}");
        let unready = if current_healthy <= desired_healthy { self.unready(case, budget) } else { Vec::new() };
        match unready.is_empty() {
            true => words,
            false => format!("{words}; not ready: {}", some(&unready, MAX_NAMES)),
        }
    }

    /// What has replicas: the Deployment of the ReplicaSet that the pods are of.
    fn workload(&self, case: &mut Case, pods: &[&Pod]) -> Option<String> {
        let of = |meta: &'_ Meta| meta.owner_references.iter().find(|it| it.controller).cloned();
        let (namespace, owner) = pods.iter().find_map(|pod| Some((&pod.metadata.namespace, of(&pod.metadata)?)))?;
        let above = (owner.kind == "ReplicaSet").then(|| {
            let resource = Resource::new("apps", "v1", "replicasets");
            case.diagnosis.silently(case.lister.object(&resource, namespace.as_deref(), &owner.name))
        });
        let owner = above.flatten().and_then(|set| of(&set.metadata)).unwrap_or(owner);
        Some(format!("{}/{}", owner.kind, owner.name))
    }

    /// Pods of the budget that are not ready.
    fn unready(&self, case: &mut Case, budget: &Budget) -> Vec<String> {
        let (Some(selector), Some(namespace)) = (&budget.spec.selector, &budget.metadata.namespace) else {
            return Vec::new();
        };
        let labels: Vec<String> = selector.match_labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        if labels.is_empty() {
            return Vec::new();
        }
        let answer = case.lister.select::<Pod>(known::PODS, within(namespace), Select::Labels(labels.join(",")));
        let pods =
            case.diagnosis.optional("pods of the budget", "which of them are not ready", answer).unwrap_or_default();
        let unready = pods.into_iter().filter(|pod| {
            selector.matches(&pod.metadata.labels)
                && pod.status.phase != "Succeeded"
                && !is_true(&pod.status.conditions, "Ready")
        });
        unready.map(|pod| pod.metadata.name.clone()).collect()
    }
}

/// Why it allows no eviction.
pub fn why_none(budget: &Budget, is_of_program: bool) -> findings::Budget {
    let BudgetStatus { current_healthy, desired_healthy, expected_pods, .. } = budget.status;
    match () {
        () if is_of_program => findings::Budget::OfProgram,
        () if !budget.is_counted() => findings::Budget::NotCounted,
        () if current_healthy < desired_healthy => match desired_healthy >= expected_pods {
            true => findings::Budget::TooFewReadyOfAll,
            false => findings::Budget::TooFewReady,
        },
        () if budget.never_allows() => findings::Budget::NoneUnavailable,
        () if desired_healthy >= expected_pods => findings::Budget::All,
        () => findings::Budget::TooFewReady,
    }
}

/// The program's object that the budget or its pods belong to: it may keep such a budget only while an eviction would lose
/// data, and take it away by itself.
pub fn program<'a>(budget: &'a Budget, pods: &[&'a Pod]) -> Option<&'a Owner> {
    let is_foreign = |owner: &&Owner| owner.controller && owner.group_version().0.contains('.');
    let of_budget = budget.metadata.owner_references.iter().find(|owner| owner.controller);
    of_budget.or_else(|| pods.iter().flat_map(|pod| &pod.metadata.owner_references).find(is_foreign))
}

fn given_up(case: &mut Case, target: &ObjectRef, by: Drainer, pods: &[&Pod]) {
    let given_up: Vec<&Pod> = pods.iter().copied().filter(|pod| is_given_up(pod, by, case.lister)).collect();
    let names = names(&given_up);
    if !names.is_empty() {
        case.diagnosis.note(format!(
            "Karpenter does not wait for a pod that should have ended more than a minute ago, so these do not hold {target}: \
             {}.",
            some(&names, MAX_NAMES)
        ));
    }
}

/// What is left once the pods are gone: Karpenter waits until their volumes are detached, but for those of pods that
/// it does not wait for (karpenter: pkg/controllers/node/termination/controller.go, `filterVolumeAttachments`).
fn attachments(case: &mut Case, target: &ObjectRef, passed_over: &[&Pod]) {
    let answer = case.lister.list::<Attachment>(known::ATTACHMENTS, Scope::All);
    let all =
        case.diagnosis.optional("volumeattachments", "which volumes are still attached", answer).unwrap_or_default();
    let here: Vec<&Attachment> = all.into_iter().filter(|one| one.spec.node_name == target.name).collect();
    if here.is_empty() {
        return;
    }
    let spared = volumes(case, passed_over);
    for one in here {
        let volume = one.spec.source.persistent_volume_name.as_str();
        if spared.contains(volume) {
            continue;
        }
        let shown = ObjectRef::cluster_wide(known::ATTACHMENTS, &one.metadata.name);
        match one.metadata.deletion_timestamp {
            Some(_) => case.diagnosis.wait_for(shown),
            None => case.diagnosis.also_waits(format!("{shown} is still attached to {target}")),
        }
    }
}

/// The PersistentVolumes of these pods.
fn volumes<'a>(case: &mut Case<'_, 'a>, pods: &[&Pod]) -> BTreeSet<&'a str> {
    let claims = pods.iter().flat_map(|pod| pod.claims().into_iter().map(move |claim| (pod, claim)));
    let get = |(pod, name): (&&Pod, String)| {
        case.lister.get::<Claim>(known::CLAIMS, Some(pod.metadata.namespace.as_deref().unwrap_or_default()), &name)
    };
    let claims = claims.take(MAX_CLAIMS).filter_map(|claim| case.diagnosis.silently(get(claim)));
    claims.map(|claim| claim.spec.volume_name.as_str()).filter(|name| !name.is_empty()).collect()
}
