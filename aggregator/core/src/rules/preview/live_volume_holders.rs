//! Who holds the volumes of what runs, as the agents of the nodes say when they are asked now.

use super::MAX_NAMES;
use crate::rules::node::drain;
use crate::rules::phrases::{count, some, within};
use crate::rules::prelude::*;
use crate::rules::{agent, agent::Holders};

/// Each question is a search through the processes of a node.
pub const MAX_QUERIES: usize = 10;

/// Asks about the pods that run and would be deleted, or that use the volume that would be.
pub fn explain(case: &mut Case, target: &ObjectRef) {
    // Which pods there are must be known first: of many only some are asked about.
    if !case.lister.asks_live() || case.diagnosis.missing || case.diagnosis.pending {
        return;
    }
    let pods = running(case, target);
    if case.diagnosis.pending {
        return;
    }
    let (mut free, mut others) = (Vec::new(), Vec::new());
    for (at, pod) in pods.iter().enumerate() {
        let shown = format!("{}/{}", pod.metadata.namespace.as_deref().unwrap_or_default(), pod.metadata.name);
        let held = if at < MAX_QUERIES { agent::would_hold(case, pod) } else { Holders::NotTold };
        match held {
            Holders::Known(causes) if causes.is_empty() => free.push(shown),
            Holders::Known(causes) => case.diagnosis.causes.extend(causes),
            Holders::NotTold => others.push(shown),
        }
    }
    if case.diagnosis.pending {
        return;
    }
    if pods.is_empty() {
        case.diagnosis
            .note(format!("No agent was queried: no running pod would be deleted with {target}, and none uses it."));
    }
    if !free.is_empty() {
        case.diagnosis.note(format!(
            "Queried now, the agents name no process outside of these pods that holds one of their volumes: {}.",
            some(&free, MAX_NAMES)
        ));
    }
    if !others.is_empty() {
        case.diagnosis.note(format!(
            "The agents answered now for {} of {}. Nothing is known about: {}. At most {MAX_QUERIES} are queried; for \
             one: kubectl why-terminating --before --live pod/NAME -n NAMESPACE",
            pods.len() - others.len(),
            count(pods.len(), "running pod"),
            some(&others, MAX_NAMES)
        ));
    }
}

/// Those with claims first: their volumes are what another process may hold.
fn running<'a>(case: &mut Case<'_, 'a>, target: &ObjectRef) -> Vec<&'a Pod> {
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let pods: Vec<&Pod> = match () {
        () if target.is(known::NODES) => drain::evicted(case, target),
        () if target.is(known::CLAIMS) => {
            let answer = case.lister.get::<Claim>(known::CLAIMS, Some(namespace), &target.name);
            let Some(claim) = case.diagnosis.silently(answer) else { return Vec::new() };
            let all =
                case.diagnosis.silently(case.lister.list::<Pod>(known::PODS, within(namespace))).unwrap_or_default();
            all.into_iter().filter(|pod| pod.holds(&claim.metadata)).collect()
        }
        () => {
            let is_pod = |one: &&ObjectRef| one.is(known::PODS);
            let named: Vec<ObjectRef> =
                [target].into_iter().chain(&case.diagnosis.waits_for).filter(is_pod).cloned().collect();
            let get = |one: &ObjectRef| case.lister.get::<Pod>(known::PODS, one.namespace.as_deref(), &one.name);
            named.iter().filter_map(|one| case.diagnosis.silently(get(one))).collect()
        }
    };
    let was_deleted = |pod: &Pod| pod.metadata.deletion_timestamp.is_some_and(|at| at < case.lister.now());
    let runs = |pod: &&Pod| !pod.spec.node_name.is_empty() && !pod.has_ended() && !was_deleted(pod);
    let (mut first, last): (Vec<&Pod>, Vec<&Pod>) =
        pods.into_iter().filter(runs).partition(|pod| !pod.claims().is_empty());
    first.extend(last);
    first
}
