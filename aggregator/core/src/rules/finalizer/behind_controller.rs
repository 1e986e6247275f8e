//! What keeps a controller that runs, or is unknown, from removing a finalizer.

use findings::{Existence, Verdict, Words};

use super::blocking_finalizer::BlockingFinalizer;
use super::controller_reports::{self, Led};
use super::dependents;
use super::grouping;
use super::mentioned;
use super::parts;
use super::paused;
use super::referenced_objects::LAST_STEP;
use crate::rules::admission_policy;
use crate::rules::leads::Repair;
use crate::rules::phrases::{Quote, within};
use crate::rules::prelude::*;
use crate::rules::webhook::{self, Request};

/// More policies and webhooks are not shown.
const MAX_ASKED: usize = 4;

/// What lies behind a controller that runs or is unknown: parts that are being deleted, what it made for the clean-up and
/// fails, what the object's words name, what uses it or is gone. Nothing when `diagnosis` says what it is, or an answer is out.
pub fn find(case: &mut Case, blocking: &BlockingFinalizer, mut found: RootCause) -> Option<RootCause> {
    if let Some(root) = paused::explain(blocking, &found) {
        return Some(root);
    }
    let before = case.diagnosis.waits_for.len();
    for (quote, explains) in mentioned::read(case, blocking) {
        let words = explains.then(|| quote.1.clone());
        found = controller_reports::add_words(found.with_evidence([quote]), words);
    }
    parts::wait_for(case, blocking.target, blocking.meta);
    if case.diagnosis.pending || case.diagnosis.waits_for.len() > before {
        return None;
    }
    let need = parts::failing_clean_up(case, blocking.target, blocking.meta);
    if case.diagnosis.pending || need.is_some() {
        return need.map(|need| need.root(case, blocking, found));
    }
    if let Some(says) = without_job(case, blocking) {
        let found = found.instead(&cause::FINALIZER_CONTROLLER_BLOCKED).evidence(blocking.target.to_string(), &says);
        let found = controller_reports::add_words(found, Some(says));
        return Some(found.probable("that its controller has not cleaned up in another way"));
    }
    let found = lead_on(case, blocking, found)?;
    if !blocking.is_custom() || case.diagnosis.pending {
        return Some(grouping::keyed(blocking, found));
    }
    let need = dependents::failing_clean_up(case, blocking);
    let need = need.or_else(|| parts::gone(case, blocking.target, blocking.meta));
    if let Some(need) = need {
        return Some(need.root(case, blocking, found));
    }
    let used = dependents::used(case, blocking, &found);
    Some(used.unwrap_or_else(|| grouping::keyed(blocking, found)))
}

/// Why its controller cannot create the Job by which it cleans up, where there is none yet.
fn without_job(case: &mut Case, blocking: &BlockingFinalizer) -> Option<String> {
    let namespace = blocking.known.filter(|known| known.by_job).and(blocking.target.namespace.as_deref())?;
    if !case.lister.is_namespace_terminating(namespace) {
        return None;
    }
    let jobs = case.diagnosis.silently(case.lister.list::<Job>(known::JOBS, within(namespace)))?;
    let is_there = jobs.iter().any(|job| job.metadata.name.contains(&blocking.target.name));
    (!is_there).then(|| {
        format!(
            "its controller cleans up by a Job, and nothing new can be created in {namespace}, which is being deleted"
        )
    })
}

/// A controller that runs, or is unknown, is no more than a link where the object's own words name what is in its way: the
/// chain goes on there. Nothing when `diagnosis` says what that is.
fn lead_on(case: &mut Case, blocking: &BlockingFinalizer, found: RootCause) -> Option<RootCause> {
    let first = case.diagnosis.causes.len();
    match controller_reports::follow_leads(case, blocking.target, blocking.meta) {
        Led::Nowhere => {
            let found = match controller_reports::names_budget(case, blocking.target, blocking.meta) {
                true => found.given(Circumstance::RemoteBudget(Existence::Present)),
                false => found,
            };
            let update = Request::about(blocking.target, blocking.meta, "UPDATE");
            let policies = admission_policy::evaluated(case, update).into_iter().take(MAX_ASKED);
            let says =
                "evaluated for each update of the object: its expressions may refuse to let the finalizer be removed";
            let mut asked: Vec<Quote> = policies.map(|(policy, _)| (policy.to_string(), says.to_owned())).collect();
            asked.extend(webhook::witnesses(case, update).into_iter().take(MAX_ASKED));
            let admission = if asked.is_empty() { Existence::Gone } else { Existence::Present };
            return Some(found.given(Circumstance::Admission(admission)).with_evidence(asked));
        }
        Led::Repaired(Repair { name, how, .. }) => {
            let mut found = found.given(Circumstance::Words(Words::Refuted));
            if let Some(last) = found.steps.last_mut() {
                last.words = format!("{}; {name} {how}", last.words);
            }
            return Some(found);
        }
        Led::Claimed(_) if found.verdict != Verdict::Stuck => return Some(found),
        Led::Claimed(root) => case.diagnosis.causes.push(*root),
        Led::Further => {}
    }
    let missing = "that this alone keeps its controller from finishing: the object's own words lead there";
    for root in case.diagnosis.causes.iter_mut().skip(first) {
        let links = found.steps.iter().rev().fold(root.clone(), |root, step| root.under(step.clone()));
        let known = root.draft.evidence.clone();
        let evidence = found.draft.evidence.iter().filter(|one| !known.contains(one));
        let evidence = evidence.map(|one| (&one.source, &one.says));
        let links = links.in_place_of_own().with_evidence(evidence);
        // Where nothing brings back what is missing, its steps end with this one finalizer.
        let links = LAST_STEP.into_iter().fold(links, |links, value| links.name_if(value, found.value(value)));
        *root = if links.draft.missing.is_some() { links } else { links.probable(missing) };
    }
    None
}
