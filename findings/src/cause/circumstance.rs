//! What a step depends on: facts of the case, which a rule of the cluster supplies.

use std::mem::discriminant;

/// How the program stands that must finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// It has a ready pod.
    Ready,
    /// It should run, and no pod of it is ready.
    NotReady,
    /// The same, and its container exits after each start.
    Crashing,
    /// Its workload is scaled to 0.
    ScaledDown,
    /// Nothing was found that could be it.
    Absent,
    /// It runs where workloads do not show it: in a cloud's control plane, in a pod of its own kind.
    Hidden,
    /// It is a part of the server of k3s or RKE2.
    InServer,
    /// What could show it shows nothing of this finalizer.
    Unknown,
    /// It may run unseen: what could show it was not readable, or one of several that run may be it.
    Unseen,
}

/// Whether an object exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existence {
    /// It does.
    Present,
    /// The API server has none of this name.
    Gone,
}

/// What would be lost if its controller never came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleanup {
    /// As far as is known, what the finalizer stands for.
    Pending,
    /// The object shows that nothing is left to clean up.
    Nothing,
}

/// Why a PodDisruptionBudget allows no eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// A program looks after it, or after its pods.
    OfProgram,
    /// `maxUnavailable` is 0.
    NoneUnavailable,
    /// It wants as many pods as there are.
    All,
    /// Another one selects the same pod.
    Several,
    /// Too few of its pods are ready.
    TooFewReady,
    /// The same, and with all of them ready it would still allow none.
    TooFewReadyOfAll,
    /// The controller has not counted its pods since it was made or changed.
    NotCounted,
}

/// Of which kind the objects are that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Of one whose list fails.
    Listed,
    /// Secrets: every other kind can be listed, and they are not.
    Secrets,
    /// Of any: no key of the API server opens one of them.
    Encrypted,
    /// Of one whose cache the API server makes anew.
    Starting,
    /// That is not known.
    Unknown,
}

/// Who uses an object that waits for the last of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Users {
    /// An object uses it.
    Some,
    /// No user is left.
    None,
    /// Only objects of another namespace name one that is called so.
    Elsewhere,
    /// They could not be looked at, or it is not known which kinds use it.
    Unknown,
}

/// Whether what is missing can be created again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    /// As far as is known.
    Possible,
    /// Its namespace is being deleted: the API server takes nothing new there.
    Refused,
    /// It need not be: it exists, and reports a failure.
    Exists,
}

/// Why the API server does not reach a backend that has a ready endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The connection is refused.
    Refused,
    /// No connection was made.
    Cut,
    /// No answer came in time.
    Late,
}

/// How a pod that is not being deleted stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodState {
    /// It may still do something.
    Running,
    /// Its phase is Succeeded or Failed.
    Ended,
}

/// Who counts the pods of a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobManager {
    /// The Job controller of the controller manager.
    ControllerManager,
    /// The controller that `spec.managedBy` names.
    Other,
}

/// What an object's own words are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// As far as is known, they are of the deletion.
    Current,
    /// They were written before it.
    Outdated,
    /// What they name works again, or exists.
    Refuted,
    /// It says nothing.
    None,
}

/// By what objects wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Circle {
    /// One of them owns the next, and is deleted in the foreground.
    OfOwners,
    /// No owner: finalizers of other kinds.
    OfFinalizers,
}

/// One fact of a case. Of each kind of fact a case has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Circumstance {
    Controller(Controller),
    /// What is left to clean up.
    Cleanup(Cleanup),
    Node(Existence),
    /// Whether the CSI driver is installed.
    Driver(Existence),
    /// Whether the class exists that the object names.
    Class(Existence),
    /// Why a budget allows no eviction.
    Budget(Budget),
    Users(Users),
    /// How the pod stands that uses the object.
    User(PodState),
    /// Of which kind the objects are that cannot be read.
    Unread(Unread),
    /// Whether what is missing can be created again.
    Creation(Creation),
    /// Whether the storage has what is to be deleted or detached, by its own words.
    Stored(Existence),
    Reach(Reach),
    /// Whether a VolumeAttachment of the volume is left.
    Attachment(Existence),
    /// Who counts the pods of a Job.
    JobManager(JobManager),
    /// Whether the finalizer is in the pod template of the pod's workload.
    Template(Existence),
    /// Whether the ServiceAccount exists that the controller works as.
    Account(Existence),
    /// Whether the node is declared out of service.
    OutOfService(Existence),
    /// By what objects wait for each other.
    Circle(Circle),
    /// What the words are worth that the object's controller reports.
    Words(Words),
    /// Whether a drain waits for a budget of another cluster.
    RemoteBudget(Existence),
}

impl Circumstance {
    /// After "when".
    pub fn words(self) -> &'static str {
        match self {
            Circumstance::Controller(Controller::Ready) => "its controller has a ready pod",
            Circumstance::Controller(Controller::NotReady) => "no pod of its controller is ready",
            Circumstance::Controller(Controller::Crashing) => "its container exits after each start",
            Circumstance::Controller(Controller::ScaledDown) => "its controller is scaled to 0",
            Circumstance::Controller(Controller::Absent) => "no controller was found",
            Circumstance::Controller(Controller::Hidden) => "its controller runs where workloads do not show it",
            Circumstance::Controller(Controller::InServer) => "its controller is a part of the server of k3s or RKE2",
            Circumstance::Controller(Controller::Unknown) => "nothing shows which controller it has",
            Circumstance::Controller(Controller::Unseen) => "its controller may run unseen",
            Circumstance::Cleanup(Cleanup::Pending) => "its clean-up may not be done",
            Circumstance::Cleanup(Cleanup::Nothing) => "nothing is left to clean up",
            Circumstance::Node(Existence::Present) => "the Node exists",
            Circumstance::Node(Existence::Gone) => "the Node does not exist",
            Circumstance::Driver(Existence::Present) => "the driver is installed",
            Circumstance::Driver(Existence::Gone) => "the driver is not installed",
            Circumstance::Users(Users::Some) => "an object that uses it is left",
            Circumstance::Users(Users::None) => "nothing uses it any more",
            Circumstance::Users(Users::Elsewhere) => "only objects of other namespaces name one that is called so",
            Circumstance::Users(Users::Unknown) => "it is not known what uses it",
            Circumstance::User(PodState::Running) => "the pod runs, or may run",
            Circumstance::User(PodState::Ended) => "the pod has ended",
            Circumstance::Unread(Unread::Listed) => "the list of one kind fails",
            Circumstance::Unread(Unread::Secrets) => "every kind but Secrets can be listed",
            Circumstance::Unread(Unread::Encrypted) => "no key of the API server opens it",
            Circumstance::Unread(Unread::Unknown) => "the kind is not known",
            Circumstance::Budget(Budget::OfProgram) => "a program looks after the budget or its pods",
            Circumstance::Budget(Budget::NoneUnavailable) => "the budget's maxUnavailable is 0",
            Circumstance::Budget(Budget::All) => "the budget wants as many pods as there are",
            Circumstance::Budget(Budget::Several) => "several budgets select the same pod",
            Circumstance::Budget(Budget::NotCounted) => "the budget's pods have not been counted",
            Circumstance::Budget(Budget::TooFewReady) => "too few of its pods are ready",
            Circumstance::Budget(Budget::TooFewReadyOfAll) => {
                "too few of its pods are ready, and it wants as many as there are"
            }
            Circumstance::Class(Existence::Present) => "the class that it names exists",
            Circumstance::Template(Existence::Present) => "the pod template of its workload sets the finalizer",
            Circumstance::Template(Existence::Gone) => "no pod template is known to set the finalizer",
            Circumstance::Account(Existence::Present) => "the controller's ServiceAccount exists",
            Circumstance::Account(Existence::Gone) => "the controller's ServiceAccount is gone",
            Circumstance::OutOfService(Existence::Present) => "the node has the out-of-service taint",
            Circumstance::OutOfService(Existence::Gone) => "the node has no out-of-service taint",
            Circumstance::Circle(Circle::OfOwners) => "one of them owns the next",
            Circumstance::Circle(Circle::OfFinalizers) => "none of them owns the next",
            Circumstance::RemoteBudget(Existence::Present) => "a budget of another cluster refuses an eviction",
            Circumstance::RemoteBudget(Existence::Gone) => "no budget of another cluster is named",
            Circumstance::Attachment(Existence::Present) => "a VolumeAttachment of the volume is left",
            Circumstance::Attachment(Existence::Gone) => "no VolumeAttachment of the volume is left",
            Circumstance::JobManager(JobManager::ControllerManager) => "kube-controller-manager counts the Job's pods",
            Circumstance::JobManager(JobManager::Other) => "spec.managedBy of the Job names another controller",
            Circumstance::Unread(Unread::Starting) => "the API server's cache of the kind is not ready",
            Circumstance::Stored(Existence::Present) => "the storage does not say that it is gone",
            Circumstance::Stored(Existence::Gone) => "the storage answers that it is gone",
            Circumstance::Reach(Reach::Refused) => "the connection is refused",
            Circumstance::Reach(Reach::Cut) => "no connection is made",
            Circumstance::Reach(Reach::Late) => "no answer comes in time",
            Circumstance::Creation(Creation::Possible) => "what is missing can be created again",
            Circumstance::Creation(Creation::Exists) => "what the controller needs exists and reports a failure",
            Circumstance::Creation(Creation::Refused) => "the namespace of what is missing is being deleted",
            Circumstance::Words(Words::Current) => "what its controller reports may be of the deletion",
            Circumstance::Words(Words::Outdated) => "what its controller reports was written before the deletion",
            Circumstance::Words(Words::Refuted) => "what its controller lacked is there",
            Circumstance::Words(Words::None) => "its controller reports nothing",
            Circumstance::Class(Existence::Gone) => "the class that it names does not exist",
        }
    }

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
