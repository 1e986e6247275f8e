//! Who removes a finalizer: which installed program, and whether it lives.

mod built_in;
mod serving;

use findings::{Controller, Users};

use self::serving::Serving;
use super::account;
use super::behind_controller;
use super::blocking_finalizer::{BlockingFinalizer, is_down};
use super::controller::{self, Basis, Candidate, Controllers, Wanted};
use super::controller_reports;
use super::deadlock;
use super::finalizer_cause::{refused, setter as setter_words};
use super::grouping;
use super::load_balancer;
use super::operator::{self, Operator};
use super::powerful;
use super::referenced_objects;
use super::registry::KnownFinalizer;
use super::setter;
use super::users;
use super::workloads_of_account::Runner;
use crate::rules::phrases::{Quote, some};
use crate::rules::prelude::*;
use crate::rules::webhook;

/// More of the others are not shown.
const MAX_OTHERS: usize = 4;

/// Who says what roles grant.
const ROLES: &str = "clusterroles and their bindings";

/// Why RBAC never proves that no account may.
const DOUBT: &str = "they do not show every account that can change it: system:masters, a managed control plane";

/// What of the proof is missing where another program may be the one.
const NOBODY_ELSE: &str = "that no other controller removes it: RBAC does not show every writer";

/// Explains the finalizer: its owner is alive, slow, gone, or unknown.
pub fn explain(case: &mut Case, blocking: &BlockingFinalizer) {
    let is_refused = refused(case, blocking.target, blocking.meta);
    if is_refused && (deadlock::explain(case, blocking, custom) || !webhook::may_be_skipped(&case.diagnosis)) {
        return;
    }
    let found = if blocking.is_custom() { custom(case, blocking) } else { built_in::explain(case, blocking) };
    // One that runs may fail at the webhook; one that is down is not hidden by it.
    let Some(found) = found.filter(|found| !is_refused || is_down(found.draft.cause)) else { return };
    let found = load_balancer::without_one(case, blocking, found);
    let Some(found) = users::add(case, blocking, found) else { return };
    // Who uses the object is nearer than what its controller reports.
    let is_used = found.draft.facts.has(Circumstance::Users(Users::Some));
    let needed = if is_used { None } else { referenced_objects::lacking(case, blocking.target, blocking.meta) };
    if case.diagnosis.pending {
        return;
    }
    let is_open = !is_used && blocking.is_open(&found);
    if let Some(need) = needed.filter(|need| is_open || !need.is_for_cleanup) {
        let root = need.root(case, blocking, found);
        case.diagnosis.causes.push(root);
        return;
    }
    let found = match is_open {
        true => behind_controller::find(case, blocking, found),
        false => Some(grouping::keyed(blocking, found)),
    };
    case.diagnosis.causes.extend(found.map(RootCause::in_place_of_own));
}

/// Who serves a custom kind, and why that one has not released it.
fn custom(case: &mut Case, blocking: &BlockingFinalizer) -> Option<RootCause> {
    let Resource { group, plural, .. } = &blocking.target.resource;
    let cut = Cut { groups: vec![group.to_string()], plural: Some(plural.to_string()) };
    let program = blocking.program();
    let wanted = Wanted {
        target: blocking.target,
        finalizer: blocking.finalizer,
        program: program.as_deref(),
        is_recorded: blocking.is_program_recorded(),
        cut: &cut,
    };
    let found = controller::find(case, &wanted)?;
    let is_set = found.first.as_ref().map(|first| first.by == Basis::Setting);
    let is_another = |known: &&KnownFinalizer| match is_set {
        Some(is_set) => !is_set && (known.by_another || !known.program.is_empty()),
        None => known.by_another,
    };
    if let Some(known) = blocking.known.filter(is_another) {
        let reported = controller_reports::keep_as_evidence(case, blocking.target, blocking.meta);
        let setter = setter_words(blocking.meta, blocking.finalizer);
        let words = format!("{}{}; {setter}", case.diagnosis.words, blocking.released_by());
        let missing =
            format!("whether {} runs: other accounts that can change the object do not remove it", known.released_by);
        let mut root = unknown(blocking).at_itself(blocking.target, words).probable(missing);
        root.holds_from_the_start = false;
        // The record does not distinguish the program that removes it from the others.
        let all = found.first.iter().chain(&found.also).filter(|_| known.set_by_another);
        let idle = all.filter(|one| one.is_not_ready()).take(MAX_OTHERS);
        let says =
            |one: &Candidate| format!("may change it, and does not run as it should: {}", one.words(case.lister));
        let root = root.with_evidence(idle.map(|one| (ROLES, says(one))));
        return Some(controller_reports::add_words(root, reported));
    }
    let is_weak = found.first.as_ref().is_some_and(Candidate::is_weak);
    if is_weak && let Some(root) = of_powerful(case, blocking, &found) {
        return root;
    }
    match blame(case, blocking, &found, Vec::new()) {
        Blame::Open => return None,
        Blame::Found(found) => return Some(*found),
        Blame::Nobody => {}
    }
    // Neither the finalizer's name nor RBAC shows it.
    let hints = match operator(case, blocking, &found) {
        Ok(root) => return root,
        Err(hints) => hints,
    };
    if let Some(root) = of_powerful(case, blocking, &found) {
        return root;
    }
    let reported = controller_reports::keep_as_evidence(case, blocking.target, blocking.meta);
    let root = without_controller(case, blocking, &found, &blocking.target.resource.for_kubectl());
    let root = controller_reports::add_words(root, reported);
    Some(root.with_evidence(hints.into_iter().chain(users(&found)).chain(apart(&found))))
}

/// The program that serves the kind, and why that one has not released it; else what is known of who installed the kind.
fn operator(
    case: &mut Case,
    blocking: &BlockingFinalizer,
    found: &Controllers,
) -> Result<Option<RootCause>, Vec<Quote>> {
    match operator::find(case, &blocking.target.resource) {
        Operator::Open => Ok(None),
        Operator::Workload { target, object, link: (source, says) } => {
            let link = (source, format!("{says}, which leads to {target}"));
            let beside = std::iter::once(link).chain(users(found)).chain(apart(found)).collect();
            let runner = Runner::workload(target, object);
            Ok(serving::explain(case, blocking, Serving { runner, by: None, is_alone: false, beside }))
        }
        Operator::Nobody(hints) => Err(hints),
    }
}

/// The program that may change everything and that something leads to; what it comes to is nothing while an answer is out.
fn of_powerful(case: &mut Case, blocking: &BlockingFinalizer, found: &Controllers) -> Option<Option<RootCause>> {
    let (runner, link) = powerful::find(case, blocking, found)?;
    let others = (ROLES.to_owned(), all_powerful(found));
    let beside = [link, others].into_iter().chain(users(found)).chain(idle(found)).collect();
    Some(serving::explain(case, blocking, Serving { runner, by: None, is_alone: false, beside }))
}

/// The cause when no program is known to remove it.
fn unknown(blocking: &BlockingFinalizer) -> RootCause {
    blocking.known_for(&cause::FINALIZER_OWNER_UNKNOWN)
}

/// What comes of those that may take a finalizer off.
enum Blame {
    /// An answer is still out.
    Open,
    /// This.
    Found(Box<RootCause>),
    /// There are none.
    Nobody,
}

fn blame(case: &mut Case, blocking: &BlockingFinalizer, found: &Controllers, mut beside: Vec<Quote>) -> Blame {
    let Some(first) = &found.first else { return Blame::Nobody };
    let is_told = (first.by == Basis::Setting && blocking.is_program_recorded()) || blocking.is_of_kind();
    let is_alone = found.is_alone() && is_told && beside.is_empty();
    let likely = found.also.iter().filter(|other| other.by == first.by || other.is_not_ready()).take(MAX_OTHERS);
    beside.extend(
        likely.map(|other| (ROLES.to_owned(), format!("another that may change it: {}", other.words(case.lister)))),
    );
    beside.extend(users(found));
    beside.extend(idle(found));
    beside.extend(apart(found));
    if !found.may_all.is_empty() {
        beside.push((ROLES.to_owned(), all_powerful(found)));
    }
    match &first.runs {
        Some(runner) => {
            let by = Serving { runner: runner.clone(), by: Some(first.by), is_alone, beside };
            serving::explain(case, blocking, by).map_or(Blame::Open, |root| Blame::Found(Box::new(root)))
        }
        None => {
            // Of a role that may be a person's nothing need run: who serves the kind is nearer.
            if first.by < Basis::Rights(Fit::Controller)
                && blocking.is_custom()
                && let Ok(root) = operator(case, blocking, found)
            {
                return root.map_or(Blame::Open, |root| Blame::Found(Box::new(root)));
            }
            let root = match found.is_visible {
                true => without_workload(case, blocking, &first.account, is_alone, beside),
                false => workload_not_seen(blocking, &first.account).with_evidence(beside),
            };
            Blame::Found(Box::new(root))
        }
    }
}

/// Users and groups that may change the kind.
fn users(found: &Controllers) -> Option<Quote> {
    let says = || format!("may change it too, and whether they run is not in the cluster: {}", some(&found.users, 5));
    (!found.users.is_empty()).then(|| (ROLES.to_owned(), says()))
}

/// Accounts that may change everything, and do nothing.
fn idle(found: &Controllers) -> Option<Quote> {
    let says = || format!("may change everything, and nothing runs as them: {}", some(&found.may_all_idle, 5));
    (!found.may_all_idle.is_empty()).then(|| (ROLES.to_owned(), says()))
}

/// Programs that may change the kind, and are of another provider.
fn apart(found: &Controllers) -> Option<Quote> {
    let says = || format!("may change it too, and was installed as another provider: {}", some(&found.apart, 5));
    (!found.apart.is_empty()).then(|| (ROLES.to_owned(), says()))
}

fn all_powerful(found: &Controllers) -> String {
    format!("these accounts may change everything: {}", some(&found.may_all, 5))
}

/// An account has the rights; whether anything runs as it could not be read.
fn workload_not_seen(blocking: &BlockingFinalizer, (namespace, name): &Account) -> RootCause {
    let account = format!("ServiceAccount {namespace}/{name}");
    unknown(blocking)
        .at_itself(
            blocking.target,
            format!("{}; {account} may remove it, and what runs as it was not seen", blocking.words()),
        )
        .given(blocking.controller(Controller::Unseen))
        .probable(format!("whether anything runs as {account}"))
}

/// An account has the rights, and nothing runs as it.
fn without_workload(
    case: &mut Case,
    blocking: &BlockingFinalizer,
    account: &Account,
    is_alone: bool,
    beside: Vec<Quote>,
) -> RootCause {
    let (namespace, name) = account;
    let shown = format!("ServiceAccount {namespace}/{name}");
    let is_deadlock = serving::own_namespace(case.lister, blocking) == Some(namespace);
    let (found, words) = match is_deadlock {
        true => (
            blocking.start(&cause::FINALIZER_OWNER_IN_SAME_NAMESPACE),
            format!(
                "may remove it and is of the namespace that {}; nothing runs as it, and nothing new can start there",
                case.lister.namespace_deletion(namespace)
            ),
        ),
        false => {
            (blocking.known_for(&cause::FINALIZER_CONTROLLER_GONE), "may remove it, and nothing runs as it".to_owned())
        }
    };
    let gone = if is_deadlock { None } else { account::gone(case, account) };
    let words = match gone {
        Some(how) => format!("{how}, and nothing runs as it; a binding still lets it remove the finalizer"),
        None => words,
    };
    let found = found
        .step(Step::about(blocking.target, blocking.words()))
        .step(Step::named(shown, words))
        .with_evidence(beside);
    let found = found.given(blocking.controller(Controller::Absent));
    match (is_deadlock, is_alone) {
        (true, true) => found,
        (true, false) => found.probable("that no other controller removes it: other accounts can change the kind too"),
        (false, _) => found.evidence(ROLES, DOUBT).probable(NOBODY_ELSE),
    }
}

/// No controller was found: gone, or unknown.
fn without_controller(case: &mut Case, blocking: &BlockingFinalizer, found: &Controllers, subject: &str) -> RootCause {
    if !found.is_visible {
        let words = format!("{}; which controller handles {subject} could not be looked up", blocking.words());
        return unknown(blocking)
            .at_itself(blocking.target, words)
            .given(blocking.controller(Controller::Unseen))
            .probable(format!("which controller handles {subject}"));
    }
    let rights = match (found.unbound.as_slice(), found.users.is_empty()) {
        (_, true) if !found.apart.is_empty() => "only another provider has a role that names it".to_owned(),
        (_, false) => "only users or groups have a role that names it".to_owned(),
        ([], _) => format!("no RBAC role mentions {subject}"),
        (roles, _) => format!("no binding gives anybody {}", roles.join(" or ")),
    };
    let words = format!(
        "{}{}; no controller found ({rights}); {}",
        case.diagnosis.words,
        blocking.released_by(),
        setter_words(blocking.meta, blocking.finalizer)
    );
    if !found.users.is_empty() {
        // They may be the one: of them the cluster shows nothing.
        let missing = "which of the users and groups that may change it removes it, and whether that one runs";
        let found = unknown(blocking).at_itself(blocking.target, words).given(blocking.controller(Controller::Unseen));
        return found.probable(missing);
    }
    if blocking.is_of_server() {
        let pending = blocking.start(&cause::CONTROLLER_CLEANUP_PENDING);
        return pending
            .at_itself(
                blocking.target,
                format!(
                    "{}{}; {}",
                    case.diagnosis.words,
                    blocking.released_by(),
                    setter_words(blocking.meta, blocking.finalizer)
                ),
            )
            .probable("what keeps it: its log has that");
    }
    if let Some(group) = hosted(case, blocking) {
        let words = format!("{words}; a cloud that serves {group} may run it out of sight");
        let missing = "whether a cloud runs it in its control plane: neither roles nor workloads show that";
        let says = format!("the group {group} is served");
        let found = unknown(blocking).at_itself(blocking.target, words).given(blocking.controller(Controller::Unseen));
        let mut found = found.evidence("API discovery", says).probable(missing);
        found.holds_from_the_start = false;
        return found;
    }
    let typed_with = setter::typed_with(blocking.meta, blocking.finalizer).filter(|_| blocking.known.is_none());
    if let Some(manager) = typed_with.filter(|_| found.may_all.is_empty()) {
        let missing = "whether any program removes it: a person set it, with kubectl";
        let words = format!("{words}: a person, with {manager}");
        return unknown(blocking).at_itself(blocking.target, words).evidence(ROLES, DOUBT).probable(missing);
    }
    if found.may_all.is_empty() {
        let gone = blocking.known_for(&cause::FINALIZER_CONTROLLER_GONE).at_itself(blocking.target, words);
        let gone = gone.given(blocking.controller(Controller::Absent));
        return gone.evidence(ROLES, DOUBT).with_evidence(idle(found)).probable(NOBODY_ELSE);
    }
    // One of those that may change everything may be the one.
    let says = format!("{rights}; {}", all_powerful(found));
    let missing = "which of the accounts that may change everything removes it";
    let found = unknown(blocking).at_itself(blocking.target, words).given(blocking.controller(Controller::Unseen));
    found.evidence(ROLES, says).probable(missing)
}

/// The group that shows that a cloud may run the program that removes it.
fn hosted(case: &mut Case, blocking: &BlockingFinalizer) -> Option<&'static str> {
    let group = blocking.known.map(|known| known.hosted_with).filter(|group| !group.is_empty())?;
    let discovery = case.diagnosis.silently(case.lister.discovery())?;
    discovery.versions.iter().any(|served| served.group == group).then_some(group)
}
