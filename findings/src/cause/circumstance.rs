//! What a step depends on: facts of the case, which a rule of the cluster supplies.

use std::mem::discriminant;

/// Whether an object exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existence {
    /// It does.
    Present,
    /// The API server has none of this name.
    Gone,
}

/// How a pod that is not being deleted stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodState {
    /// It may still do something.
    Running,
    /// Its phase is Succeeded or Failed.
    Ended,
}

/// Declares the kinds of facts: those with values of their own, then those with the values of a type above. Each value
/// has its words, after "when".
macro_rules! circumstances {
    (
        own values: $(#[$about:meta] $own:ident { $($(#[$more:meta])* $value:ident: $words:literal,)* })*
        shared values: $(#[$about_of:meta] $kind:ident($of:ident) { $($is:ident: $said:literal,)* })*
    ) => {
        $(
            #[$about]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $own {
                $(#[doc = concat!("When ", $words, ".")] $(#[$more])* $value,)*
            }
        )*

        /// One fact of a case. Of each kind of fact a case has one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Circumstance {
            $(#[$about] $own($own),)*
            $(#[$about_of] $kind($of),)*
        }

        impl Circumstance {
            /// After "when".
            pub fn words(self) -> &'static str {
                match self {
                    $($(Circumstance::$own($own::$value) => $words,)*)*
                    $($(Circumstance::$kind($of::$is) => $said,)*)*
                }
            }
        }
    };
}

circumstances! {
    own values:

    /// How the program stands that must finish.
    Controller {
        Ready: "its controller has a ready pod",
        NotReady: "no pod of its controller is ready",
        /// No pod of it is ready either.
        Crashing: "its container exits after each start",
        ScaledDown: "its controller is scaled to 0",
        Absent: "no controller was found",
        /// In a cloud's control plane, or in a pod of its own kind.
        Hidden: "its controller runs where workloads do not show it",
        InServer: "its controller is a part of the server of k3s or RKE2",
        Unknown: "nothing shows which controller it has",
        /// What could show it was not readable, or one of several that run may be it.
        Unseen: "its controller may run unseen",
    }
    /// What would be lost if its controller never came back.
    Cleanup {
        Pending: "its clean-up may not be done",
        Nothing: "nothing is left to clean up",
    }
    /// Why a PodDisruptionBudget allows no eviction.
    Budget {
        OfProgram: "a program looks after the budget or its pods",
        NoneUnavailable: "the budget's maxUnavailable is 0",
        All: "the budget wants as many pods as there are",
        Several: "several budgets select the same pod",
        TooFewReady: "too few of its pods are ready",
        /// With all of them ready it would still allow none.
        TooFewReadyOfAll: "too few of its pods are ready, and it wants as many as there are",
        /// By the controller, since it was made or changed.
        NotCounted: "the budget's pods have not been counted",
    }
    /// Who uses an object that waits for the last of them.
    Users {
        Some: "an object that uses it is left",
        None: "nothing uses it any more",
        Elsewhere: "only objects of other namespaces name one that is called so",
        /// They could not be looked at, or it is not known which kinds use it.
        Unknown: "it is not known what uses it",
    }
    /// Of which kind the objects are that cannot be read.
    Unread {
        Listed: "the list of one kind fails",
        Secrets: "every kind but Secrets can be listed",
        Encrypted: "no key of the API server opens it",
        Starting: "the API server's cache of the kind is not ready",
        Unknown: "the kind is not known",
    }
    /// Whether what is missing can be created again.
    Creation {
        Possible: "what is missing can be created again",
        Refused: "the namespace of what is missing is being deleted",
        Exists: "what the controller needs exists and reports a failure",
    }
    /// Why the API server does not reach a backend that has a ready endpoint.
    Reach {
        Refused: "the connection is refused",
        Cut: "no connection is made",
        Late: "no answer comes in time",
    }
    /// Who counts the pods of a Job.
    JobManager {
        ControllerManager: "kube-controller-manager counts the Job's pods",
        Other: "spec.managedBy of the Job names another controller",
    }
    /// What the words are worth that the object's controller reports.
    Words {
        Current: "what its controller reports may be of the deletion",
        Outdated: "what its controller reports was written before the deletion",
        Refuted: "what its controller lacked is there",
        None: "its controller reports nothing",
    }
    /// By what objects wait for each other.
    Circle {
        OfOwners: "one of them owns the next",
        /// Finalizers of other kinds than those of owners.
        OfFinalizers: "none of them owns the next",
    }
    shared values:

    /// Whether the Node exists.
    Node(Existence) {
        Present: "the Node exists",
        Gone: "the Node does not exist",
    }
    /// Whether the CSI driver is installed.
    Driver(Existence) {
        Present: "the driver is installed",
        Gone: "the driver is not installed",
    }
    /// Whether the class exists that the object names.
    Class(Existence) {
        Present: "the class that it names exists",
        Gone: "the class that it names does not exist",
    }
    /// How the pod stands that uses the object.
    User(PodState) {
        Running: "the pod runs, or may run",
        Ended: "the pod has ended",
    }
    /// Whether the storage has what is to be deleted or detached, by its own words.
    Stored(Existence) {
        Present: "the storage does not say that it is gone",
        Gone: "the storage answers that it is gone",
    }
    /// Whether a VolumeAttachment of the volume is left.
    Attachment(Existence) {
        Present: "a VolumeAttachment of the volume is left",
        Gone: "no VolumeAttachment of the volume is left",
    }
    /// Whether the finalizer is in the pod template of the pod's workload.
    Template(Existence) {
        Present: "the pod template of its workload sets the finalizer",
        Gone: "no pod template is known to set the finalizer",
    }
    /// Whether the ServiceAccount exists that the controller works as.
    Account(Existence) {
        Present: "the controller's ServiceAccount exists",
        Gone: "the controller's ServiceAccount is gone",
    }
    /// Whether the node is declared out of service.
    OutOfService(Existence) {
        Present: "the node has the out-of-service taint",
        Gone: "the node has no out-of-service taint",
    }
    /// Whether a drain waits for a budget of another cluster.
    RemoteBudget(Existence) {
        Present: "a budget of another cluster refuses an eviction",
        Gone: "no budget of another cluster is named",
    }
    /// Whether a webhook or a policy is called for each update of the object.
    Admission(Existence) {
        Present: "a webhook or a policy is called for its updates",
        Gone: "no webhook and no policy is called for its updates",
    }
}

impl Circumstance {
    pub(super) fn is_about_the_same(self, other: Self) -> bool {
        discriminant(&self) == discriminant(&other)
    }
}

/// The facts of one case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circumstances(Vec<Circumstance>);

impl Circumstances {
    /// Notes a fact, in place of what was noted of the same.
    pub fn set(&mut self, fact: Circumstance) {
        self.0.retain(|other| !other.is_about_the_same(fact));
        self.0.push(fact);
    }

    /// Whether this is so.
    pub fn has(&self, fact: Circumstance) -> bool {
        self.0.contains(&fact)
    }

    /// Whether of each kind of fact in `when` one of those that are named is so.
    pub fn meet(&self, when: &[Circumstance]) -> bool {
        when.iter().all(|one| when.iter().any(|other| other.is_about_the_same(*one) && self.has(*other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_kind_of_fact_one_must_be_so() {
        const ABSENT: Circumstance = Circumstance::Controller(Controller::Absent);
        const UNKNOWN: Circumstance = Circumstance::Controller(Controller::Unknown);
        const PENDING: Circumstance = Circumstance::Cleanup(Cleanup::Pending);
        let mut facts = Circumstances::default();
        assert!(facts.meet(&[]) && !facts.meet(&[ABSENT]), "what was not looked at is not so");
        facts.set(UNKNOWN);
        assert!(facts.meet(&[ABSENT, UNKNOWN]) && !facts.meet(&[UNKNOWN, PENDING]));
        facts.set(PENDING);
        facts.set(ABSENT);
        assert!(facts.meet(&[ABSENT, PENDING]) && !facts.meet(&[UNKNOWN]), "one of each");
    }
}
