//! What an object, or the Events about it, say of a controller that does not finish.

use findings::{Words, clean};

use crate::messages::{Message, errors, leads};
use crate::rules::leads::{Followed, Repair, Sentence, follow};
use crate::rules::object_reports::{self, ObjectReport, Weight};
use crate::rules::prelude::*;

/// More words than these are not shown.
const MAX_REPORTS: usize = 6;
/// More of what one sentence names is not followed.
const MAX_LEADS: usize = 4;
/// More of a step is not shown: how the object stands, and its own words.
pub const MAX_STEP_CHARS: usize = 600;

/// What was reported, and what it means.
pub struct Reported {
    /// The cause it makes.
    pub cause: &'static Cause,
    /// Its words, with a colon before them; empty when nothing was reported.
    pub words: String,
    /// Where it stands, and what it says there.
    pub evidence: Option<(String, String)>,
    /// The service account that it says was refused.
    pub refused: Option<Account>,
    pub worth: Words,
}

/// Reads the object's own words.
pub fn read(case: &mut Case, target: &ObjectRef, meta: &Meta) -> Reported {
    let said = object_reports::read(case, target, meta);
    let first = |is_it: &dyn Fn(&Message) -> bool| said.iter().find(|said| is_it(said.message));
    let (cause, found) = if let Some(found) = first(&errors::is_namespace_terminating) {
        (&cause::FINALIZER_CONTROLLER_BLOCKED, Some(found))
    } else if let Some(found) = first(&|message| errors::is_invalid(message, target)) {
        (&cause::UPDATE_FAILS_VALIDATION, Some(found))
    } else {
        (&cause::FINALIZER_CONTROLLER_FAILING, said.first())
    };
    let words = found.map_or(String::new(), |found| format!(": {}", brief(found)));
    let refused = found.and_then(|found| errors::refused_account(found.message));
    let refused = refused.map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
    let worth = match found {
        None => Words::None,
        Some(found) if found.is_outdated => Words::Outdated,
        Some(_) => Words::Current,
    };
    Reported { cause, words, evidence: found.map(|found| (found.source.clone(), found.says.clone())), refused, worth }
}

/// What came of what the object's own words name.
pub enum Led {
    /// `diagnosis` says now what is broken.
    Further,
    /// Nothing but the words says so of something that exists.
    Claimed(Box<RootCause>),
    /// This works again.
    Repaired(Repair),
    Nowhere,
}

/// Follows what the object's own words name. Their author may be a tenant, who may write of anything: what is not seen to be
/// broken is reported only of what exists, as a claim.
pub fn follow_leads(case: &mut Case, target: &ObjectRef, meta: &Meta) -> Led {
    let mut led = Led::Nowhere;
    for said in object_reports::read(case, target, meta).iter().take(MAX_REPORTS) {
        for lead in leads::read(said.message).iter().take(MAX_LEADS) {
            let sentence = Sentence { target, source: &said.source, says: &said.says, is_of_before: said.is_of_before };
            match follow(case, &sentence, lead) {
                Followed::Explained => return Led::Further,
                Followed::Claimed(root) if matches!(led, Led::Nowhere) && is_about_an_object(&root) => {
                    let missing = format!("that it is so now: only {} says it", said.source);
                    led = Led::Claimed(Box::new(root.probable(missing)));
                }
                Followed::Repaired(repair) if matches!(led, Led::Nowhere) => led = Led::Repaired(repair),
                Followed::Open | Followed::Claimed(_) | Followed::Repaired(_) | Followed::Nothing => {}
            }
        }
    }
    led
}

/// Whether the words of a Machine name a budget, which is in the cluster that the machine belongs to.
pub fn names_budget(case: &mut Case, target: &ObjectRef, meta: &Meta) -> bool {
    let is_machine = target.resource.group == "cluster.x-k8s.io" && target.resource.plural == "machines";
    let is_budget = |lead: &leads::Lead| matches!(lead, leads::Lead::Budget { .. });
    let said = if is_machine { object_reports::read(case, target, meta) } else { Vec::new() };
    said.iter().take(MAX_REPORTS).any(|said| leads::read(said.message).iter().any(is_budget))
}

fn is_about_an_object(root: &RootCause) -> bool {
    root.steps.last().is_some_and(|step| step.object.is_some())
}

/// Keeps the object's own words as evidence; the nearest to why it stays comes back.
pub fn keep_as_evidence(case: &mut Case, target: &ObjectRef, meta: &Meta) -> Option<String> {
    // What is reported of pods is mostly about their start.
    let said = if target.is(known::PODS) { Vec::new() } else { object_reports::read(case, target, meta) };
    said.iter().take(MAX_REPORTS).for_each(|said| case.diagnosis.evidence(&said.source, &said.says));
    said.first().map(brief)
}

/// Adds these words to what is said of the object itself.
pub fn add_words(mut found: RootCause, told: Option<String>) -> RootCause {
    if let Some((step, told)) = found.steps.first_mut().zip(told)
        && !step.words.contains(&told)
    {
        step.words = clean(&format!("{}; {told}", step.words), MAX_STEP_CHARS);
    }
    found
}

fn brief(said: &ObjectReport) -> String {
    match said.weight {
        Weight::Restates | Weight::Made => format!("it says no more than {}", said.brief()),
        _ => said.brief(),
    }
}

/// Whether an Event says that the object's update is refused, for it is not valid: where, and what.
pub fn invalid(case: &mut Case, target: &ObjectRef, meta: &Meta) -> Option<(String, String)> {
    let all = object_reports::read(case, target, meta);
    let found = all.into_iter().find(|said| errors::is_invalid(said.message, target))?;
    Some((found.source, found.says))
}
