//! A finalizer of an installed program, and what is reported of it whichever program removes it.

use std::borrow::Cow;

use findings::{Cleanup, Controller, Existence, Words, kubernetes_distribution};

use super::finalizer_cause::{MAX_REACTION_SECONDS, finalizer_cause};
use super::registry::KnownFinalizer;
use super::setter;
use crate::rules::prelude::*;

/// A finalizer under explanation.
pub struct BlockingFinalizer<'a> {
    pub target: &'a ObjectRef,
    pub meta: &'a Meta,
    pub finalizer: &'a str,
    /// What is known of it by its name.
    pub known: Option<&'static KnownFinalizer>,
}

/// The causes of a controller that does not work.
static DOWN: [&Cause; 3] = [
    &cause::FINALIZER_CONTROLLER_GONE,
    &cause::FINALIZER_CONTROLLER_NOT_READY,
    &cause::FINALIZER_CONTROLLER_NOT_LEADING,
];

/// The causes of a finalizer that stays for no visible reason; beside them, what it is known for.
static OPEN: [&Cause; 3] =
    [&cause::FINALIZER_CONTROLLER_FAILING, &cause::FINALIZER_OWNER_UNKNOWN, &cause::PROTECTED_WITHOUT_USERS];

/// Whether this is a cause of a controller that does not work.
pub fn is_down(found: &Cause) -> bool {
    DOWN.iter().any(|down| down.id == found.id)
}

impl BlockingFinalizer<'_> {
    pub fn is_of_namespace(&self) -> bool {
        self.target.is(known::NAMESPACES)
    }

    /// Of a built-in kind hundreds of programs may change every object: RBAC shows nothing there.
    pub fn is_custom(&self) -> bool {
        !self.target.resource.is_built_in()
    }

    /// The program that removes it: as it is known, or the one that set it, when the server recorded a distinctive name.
    pub fn program(&self) -> Option<Cow<'_, str>> {
        match self.known {
            Some(KnownFinalizer { program_by_label: Some((label, end)), .. }) => {
                self.meta.labels.get(label).map(|name| format!("{name}{end}").into())
            }
            Some(known) if !known.program.is_empty() => Some(known.program.into()),
            Some(known) if known.set_by_another => None,
            _ => self.setter().map(Cow::Borrowed),
        }
    }

    fn setter(&self) -> Option<&str> {
        setter::program(self.meta, self.finalizer, &self.target.resource.group)
    }

    /// Whether the server recorded that this program set it: else it is known by its name only.
    pub fn is_program_recorded(&self) -> bool {
        self.setter() == self.program().as_deref()
    }

    /// Whether the program that serves the kind is the one that removes it: the finalizer has the domain of the kind, and no
    /// program is recorded that was not found.
    pub fn is_of_kind(&self) -> bool {
        let domain = self.finalizer.split('/').next().unwrap_or(self.finalizer);
        is_within(domain, &self.target.resource.group) && self.program().is_none()
    }

    pub fn released_by(&self) -> String {
        self.known.map_or(String::new(), |known| format!(" ({})", known.sentence()))
    }

    pub fn words(&self) -> String {
        format!("held by finalizer {}{}", self.finalizer, self.released_by())
    }

    /// What was found, reported as what the finalizer is known for. It holds from the start if what was found does, and is
    /// the finalizer's own controller.
    pub fn known_for(&self, found: &'static Cause) -> RootCause {
        // The controller of a built-in kind's finalizer is hard to find: a cloud's controllers are not in the cluster.
        let is_its_own = |known: &KnownFinalizer| known.runs.is_empty() && (self.is_custom() || is_down(found));
        let mut root = self.start(self.cause(found));
        root.holds_from_the_start = found.holds_from_the_start && self.known.is_none_or(is_its_own);
        root
    }

    /// What the finalizer is known for comes before what follows from who was found, but for a controller that is
    /// down.
    fn cause(&self, found: &'static Cause) -> &'static Cause {
        // Of one that runs where workloads do not show it, the workload that was found is another.
        let says_more = |known: &&KnownFinalizer| known.comes_first || !known.runs.is_empty() || !is_down(found);
        self.known.filter(says_more).map_or(found, |known| known.cause)
    }

    /// Whether the cause is no more than that the finalizer stays: nothing was seen that is broken.
    pub fn is_open(&self, found: &RootCause) -> bool {
        let known_for = self.known.map(|known| known.cause);
        OPEN.iter().copied().chain(known_for).any(|cause| cause.id == found.draft.cause.id)
    }

    pub fn start(&self, cause: &'static Cause) -> RootCause {
        let found = finalizer_cause(self.target, self.meta, self.finalizer, cause);
        let found = self.known.iter().fold(found, |found, known| {
            let keep = known.destroyed(&self.target.kind).and_then(|destroyed| destroyed.kept_by);
            found
                .loses(known.lost)
                .goes_on(known.goes_on())
                .name(Placeholder::ReleasedBy, known.released_by)
                .name_if(Placeholder::KeepAnnotation, keep)
        });
        let cleanup = if self.known.is_some_and(|known| known.is_empty) { Cleanup::Nothing } else { Cleanup::Pending };
        let found = found
            .given(self.controller(Controller::Unknown))
            .given(Circumstance::Cleanup(cleanup))
            .given(Circumstance::Words(Words::Current))
            .given(Circumstance::RemoteBudget(Existence::Gone));
        found.same_as(self.target.resource.for_kubectl())
    }

    /// Whether a controller within the server of k3s or RKE2 takes it off, as it is known or as that set it. Their
    /// controllers call themselves so, or `NAME@NODE`.
    pub fn is_of_server(&self) -> bool {
        let set_by = || self.meta.setter_of(self.finalizer).map(|managed| managed.manager.as_str());
        self.known.is_some_and(|known| known.in_server)
            || set_by().is_some_and(kubernetes_distribution::has_own_controllers)
    }

    /// How its controller stands, as far as workloads show it.
    pub fn controller(&self, found: Controller) -> Circumstance {
        let is_hidden = self.known.is_some_and(|known| !known.runs.is_empty());
        Circumstance::Controller(match () {
            () if self.is_of_server() => Controller::InServer,
            () if is_hidden => Controller::Hidden,
            () => found,
        })
    }

    pub fn is_young(&self, diagnosis: &Diagnosis) -> bool {
        diagnosis.is_younger_than(MAX_REACTION_SECONDS)
    }
}

/// Whether a name is this domain or below it.
pub fn is_within(name: &str, domain: &str) -> bool {
    name == domain || name.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::is_within;

    #[test]
    fn a_domain_ends_at_a_dot() {
        assert!(is_within("operator.tigera.io", "tigera.io") && is_within("tigera.io", "tigera.io"));
        assert!(!is_within("nottigera.io", "tigera.io") && !is_within("tigera.io", "operator.tigera.io"));
    }
}
