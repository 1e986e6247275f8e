//! A program that may take a finalizer off: whether it runs, may, leads, and finishes.

use findings::Controller;

use super::super::account;
use super::super::blocking_finalizer::BlockingFinalizer;
use super::super::controller::Basis;
use super::super::controller_reports::{self, Reported};
use super::super::leader::{self, Leader};
use super::super::workloads_of_account::{Runner, RunnerState};
use super::{DOUBT, NOBODY_ELSE, ROLES};
use crate::rules::phrases::Quote;
use crate::rules::prelude::*;
use crate::rules::rights::{self, Permission};

/// What of the proof is missing where another program may be the one.
const NOT_ALONE: &str = "which program owns this finalizer";
const INFERRED: &str = "that the finalizer is its own: the server did not record that this program set it";

/// Who may take it off, and why it is thought to be the one.
pub struct Serving<'a> {
    pub runner: Runner<'a>,
    /// Why, where that is more or less than rights on the kind.
    pub by: Option<Basis>,
    /// Whether no other is as likely.
    pub is_alone: bool,
    /// What links it to the finalizer, and who else there is.
    pub beside: Vec<Quote>,
}

/// The namespace that goes with the object.
pub fn own_namespace<'c>(lister: &Lister, blocking: &'c BlockingFinalizer) -> Option<&'c str> {
    let own = if blocking.is_of_namespace() { Some(&blocking.target.name) } else { blocking.target.namespace.as_ref() };
    own.map(String::as_str).filter(|name| lister.is_namespace_terminating(name))
}

/// Explains why it has not taken the finalizer off; nothing while an answer is out.
pub fn explain(case: &mut Case, blocking: &BlockingFinalizer, serving: Serving) -> Option<RootCause> {
    let state = serving.runner.words(case.lister);
    let served = Served { lister: case.lister, blocking, serving, state };
    let deleted_too = served.deleted_with_namespace().or_else(|| served.deleted_with_release());
    if let Some(root) = deleted_too.or_else(|| served.down(case)) {
        return Some(root);
    }
    match rights::may(case, &served.serving.runner.account, CHANGES, blocking.target) {
        Permission::Open => return None,
        Permission::Not(why) => return Some(served.forbidden(&why)),
        Permission::Granted | Permission::NotTold => {}
    }
    let reported = controller_reports::read(case, blocking.target, blocking.meta);
    // One that has just begun may be slow.
    let is_new = served.serving.runner.new_since(case.lister).is_some();
    if blocking.is_young(&case.diagnosis) || is_new {
        return (!case.diagnosis.pending).then(|| served.unfinished(reported, None).progressing());
    }
    if let Some(root) = served.without_account(case, &reported) {
        return Some(root);
    }
    if case.diagnosis.pending {
        return None;
    }
    if reported.evidence.is_none() && served.serving.runner.leaves_out(blocking.target) {
        return Some(served.not_watching());
    }
    let leader = match &reported.evidence {
        // One that reports on the object works.
        Some(_) => Leader::NotTold,
        None => served.leader(case),
    };
    let leads = match leader {
        Leader::Open => return None,
        Leader::Nobody { source, says } => return Some(served.without_leader(&source, &says)),
        Leader::NotTold => None,
        Leader::Leads { source, says } => Some((source, says)),
    };
    let missing = match served.is_proven() {
        true if reported.words.is_empty() => "why it has not finished: its log may say it",
        true => "why it has not finished, but for these words: its log has the rest",
        false => INFERRED,
    };
    Some(served.unfinished(reported, leads).probable(missing))
}

/// A finalizer, and a program that may take it off.
struct Served<'c, 'l> {
    lister: &'c Lister<'l>,
    blocking: &'c BlockingFinalizer<'c>,
    serving: Serving<'c>,
    state: String,
}

impl Served<'_, '_> {
    fn workload(&self) -> &ObjectRef {
        &self.serving.runner.target
    }

    /// Whether the server recorded that this program set the finalizer, and no other is as likely.
    fn is_proven(&self) -> bool {
        self.serving.is_alone && self.serving.by == Some(Basis::Setting)
    }

    fn inferred_unless_proven(&self, root: RootCause) -> RootCause {
        if self.is_proven() { root } else { root.probable(INFERRED) }
    }

    /// From the object to the program, with what was seen of both.
    fn chain(&self, root: RootCause) -> RootCause {
        let workload = self.workload();
        // No command about one of which only the name is known.
        let typed = Some(workload).filter(|_| self.serving.by != Some(Basis::Name));
        let root = root
            .step(Step::about(self.blocking.target, self.blocking.words()))
            .given(self.blocking.controller(match self.serving.runner.stands() {
                RunnerState::Ready => Controller::Ready,
                RunnerState::ScaledDown => Controller::ScaledDown,
                RunnerState::NotReady => Controller::NotReady,
            }))
            .name_if(Placeholder::Workload, typed.map(|one| format!("{}/{}", one.kind.to_lowercase(), one.name)))
            .name_if(Placeholder::WorkloadNamespace, typed.and(workload.namespace.as_deref()))
            .evidence(workload.to_string(), &self.state)
            .with_evidence(self.serving.beside.clone());
        if self.serving.is_alone { root } else { root.probable(NOT_ALONE) }
    }

    /// The chain of this cause, which ends with these words about the program.
    fn found(&self, cause: &'static Cause, words: impl AsRef<str>) -> RootCause {
        self.chain(self.blocking.start(cause)).step(Step::about(self.workload(), words))
    }

    /// The same, reported as what the finalizer is known for.
    fn known_for(&self, cause: &'static Cause, words: impl AsRef<str>) -> RootCause {
        self.chain(self.blocking.known_for(cause)).step(Step::about(self.workload(), words))
    }

    fn deleted_with_namespace(&self) -> Option<RootCause> {
        let namespace = self.workload().namespace.as_deref()?;
        if own_namespace(self.lister, self.blocking) != Some(namespace) {
            return None;
        }
        let words = match self.serving.runner.stands() {
            RunnerState::Ready if !self.lister.is_before() => return None,
            RunnerState::Ready => {
                "runs in the namespace that would be deleted: its pods are deleted first, and nothing new can start \
                 there. Delete these objects before the namespace"
                    .to_owned()
            }
            RunnerState::ScaledDown | RunnerState::NotReady => {
                let (state, deletion) = (&self.state, self.lister.namespace_deletion(namespace));
                format!("is of the namespace that {deletion} ({state}); nothing new can start there")
            }
        };
        Some(self.found(&cause::FINALIZER_OWNER_IN_SAME_NAMESPACE, words))
    }

    fn deleted_with_release(&self) -> Option<RootCause> {
        let release = Release::new(self.lister.subject())?;
        let is_ready = self.serving.runner.stands() == RunnerState::Ready;
        if !is_ready || !release.takes(&self.serving.runner.workload?.metadata) {
            return None;
        }
        let kind = &self.blocking.target.kind;
        let is_first = Release::deletes_before(&self.workload().kind, kind);
        let when = if is_first { format!("before {kind} objects") } else { format!("right after {kind} objects") };
        let words = format!(
            "belongs to the release too; Helm deletes it {when}, and does not wait. Delete these objects first, and \
             wait until they are gone"
        );
        let root = self.found(&cause::FINALIZER_OWNER_IN_SAME_RELEASE, words);
        let is_quicker = "whether it removes the finalizer before it ends: Helm deletes it right after the object";
        Some(if is_first { root } else { root.probable(is_quicker) })
    }

    fn down(&self, case: &mut Case) -> Option<RootCause> {
        match self.serving.runner.stands() {
            RunnerState::Ready => None,
            RunnerState::ScaledDown => {
                let root = self.known_for(&cause::FINALIZER_CONTROLLER_GONE, &self.state);
                Some(if self.is_proven() { root } else { root.evidence(ROLES, DOUBT).probable(NOBODY_ELSE) })
            }
            RunnerState::NotReady => {
                let root = self.known_for(&cause::FINALIZER_CONTROLLER_NOT_READY, &self.state);
                let account = &self.serving.runner.account;
                let Some(how) = account::gone(case, account) else { return Some(root) };
                let account = account::object(account);
                let step = Step::about(&account, format!("{how}: no new pod can run as it"));
                Some(root.evidence(account.to_string(), how).step(step))
            }
        }
    }

    fn forbidden(&self, why: &str) -> RootCause {
        let (namespace, name) = &self.serving.runner.account;
        let account = format!("ServiceAccount {namespace}/{name}");
        let kind = self.blocking.target.resource.for_kubectl();
        let words = format!("runs ({}), and its {account} may not patch {kind}: {why}", self.state);
        let root = self.found(&cause::FINALIZER_CONTROLLER_FORBIDDEN, words);
        let root = root.given(Circumstance::Account(findings::Existence::Present));
        let says = format!("none of those of {account} grants update or patch of {kind}");
        self.inferred_unless_proven(root.evidence(ROLES, says))
    }

    fn without_account(&self, case: &mut Case, reported: &Reported) -> Option<RootCause> {
        // One that reports on the object is not refused itself; it may work as another account.
        let account = match reported.evidence {
            None => &self.serving.runner.account,
            Some(_) => reported.refused.as_ref()?,
        };
        let how = account::gone(case, account)?;
        let account = account::object(account);
        let words = format!("runs ({}) and has not removed it{}", self.state, reported.words);
        let root = self
            .found(&cause::FINALIZER_CONTROLLER_FORBIDDEN, words)
            .given(Circumstance::Account(findings::Existence::Gone))
            .step(Step::about(&account, format!("{how}: the API server refuses its requests")))
            .evidence(account.to_string(), how)
            .with_evidence(reported.evidence.clone());
        Some(self.inferred_unless_proven(root))
    }

    fn not_watching(&self) -> RootCause {
        let namespace = self.blocking.target.namespace.as_deref().unwrap_or_default();
        let words = format!("runs ({}), and is set to watch other namespaces than {namespace}", self.state);
        let says = format!("its settings name the namespaces that it watches, and {namespace} is not among them");
        let root = self.found(&cause::NAMESPACE_NOT_WATCHED, words).evidence(self.workload().to_string(), says);
        root.probable("that it reads this setting so, and that no other of its kind watches the namespace")
    }

    fn leader(&self, case: &mut Case) -> Leader {
        let workload = self.serving.runner.workload;
        workload.map_or(Leader::NotTold, |object| leader::find(case, self.workload(), object))
    }

    fn without_leader(&self, source: &str, says: &str) -> RootCause {
        let words = format!("runs ({}), and none of its pods leads: {source} is {says}", self.state);
        let missing = format!("that {source} is the Lease of this work: only its holder's name says so");
        self.known_for(&cause::FINALIZER_CONTROLLER_NOT_LEADING, words).evidence(source, says).probable(missing)
    }

    fn unfinished(&self, reported: Reported, leads: Option<Quote>) -> RootCause {
        let Reported { cause, words, evidence, worth, .. } = reported;
        let words = format!("runs ({}) and has not removed it{words}", self.state);
        // What was reported is nearer than what the finalizer is known for.
        let is_general = cause.id == cause::FINALIZER_CONTROLLER_FAILING.id;
        let root = if is_general { self.known_for(cause, words) } else { self.found(cause, words) };
        let is_invalid = cause.id == cause::UPDATE_FAILS_VALIDATION.id;
        let root = if is_invalid { root.same_as(self.blocking.target) } else { root };
        let since = self.serving.runner.new_since(self.lister);
        let is_new = since.map(|since| (self.workload().to_string(), format!("ready since {since}")));
        root.given(Circumstance::Words(worth)).with_evidence(evidence.into_iter().chain(leads).chain(is_new))
    }
}
