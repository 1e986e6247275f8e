//! A cause found at an object. Every text from elsewhere is cleaned here.

use findings::{
    Area, Cause, Circumstance, Finding, FindingBuilder, Gate, Link, Placeholder, Remedy, Values, Verdict, clean,
    clean_sentence,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::state::ObjectRef;

/// One step between an object and its root cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub subject: String,
    /// In which state.
    pub words: String,
    /// Which object it is, if it is one.
    pub object: Option<ObjectRef>,
    /// What it is otherwise: a process, a mount.
    pub what: Option<findings::Entity>,
    /// What a root that ends here is known by, where that is another object: pods are replaced under other names.
    pub identity: Option<ObjectRef>,
}

/// Which agent said it, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToldBy {
    /// The node of the agent; the steps are for this node.
    pub node: String,
    /// Seconds since the agent said it last.
    pub seconds_ago: u64,
    /// Seconds since the agent saw it first, as it says.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_seen_seconds_ago: Option<u64>,
    /// Whether the agent should have said it again since: it may be gone, and this may be old.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub overdue: bool,
    /// Why another account may have written it in the agent's name; none when a policy keeps others from that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unverified: Option<String>,
}

impl Step {
    /// A step about an object.
    pub fn about(object: &ObjectRef, words: impl AsRef<str>) -> Self {
        let (subject, words) = (clean(&object.to_string(), 200), clean_sentence(words.as_ref(), 400));
        Step { subject, words, object: Some(object.clone()), what: None, identity: None }
    }

    /// A step about something that is no object of the API.
    pub fn named(subject: impl AsRef<str>, words: impl AsRef<str>) -> Self {
        Step {
            subject: clean(subject.as_ref(), 200),
            words: clean_sentence(words.as_ref(), 400),
            object: None,
            what: None,
            identity: None,
        }
    }

    /// In place of so many objects that each wait for the next.
    pub fn left_out(count: usize) -> Self {
        Step::named(format!("{count} more objects"), "each waits for the next")
    }

    /// A root that ends here is known by this object.
    pub fn identified_by(mut self, object: &ObjectRef) -> Self {
        self.identity = Some(object.clone());
        self
    }

    /// Says as data what it is about.
    pub fn with_thing(mut self, what: Option<findings::Entity>) -> Self {
        self.what = what;
        self
    }

    pub(crate) fn link(&self, root: bool) -> Link {
        let link_of = |object: &ObjectRef| {
            findings::Entity::object(&object.kind, object.namespace.as_deref().unwrap_or_default(), &object.name)
        };
        let what = self.object.as_ref().map(link_of).or_else(|| self.what.clone());
        Link { subject: self.subject.clone(), state: self.words.clone(), what, root }
    }
}

/// A cause at work.
#[derive(Clone, Debug)]
pub struct RootCause {
    /// What is known of the finding, but for its chain.
    pub draft: FindingBuilder,
    /// What it means for whatever waits for it.
    pub verdict: Verdict,
    /// Whether only the age of what it holds keeps it from being called stuck.
    pub is_young: bool,
    /// From the object it was found at down to the root, which is last. When `here` is set, the
    /// first of them takes the place of the object's own step.
    pub steps: Vec<Step>,
    /// Whether the object itself is the root.
    pub here: bool,
    /// See [`Cause::holds_from_the_start`]; of a finalizer that is known by its name the found cause decides.
    pub holds_from_the_start: bool,
    /// What is lost when its finalizer is taken off by hand, if that is known.
    lost: Option<&'static str>,
    /// What happens when the deletion goes on, if that is known.
    goes_on: Option<String>,
    /// What an agent says of it, when it is not what the API shows.
    pub agent: Option<AgentFinding>,
}

/// What a root is. The same for all that is known of it, so that an alert survives a new cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// `Node`, `Deployment`, `Process`; of what is no object and on no node, the area of its cause.
    pub kind: String,
    /// The namespace of an object that lives in one.
    pub namespace: Option<String>,
    /// What no other root has.
    pub key: String,
}

impl Identity {
    fn of_object(object: &ObjectRef) -> Self {
        let key = format!("{} {object}", object.resource.for_kubectl());
        Identity { kind: clean(&object.kind, 63), namespace: object.namespace.clone(), key }
    }
}

/// What an agent found on its node.
#[derive(Clone, Debug)]
pub struct AgentFinding {
    /// Which agent.
    pub by: ToldBy,
    /// The gate that is blocked.
    pub gate: Option<Gate>,
    /// What to do on the node.
    pub remedy: Remedy,
    /// The pod, where it holds no other.
    pub only_pod: Option<ObjectRef>,
}

/// What an Event in the name of an agent is worth.
#[derive(Clone, Debug)]
pub enum FromAgent {
    /// Only the agent can have written it.
    Cause(Box<RootCause>),
    /// Others can have written it too.
    Claim(Claim),
}

/// What others than the agent can have written. It is no cause and cannot become one: it is quoted beside what the API shows.
#[derive(Clone, Debug)]
pub struct Claim(Box<RootCause>);

impl Claim {
    pub(crate) fn quoted(&self) -> Option<crate::report::Claim> {
        let Claim(claimed) = self;
        let chain: Vec<Link> = claimed.links().map(|link| Link { root: false, ..link }).collect();
        let by = claimed.agent.as_ref()?.by.clone();
        Some(crate::report::Claim { by, finding: claimed.finding(&chain) })
    }
}

/// More finalizers of one explanation have no steps of their own.
const MAX_OTHERS: usize = 4;

impl RootCause {
    /// A cause whose root is `object` itself, in this state.
    pub fn here(cause: &'static Cause, object: &ObjectRef, words: impl AsRef<str>) -> Self {
        RootCause::below(cause, object).at_itself(object, words)
    }

    /// The object itself is the root, in this state.
    pub fn at_itself(mut self, object: &ObjectRef, words: impl AsRef<str>) -> Self {
        self.here = true;
        self.step(Step::about(object, words))
    }

    /// A cause whose root lies below `object`: the last step that is added.
    pub fn below(cause: &'static Cause, object: &ObjectRef) -> Self {
        RootCause {
            draft: FindingBuilder::new(cause).root(object),
            verdict: Verdict::Stuck,
            steps: Vec::new(),
            here: false,
            holds_from_the_start: cause.holds_from_the_start,
            lost: None,
            goes_on: None,
            is_young: false,
            agent: None,
        }
        .names_of(object)
    }

    /// The first step takes the place of the object's own.
    pub fn in_place_of_own(mut self) -> Self {
        self.here = true;
        self
    }

    /// Adds a step towards the root.
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Puts a step above the others.
    pub fn under(mut self, step: Step) -> Self {
        self.steps.insert(0, step);
        self
    }

    /// See [`FindingBuilder::evidence`].
    pub fn evidence(self, source: impl AsRef<str>, says: impl AsRef<str>) -> Self {
        self.with(|draft| draft.evidence(source, says))
    }

    /// Adds each of these: where it stands, and what it says.
    pub fn with_evidence<S: AsRef<str>, W: AsRef<str>>(self, all: impl IntoIterator<Item = (S, W)>) -> Self {
        all.into_iter().fold(self, |found, (source, says)| found.evidence(source, says))
    }

    /// See [`FindingBuilder::name`].
    pub fn name(self, placeholder: Placeholder, value: impl ToString) -> Self {
        self.with(|draft| draft.name(placeholder, value))
    }

    /// See [`FindingBuilder::name_if`].
    pub fn name_if(self, placeholder: Placeholder, value: Option<impl ToString>) -> Self {
        self.with(|draft| draft.name_if(placeholder, value))
    }

    /// See [`FindingBuilder::probable`].
    pub fn probable(self, missing: impl AsRef<str>) -> Self {
        self.with(|draft| draft.probable(missing))
    }

    /// See [`FindingBuilder::given`].
    pub fn given(self, fact: Circumstance) -> Self {
        self.with(|draft| draft.given(fact))
    }

    /// What makes this root the same as another one.
    pub fn same_as(self, root: impl std::fmt::Display) -> Self {
        self.with(|draft| draft.root(root))
    }

    fn with(self, add: impl FnOnce(FindingBuilder) -> FindingBuilder) -> Self {
        RootCause { draft: add(self.draft), ..self }
    }

    /// What stands in the place of a placeholder, if it fits there.
    pub fn value(&self, placeholder: Placeholder) -> Option<&str> {
        self.draft.names.get(placeholder)
    }

    /// The node to check, when the API shows only that something on it is not finished.
    pub fn look_on(&self) -> Option<String> {
        self.value(Placeholder::Node)
            .filter(|_| self.draft.cause.only_the_node_knows && self.agent.is_none())
            .map(str::to_owned)
    }

    /// What the root is called beside its cause.
    pub fn key(&self) -> &str {
        self.draft.root.split_once(':').map_or(self.draft.root.as_str(), |(_, key)| key)
    }

    /// Whether both answers read the same, but for the finalizer.
    pub fn is_told_as(&self, other: &RootCause) -> bool {
        let explanation = |cause: &RootCause| (cause.draft.cause.id, cause.verdict, cause.lost);
        explanation(self) == explanation(other)
    }

    /// The same for one more finalizer, with what shows it as long as it has a patch of its own: the words at the object
    /// name them all. A doubt about one is a doubt about all.
    pub fn joined_with(mut self, other: &RootCause) -> Self {
        if self.draft.others.len() < MAX_OTHERS {
            let known = self.draft.evidence.clone();
            let new = other.draft.evidence.iter().filter(|one| !known.contains(one));
            self = self.with_evidence(new.map(|one| (&one.source, &one.says)));
            // The last in the list first: then the others stay where their patches find them.
            self.draft.others.insert(0, other.draft.names.clone());
        }
        other.draft.missing.iter().fold(self, RootCause::probable)
    }

    /// What a root is, whatever is known of its cause and whatever it holds: the node, where only that node knows; the pod,
    /// where an agent found what holds that one alone, since it may be another process by the next scan; the object at the
    /// end of the chain; a process, mount or container of a node. Else what [`RootCause::same_as`] says: a finalizer and its
    /// kind, `etcd`.
    pub fn identity(&self) -> Identity {
        let by_key = |kind: &str| Identity { kind: kind.to_owned(), namespace: None, key: self.key().to_owned() };
        if let Some(node) = self.look_on() {
            return Identity::of_object(&ObjectRef::node(&node));
        }
        if let Some(pod) = self.agent.as_ref().and_then(|agent| agent.only_pod.as_ref()) {
            return Identity::of_object(pod);
        }
        // A state of the node itself is at no gate: its kubelet, its runtime.
        let is_of_node = self.agent.as_ref().is_some_and(|agent| agent.gate.is_none());
        let other = match self.draft.cause.area {
            Area::Cluster(area) if !is_of_node => area.as_str(),
            _ => "Node",
        };
        let Some(last) = self.steps.last() else { return by_key(other) };
        // What stands at the object itself has the object's name, or another name for it: its finalizer.
        let is_at_itself = self.here && self.steps.len() == 1;
        if is_at_itself && last.object.as_ref().is_none_or(|object| self.key() != object.to_string()) {
            return by_key(other);
        }
        match (last.identity.as_ref().or(last.object.as_ref()), &last.what, &self.agent) {
            (Some(object), ..) => Identity::of_object(object),
            (None, Some(what), Some(agent)) => match what.identity() {
                Some(key) => {
                    let kind = if is_of_node { other } else { what.kind() };
                    Identity { kind: kind.to_owned(), namespace: None, key: format!("{}: {key}", agent.by.node) }
                }
                None => by_key(other),
            },
            _ => by_key(other),
        }
    }

    /// Another cause of the same, with the same steps.
    pub fn instead(mut self, cause: &'static Cause) -> Self {
        self.draft.root = cause.root(self.key());
        self.draft.cause = cause;
        self.holds_from_the_start = cause.holds_from_the_start;
        self
    }

    /// Says what is lost when its finalizer is taken off by hand.
    pub fn loses(mut self, lost: &'static str) -> Self {
        self.lost = Some(lost);
        self.name(Placeholder::Lost, lost)
    }

    /// Says what happens when the deletion goes on.
    pub fn goes_on(mut self, words: String) -> Self {
        self.goes_on = Some(words);
        self
    }

    /// An agent says so: a cause only where no other can have written it.
    pub fn by_agent(mut self, finding: AgentFinding) -> FromAgent {
        let unverified = finding.by.unverified.clone();
        let node = finding.by.node.clone();
        self.agent = Some(finding);
        match unverified {
            None => FromAgent::Cause(Box::new(self)),
            Some(why) => {
                let missing = format!("that the agent on {node} wrote it: {why}");
                FromAgent::Claim(Claim(Box::new(self.probable(missing))))
            }
        }
    }

    /// It goes on by itself.
    pub fn progressing(mut self) -> Self {
        self.verdict = Verdict::Progressing;
        self
    }

    /// No deletion is stuck; it only looks so.
    pub fn not_stuck(mut self) -> Self {
        self.verdict = Verdict::Clear;
        self
    }

    /// The same root as another one's, as far as the cause is the same.
    pub fn same_as_of(self, other: &RootCause) -> Self {
        self.same_as(other.key())
    }

    fn names_of(self, object: &ObjectRef) -> Self {
        let named = self.name(Placeholder::Type, object.type_for_kubectl()).name(Placeholder::Name, &object.name);
        match &object.namespace {
            Some(namespace) => named.name(Placeholder::Namespace, namespace),
            None => named,
        }
    }

    fn remedy(&self, general: Remedy) -> Remedy {
        if let Some(agent) = &self.agent {
            return agent.remedy.clone();
        }
        let cause = self.draft.cause;
        let lost = self.lost.filter(|_| cause.danger.is_any_finalizer_by_hand() && general.dont == cause.danger.action);
        let breaks = lost.map_or(general.breaks.clone(), |lost| cause.danger.breaks_and_when(&format!("{lost}.")));
        let details = self.goes_on.as_ref().filter(|_| cause.resumes_deletion());
        let note = general.note.map(|note| details.map_or(note.clone(), |details| format!("{note}: {details}")));
        Remedy { note, breaks, ..general }
    }

    /// From the object to the root, without what stands for the object itself if the first takes its place.
    pub(super) fn links(&self) -> impl Iterator<Item = Link> {
        let last = self.steps.len().saturating_sub(1);
        self.steps.iter().enumerate().map(move |(index, step)| step.link(index == last))
    }

    /// The finding for a victim, from which this chain leads.
    pub(super) fn finding(&self, chain: &[Link]) -> Finding {
        let gate = self.agent.as_ref().and_then(|agent| agent.gate);
        let found = self.draft.clone().gate(gate).chain(chain).finish();
        // The chain and the steps have the values in words.
        Finding { remedy: self.remedy(found.remedy.clone()), values: Values::new(), ..found }
    }
}
