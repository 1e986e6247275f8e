//! What runs as a service account.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::finalizer_cause::MAX_REACTION_SECONDS;
use crate::rules::prelude::*;

/// More namespaces than these are cheaper to list all at once.
const MAX_NAMESPACES: usize = 5;

const HIDES: &str = "whether the controller runs";

/// A workload, or a pod that belongs to none of the known kinds: a bare one, or that of a ReplicaSet or a
/// ReplicationController.
#[derive(Clone)]
pub struct Runner<'a> {
    pub target: ObjectRef,
    /// As whom it runs.
    pub account: Account,
    /// The workload, if it is one.
    pub workload: Option<&'a Workload>,
    ready: i64,
    wanted: i64,
    /// Since when it is ready, as far as it says.
    ready_since: Option<Timestamp>,
}

/// How a runner stands, what is to be said first last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunnerState {
    /// It has a ready pod.
    Ready,
    /// It is scaled to 0.
    ScaledDown,
    /// It should run, and no pod of it is ready.
    NotReady,
}

impl<'a> Runner<'a> {
    pub fn workload(target: ObjectRef, object: &'a Workload) -> Self {
        let account = (target.namespace.clone().unwrap_or_default(), object.account().to_owned());
        let (ready, wanted) = (object.ready(), object.wanted());
        let ready_since = true_since(&object.status.conditions, "Available");
        Runner { target, account, workload: Some(object), ready, wanted, ready_since }
    }

    fn pod(pod: &Pod) -> Self {
        let namespace = pod.metadata.namespace.clone().unwrap_or_default();
        let is_ready = is_true(&pod.status.conditions, "Ready") || pod.runs();
        Runner {
            target: ObjectRef::pod(&namespace, &pod.metadata.name),
            account: (namespace, pod.spec.service_account_name.clone()),
            workload: None,
            ready: is_ready.into(),
            wanted: 1,
            ready_since: true_since(&pod.status.conditions, "Ready"),
        }
    }

    /// Whether it is set to watch other namespaces than that of the object.
    pub fn leaves_out(&self, target: &ObjectRef) -> bool {
        let namespace = target.namespace.as_deref();
        self.workload.zip(namespace).is_some_and(|(workload, namespace)| workload.leaves_out(namespace))
    }

    /// Since when, if it has only just become ready: what has waited for it is not finished at once.
    pub fn new_since(&self, lister: &Lister) -> Option<Timestamp> {
        self.ready_since.filter(|since| lister.seconds_since(*since).abs() < MAX_REACTION_SECONDS)
    }

    pub fn stands(&self) -> RunnerState {
        match (self.ready, self.wanted) {
            (1.., _) => RunnerState::Ready,
            (_, 0) => RunnerState::ScaledDown,
            _ => RunnerState::NotReady,
        }
    }

    /// The same in words.
    pub fn words(&self, lister: &Lister) -> String {
        match (self.workload, self.stands()) {
            (_, RunnerState::ScaledDown) => "scaled to 0".to_owned(),
            (Some(object), _) => {
                let too = if lister.is_going(&object.metadata) { ", and is itself being deleted" } else { "" };
                format!("{} of {} pods ready{too}", self.ready, self.wanted)
            }
            (None, RunnerState::Ready) => "a pod of no known workload, running".to_owned(),
            (None, _) => "a pod of no known workload, not ready".to_owned(),
        }
    }
}

fn true_since(conditions: &[Condition], kind: &str) -> Option<Timestamp> {
    condition(conditions, kind).filter(|condition| condition.status == "True")?.last_transition_time
}

/// Looks for what runs as one of `accounts`. Of those that matter most, the `foremost`, nothing is left out: the search
/// goes on until `is_found`.
pub fn find<'a>(
    case: &mut Case<'_, 'a>,
    accounts: &BTreeSet<Account>,
    foremost: &BTreeSet<&Account>,
    is_found: impl Fn(&[Runner]) -> bool,
) -> Vec<Runner<'a>> {
    let namespaces: BTreeSet<&String> = accounts.iter().map(|(namespace, _)| namespace).collect();
    let scopes = match namespaces.len() > MAX_NAMESPACES {
        true => vec![Scope::All],
        false => namespaces.into_iter().cloned().map(Scope::Namespace).collect::<Vec<_>>(),
    };
    let mut found: Vec<Runner> = Vec::new();
    for known in WORKLOADS {
        if case.diagnosis.pending || is_found(&found) {
            return found;
        }
        // Operators are Deployments, mostly. When each that matters has one and none is ready, one list of pods says
        // whether anything else is worth looking for.
        if foremost.iter().all(|account| found.iter().any(|one| one.account == **account)) {
            let more = others(case, accounts, &scopes, &found);
            if case.diagnosis.pending || more.is_some_and(|more| more.is_empty()) {
                return found;
            }
        }
        let answers = scopes.iter().map(|scope| case.lister.list::<Workload>(known, scope.clone())).collect::<Vec<_>>();
        let see = |answer| case.diagnosis.required(known.plural, HIDES, answer).unwrap_or_default();
        for workload in answers.into_iter().flat_map(see) {
            let namespace = workload.metadata.namespace.as_deref().unwrap_or_default();
            let runner = Runner::workload(ObjectRef::namespaced(known, namespace, &workload.metadata.name), workload);
            if accounts.contains(&runner.account) {
                found.push(runner);
            }
        }
    }
    if !is_found(&found) && !case.diagnosis.pending {
        let pods = others(case, accounts, &scopes, &found).into_iter().flatten();
        // What a workload of the account runs is the workload's.
        let is_idle = |account: &Account| {
            found.iter().all(|one| one.account != *account || one.stands() == RunnerState::ScaledDown)
        };
        let idle: Vec<Runner> = pods.filter(|pod| is_idle(&pod.account)).collect();
        found.retain(|one| !idle.iter().any(|pod| pod.account == one.account));
        found.extend(idle);
    }
    found
}

/// Pods of these accounts that belong to none of `found`; `None` when they are not visible. The pods of a whole
/// cluster are not asked for.
fn others<'a>(
    case: &mut Case<'_, 'a>,
    accounts: &BTreeSet<Account>,
    scopes: &[Scope],
    found: &[Runner],
) -> Option<Vec<Runner<'a>>> {
    let mut more = Vec::new();
    for scope in scopes {
        if !matches!(scope, Scope::Namespace(_)) {
            return None;
        }
        let pods = match case.lister.list::<Pod>(known::PODS, scope.clone()) {
            Answer::Seen(pods) => pods,
            Answer::Unasked => {
                case.diagnosis.pending = true;
                continue;
            }
            Answer::Missing | Answer::Failed(_) => return None,
        };
        for pod in pods.into_iter().filter(|pod| !matches!(pod.status.phase.as_str(), "Succeeded" | "Failed")) {
            let mut runner = Runner::pod(pod);
            if runner.account.1.is_empty() {
                runner.account.1 = "default".to_owned();
            }
            let belongs = |one: &Runner| {
                let owner = pod.metadata.owner_references.first();
                one.account == runner.account && owner.is_some_and(|owner| is_of(&owner.name, &one.target.name))
            };
            if accounts.contains(&runner.account) && !found.iter().any(belongs) {
                more.push(runner);
            }
        }
    }
    Some(more)
}

/// Whether an owner is this workload, or the ReplicaSet that a Deployment made: `<deployment>-<hash>`.
fn is_of(owner: &str, workload: &str) -> bool {
    owner == workload || owner.rsplit_once('-').is_some_and(|(name, _)| name == workload)
}
