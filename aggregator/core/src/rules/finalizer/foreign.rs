//! Finalizers of programs that somebody installed: which program, and whether it lives.

use findings::{Cause, Placeholder, cause};

use super::controller::{self, Controller};
use super::deadlock;
use super::held::{SLOW, held, refused, setter};
use super::leader::{self, Leader};
use super::operator::{self, Operator, Says};
use super::registry::KnownFinalizer;
use super::related;
use super::reported::{self, Reported};
use super::same;
use crate::diagnosis::{Diagnosis, RootCause, Step};
use crate::lister::Lister;
use crate::rules::words::some;
use crate::state::*;

/// A finalizer under explanation.
pub struct Case<'a> {
    pub target: &'a ObjectRef,
    pub meta: &'a Meta,
    pub finalizer: &'a str,
    /// What is known of it by its name.
    pub known: Option<&'static KnownFinalizer>,
}

/// A workload that may take it off.
struct ControllerWorkload<'a> {
    target: ObjectRef,
    object: &'a Workload,
    /// What links it to the kind, when that is weaker than its rights.
    link: Option<Says>,
}

impl Case<'_> {
    fn is_of_namespace(&self) -> bool {
        self.target.is(known::NAMESPACES)
    }

    /// Of a built-in kind hundreds of programs may change every object: rights tell nothing there.
    pub fn is_custom(&self) -> bool {
        let group = &self.target.resource.group;
        group.contains('.') && !group.ends_with(".k8s.io")
    }

    fn released_by(&self) -> String {
        self.known.map_or(String::new(), |known| format!(" ({} takes it off)", known.released_by))
    }

    fn words(&self) -> String {
        format!("held by finalizer {}{}", self.finalizer, self.released_by())
    }

    /// What the finalizer is known for comes before what follows from who was found: to start some of
    /// these controllers again is what destroys.
    fn cause(&self, found: &'static Cause) -> &'static Cause {
        self.known.map_or(found, |known| known.cause)
    }

    fn unknown(&self) -> &'static Cause {
        let nobody =
            if self.is_of_namespace() { &cause::NAMESPACE_METADATA_FINALIZER } else { &cause::FINALIZER_OWNER_UNKNOWN };
        self.cause(nobody)
    }

    fn start(&self, cause: &'static Cause) -> RootCause {
        held(self.target, self.meta, self.finalizer, cause).same_as(self.target.resource.for_kubectl())
    }

    fn is_young(&self, diagnosis: &Diagnosis) -> bool {
        diagnosis.is_younger_than(SLOW)
    }
}

/// Explains the finalizer: its owner alive, slow, gone, or not to be told.
pub fn explain(lister: &Lister, case: &Case, diagnosis: &mut Diagnosis) {
    if refused(lister, case.target, case.meta, diagnosis) {
        deadlock::look(lister, case, diagnosis);
        return;
    }
    let found =
        if case.is_custom() { custom(lister, case, diagnosis) } else { Some(built_in(lister, case, diagnosis)) };
    diagnosis.causes.extend(found.map(|found| same::keyed(case, found).in_place_of_own()));
}

fn built_in(lister: &Lister, case: &Case, diagnosis: &mut Diagnosis) -> RootCause {
    let words = format!("{}{}; {}", diagnosis.words, case.released_by(), setter(case.meta, case.finalizer));
    match reported::invalid(lister, case.target, diagnosis) {
        Some((source, says)) => case
            .start(&cause::UPDATE_FAILS_VALIDATION)
            .same_as(case.target)
            .at_itself(case.target, format!("{words}; its update is refused: {says}"))
            .evidence(source, says)
            .probable(),
        None => match related::ingress_class(lister, case.target, case.finalizer, diagnosis) {
            Some((source, says)) => case
                .start(case.unknown())
                .step(Step::about(case.target, words))
                .step(Step::named(&source, &says))
                .same_as(&source)
                .evidence(source, says),
            None => case.start(case.unknown()).same_as(case.finalizer).at_itself(case.target, words),
        },
    }
}

/// Who serves a custom kind, and why that one has not released it.
pub fn custom(lister: &Lister, case: &Case, diagnosis: &mut Diagnosis) -> Option<RootCause> {
    let own = case.target.namespace.as_deref().filter(|name| lister.is_namespace_terminating(name));
    let mut all_powerful = Vec::new();
    let is_visible = match controller::of(lister, diagnosis, case.target) {
        Controller::Open => return None,
        Controller::Workload { target, object } => {
            return served(lister, case, diagnosis, own, ControllerWorkload { target, object, link: None });
        }
        Controller::Account { account, namespace } => return Some(idle(case, own, &account, &namespace)),
        Controller::Nobody { may_all } => {
            all_powerful = may_all;
            true
        }
        Controller::NotVisible => false,
    };
    // Neither the finalizer's name nor anybody's rights tell.
    let hints = match operator::of(lister, diagnosis, &case.target.resource) {
        Operator::Open => return None,
        Operator::Workload { target, object, link } => {
            return served(lister, case, diagnosis, own, ControllerWorkload { target, object, link: Some(link) });
        }
        Operator::Nobody(hints) => hints,
    };
    let found = nobody(case, diagnosis, is_visible, &all_powerful);
    Some(hints.into_iter().fold(found, |found, (source, says)| found.evidence(source, says)))
}

/// An account has the rights, and nothing runs as it.
fn idle(case: &Case, own: Option<&str>, account: &str, namespace: &str) -> RootCause {
    let shown = format!("ServiceAccount {namespace}/{account}");
    if own == Some(namespace) {
        let words = "the only one that may release it lives in the namespace that is being deleted; its workload is \
            gone, and nothing new can start there";
        return case
            .start(&cause::FINALIZER_OWNER_IN_SAME_NAMESPACE)
            .step(Step::about(case.target, case.words()))
            .step(Step::named(shown, words));
    }
    case.start(case.cause(&cause::FINALIZER_CONTROLLER_GONE))
        .step(Step::about(case.target, case.words()))
        .step(Step::named(shown, "may release it, and no workload runs as it"))
}

/// Nobody was found: gone, or not to be told.
fn nobody(case: &Case, diagnosis: &Diagnosis, is_visible: bool, all_powerful: &[String]) -> RootCause {
    let subject = case.target.resource.for_kubectl();
    if !is_visible {
        let words = format!("{}; who serves {subject} could not be looked up", case.words());
        return case.start(case.unknown()).at_itself(case.target, words).probable();
    }
    let words = format!(
        "{}{}; no controller found (no RBAC role mentions {subject}); {}",
        diagnosis.words,
        case.released_by(),
        setter(case.meta, case.finalizer)
    );
    if all_powerful.is_empty() {
        return case.start(case.cause(&cause::FINALIZER_CONTROLLER_GONE)).at_itself(case.target, words);
    }
    // One of those that may change everything may be the one.
    let source = "clusterroles and their bindings";
    let says =
        format!("no RBAC role mentions {subject}; these accounts may change everything: {}", some(all_powerful, 5));
    case.start(case.unknown()).at_itself(case.target, words).evidence(source, says).probable()
}

/// A workload may take it off: whether it runs, leads, and finishes.
fn served(
    lister: &Lister,
    case: &Case,
    diagnosis: &mut Diagnosis,
    own: Option<&str>,
    by: ControllerWorkload,
) -> Option<RootCause> {
    let ControllerWorkload { target: workload, object, link } = by;
    let at = workload.namespace.as_deref();
    let state = format!("{} of {} pods ready", object.ready(), object.wanted());
    let is_inferred = link.is_some();
    let chain = |cause| {
        let found = case
            .start(cause)
            .step(Step::about(case.target, case.words()))
            .name(Placeholder::Workload, format!("{}/{}", workload.kind.to_lowercase(), workload.name))
            .name_if(Placeholder::WorkloadNamespace, at)
            .evidence(workload.to_string(), &state);
        match &link {
            Some((source, says)) => found.evidence(source, format!("{says}, which leads to {workload}")).probable(),
            None => found,
        }
    };
    if own.is_some() && own == at {
        let words = format!("lives in the namespace that is being deleted ({state}); nothing new can start there");
        return Some(chain(&cause::FINALIZER_OWNER_IN_SAME_NAMESPACE).step(Step::about(&workload, words)));
    }
    if object.wanted() == 0 {
        return Some(chain(case.cause(&cause::FINALIZER_CONTROLLER_GONE)).step(Step::about(&workload, "scaled to 0")));
    }
    if object.ready() == 0 {
        return Some(
            chain(case.cause(&cause::FINALIZER_CONTROLLER_NOT_READY)).step(Step::about(&workload, state.clone())),
        );
    }
    let Reported { cause, words, evidence } = reported::of(lister, case.target, diagnosis);
    let is_general = cause.id == cause::FINALIZER_CONTROLLER_FAILING.id;
    let young = case.is_young(diagnosis);
    let mut leads = None;
    // A controller that reports on the object works, and one that has just begun may be slow.
    if evidence.is_none() && !young {
        match leader::of(lister, diagnosis, &workload, object) {
            Leader::Open => return None,
            Leader::NotTold => {}
            Leader::Leads { source, says } => leads = Some((source, says)),
            Leader::Nobody { source, says } => {
                let words = format!("runs ({state}), and none of its pods leads: {source} is {says}");
                let found =
                    chain(case.cause(&cause::FINALIZER_CONTROLLER_NOT_LEADING)).step(Step::about(&workload, words));
                return Some(found.evidence(source, says).probable());
            }
        }
    }
    // What was reported is nearer than what the finalizer is known for.
    let cause = if is_general { case.cause(cause) } else { cause };
    let found = chain(cause).step(Step::about(&workload, format!("runs ({state}) and has not released it{words}")));
    let found = if cause.id == cause::UPDATE_FAILS_VALIDATION.id { found.same_as(case.target) } else { found };
    let found = evidence.into_iter().chain(leads).fold(found, |found, (source, says)| found.evidence(source, says));
    Some(match young {
        true if is_inferred => found.progressing().probable(),
        true => found.progressing(),
        false => found.probable(),
    })
}
