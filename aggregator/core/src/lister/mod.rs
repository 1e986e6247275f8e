//! Finds objects in a state, as a controller's lister finds them in its cache. What a rule needs and the state does
//! not have becomes a question.

mod agent_events;
mod named_volumes;
mod rights;
mod subject;
mod trace;
mod written;

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use findings::FaultKind;
use foldhash::HashMap;
use jiff::Timestamp;

use agent_events::ByNode;
pub use agent_events::question as agent_events_question;
pub use trace::{Changes, Dependency, Trace};

use crate::access::{Access, Reads};
use crate::messages::Message;
use crate::state::{
    AgentEvent, Answer, Answered, ApiResource, Counts, Detail, Discovery, Facts, Kind, Lease, Namespace, Object,
    ObjectRef, PersistentVolume, Pod, Question, Resource, Scope, Select, State, Subject, Version, known,
};

/// A state, and the questions that came up while it was judged.
pub struct Lister<'a> {
    /// Read through the functions here alone, which note the right that it takes.
    state: &'a State,
    trace: RefCell<Trace>,
    index: RefCell<BTreeMap<&'a Question, Index<'a>>>,
    /// When kube-controller-manager was last seen to write, and where.
    controllers_wrote: OnceCell<Option<(Timestamp, ObjectRef)>>,
    /// Of the agents' Events of the whole cluster those of each node: there may be thousands, and every pod asks.
    by_node: OnceCell<ByNode<'a>>,
    /// The Leases of each answer that is older than the state, and as of when they are known.
    leases: OnceCell<Vec<(&'a [Lease], Timestamp)>>,
    /// Roles and bindings.
    looked: rights::Looked<'a>,
}

/// Where each object of one answer stands, by namespace and name.
type Index<'a> = HashMap<(Option<&'a str>, &'a str), usize>;

impl<'a> Lister<'a> {
    /// Looks at a state.
    pub fn new(state: &'a State) -> Self {
        Lister {
            state,
            trace: RefCell::default(),
            index: RefCell::default(),
            controllers_wrote: OnceCell::new(),
            by_node: OnceCell::new(),
            leases: OnceCell::new(),
            looked: rights::Looked::default(),
        }
    }

    /// What came up since this was last asked.
    pub fn take_trace(&self) -> Trace {
        self.trace.take().once_each()
    }

    fn depends_on(&self, one: Dependency) {
        self.trace.borrow_mut().dependencies.push(one);
    }

    /// Notes the right that this takes.
    fn reads(&self, access: impl Into<Option<Access>>) {
        self.trace.borrow_mut().reads.extend(access.into());
    }

    fn asks(&self, question: Question) {
        self.trace.borrow_mut().questions.insert(question);
    }

    /// Whether this was answered.
    fn is_answered(&self, question: &Question) -> bool {
        self.depends_on(Dependency::answer(question));
        self.state.answers.contains_key(question)
    }

    /// What is to be asked when all this came up.
    pub fn questions(&self, Trace { mut questions, silent_nodes, .. }: Trace) -> BTreeSet<Question> {
        let all = self.state.answers.get(&agent_events::question(None));
        let all_are_cut = all.is_some_and(|answered| answered.cut);
        questions.extend(agent_events::questions(&silent_nodes, all_are_cut));
        named_volumes::limit(self.state, &mut questions);
        questions
    }

    pub fn version(&self) -> Answer<&'a Version> {
        self.facts(Question::Version).and_then(|facts| match facts {
            Facts::Version(version) => Answer::Seen(version),
            _ => malformed(),
        })
    }

    /// What the server serves.
    pub fn discovery(&self) -> Answer<&'a Discovery> {
        self.facts(Question::Discovery).and_then(|facts| match facts {
            Facts::Discovery(discovery) => Answer::Seen(discovery),
            _ => malformed(),
        })
    }

    /// The checks that the API server fails.
    pub fn failed_checks(&self) -> Answer<&'a [String]> {
        self.facts(Question::Health).and_then(|facts| match facts {
            Facts::FailedChecks(names) => Answer::Seen(names.as_slice()),
            _ => malformed(),
        })
    }

    /// How many objects of a kind a namespace has, counted twice.
    pub fn counts(&self, resource: &Resource, namespace: &str) -> Answer<&'a Counts> {
        let (resource, namespace) = (resource.clone(), namespace.to_owned());
        self.facts(Question::Counts { resource, namespace }).and_then(|facts| match facts {
            Facts::Counts(counts) => Answer::Seen(counts),
            _ => malformed(),
        })
    }

    /// What a kubelet has written about a pod; missing where it is not to be queried.
    pub fn kubelet_log(&self, node: &str, uid: &str) -> Answer<&'a [Message]> {
        let is_uid = uid.len() == 36 && uid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if !self.state.kubelet_log || !is_uid {
            return Answer::Missing;
        }
        self.facts(Question::KubeletLog { node: node.to_owned(), uid: uid.to_owned() }).and_then(|facts| match facts {
            Facts::KubeletLog(lines) => Answer::Seen(lines.as_slice()),
            _ => malformed(),
        })
    }

    /// What the agent in a pod reports of another pod right now. `before` is for a pod that is not being deleted.
    pub fn live(&self, agent: (String, String), pod: &Pod, before: bool) -> Answer<Vec<&'a AgentEvent>> {
        self.each(Question::Live { agent, pod: pod.metadata.namespace_and_name(), before })
    }

    /// All objects of a kind, of the cluster or of one namespace.
    pub fn list<K: Kind>(&self, known: ApiResource, scope: Scope) -> Answer<Vec<&'a K>> {
        let is_inside = |object: &&K| match &scope {
            Scope::Namespace(namespace) => object.meta().namespace.as_ref() == Some(namespace),
            Scope::All | Scope::Named(..) => true,
        };
        self.listed(known, &scope).map(|all: &'a [K]| all.iter().filter(is_inside).collect())
    }

    /// The pods of a node.
    pub fn pods_on(&self, node: &str) -> Answer<Vec<&'a Pod>> {
        self.select(known::PODS, Scope::All, Select::Fields(format!("spec.nodeName={node}")))
    }

    fn listed<K: Kind>(&self, known: ApiResource, scope: &Scope) -> Answer<&'a [K]> {
        let list = |scope| Question::objects(known, scope, Select::Every, Detail::Full);
        if let (Scope::Namespace(_), Some(all)) = (scope, self.whole::<K>(&list(Scope::All))) {
            self.reads(Access::list(&known.into(), scope));
            return Answer::Seen(all);
        }
        self.facts(list(scope.clone())).and_then(slice_of)
    }

    /// The objects of a kind that a selector selects.
    pub fn select<K: Kind>(&self, known: ApiResource, scope: Scope, select: Select) -> Answer<Vec<&'a K>> {
        self.each(Question::objects(known, scope, select, Detail::Full))
    }

    /// Volumes that are a path of one node: of a large cluster these few are kept, where not all are known anyway.
    pub fn local_volumes(&self) -> Answer<Vec<&'a PersistentVolume>> {
        let all = Question::objects(known::VOLUMES, Scope::All, Select::Every, Detail::Full);
        match self.whole::<PersistentVolume>(&all) {
            Some(all) => {
                self.reads(Access::list(&known::VOLUMES.into(), &Scope::All));
                Answer::Seen(all.iter().filter(|volume| volume.is_local()).collect())
            }
            None => self.select(known::VOLUMES, Scope::All, Select::Local),
        }
    }

    /// One object of a kind: from a list that has it, else by its name.
    pub fn get<K: Kind>(&self, known: ApiResource, namespace: Option<&str>, name: &str) -> Answer<&'a K> {
        self.one(&known.into(), Detail::Full, namespace, name)
    }

    /// One object, from the list of its namespace: others of the list will be needed as well. By its
    /// name when the list cannot be had.
    pub fn get_listed<K: Kind>(&self, known: ApiResource, namespace: &str, name: &str) -> Answer<&'a K> {
        let list = Question::objects(known, Scope::Namespace(namespace.to_owned()), Select::Every, Detail::Full);
        if !self.is_answered(&list) {
            self.asks(list);
            return Answer::Unasked;
        }
        self.get(known, Some(namespace), name)
    }

    /// One object that is being deleted, from the list of all such objects if that was asked for.
    pub fn terminating<K: Kind>(&self, known: ApiResource, namespace: Option<&str>, name: &str) -> Answer<&'a K> {
        self.listed_as(Select::Terminating, known, namespace, name)
            .map_or_else(|| self.get(known, namespace, name), Answer::Seen)
    }

    /// One pod: from the lists of those that are being deleted and of those that wait to start, if these were asked for. Where no
    /// object was named it is in the list of its namespace: the service may not read single pods.
    pub fn pod(&self, namespace: &str, name: &str) -> Answer<&'a Pod> {
        for select in [Select::Terminating, Select::pending()] {
            if let Some(found) = self.listed_as(select, known::PODS, Some(namespace), name) {
                return Answer::Seen(found);
            }
        }
        match self.state.subject {
            Subject::Everything { .. } => self.get_listed(known::PODS, namespace, name),
            _ => self.get(known::PODS, Some(namespace), name),
        }
    }

    /// One cluster-wide object, from the list of those in this phase if that was asked for.
    pub fn in_phase<K: Kind>(&self, known: ApiResource, phase: &str, name: &str) -> Answer<&'a K> {
        self.listed_as(Select::Fields(format!("status.phase={phase}")), known, None, name)
            .map_or_else(|| self.get(known, None, name), Answer::Seen)
    }

    /// A volume. Where the list of all was refused, each is not queried as well: there may be thousands.
    pub fn volume(&self, name: &str) -> Answer<&'a PersistentVolume> {
        let all = Question::objects(known::VOLUMES, Scope::All, Select::Every, Detail::Full);
        if self.is_answered(&all)
            && let Some(Answer::Failed(fault)) = self.state.answers.get(&all).map(|answered| &answered.answer)
            && fault.kind == FaultKind::Denied
        {
            self.reads(Access::of_question(&all));
            return Answer::Failed(fault.clone());
        }
        self.get(known::VOLUMES, None, name)
    }

    /// Reads what only adds to what is known of an object. The rights that this takes are not noted for the object.
    pub fn read_apart<T>(&self, read: impl FnOnce(&Self) -> T) -> (T, Reads) {
        let before = std::mem::take(&mut self.trace.borrow_mut().reads);
        let value = read(self);
        let own = std::mem::replace(&mut self.trace.borrow_mut().reads, before);
        (value, Reads::new(own))
    }

    /// A namespace: from the list of those that are being deleted, if that was asked for, else by its name.
    pub fn namespace(&self, name: &str) -> Answer<&'a Namespace> {
        self.in_phase(known::NAMESPACES, "Terminating", name)
    }

    /// Whether this namespace is being deleted; `false` when that is unknown.
    pub fn is_namespace_terminating(&self, name: &str) -> bool {
        self.namespace(name).seen().is_some_and(|namespace| namespace.metadata.deletion_timestamp.is_some())
    }

    /// The metadata of all objects of any kind.
    pub fn metadata(&self, resource: &Resource, scope: Scope) -> Answer<Vec<&'a Object>> {
        self.each(Question::objects(resource.clone(), scope, Select::Every, Detail::Metadata))
    }

    /// All objects of a kind, with what is read of any.
    pub fn objects(&self, resource: &Resource, scope: Scope) -> Answer<Vec<&'a Object>> {
        self.each(Question::objects(resource.clone(), scope, Select::Every, Self::detail_of_any(resource)))
    }

    /// How much is asked for to know what is read of any kind.
    pub fn detail_of_any(resource: &Resource) -> Detail {
        if known::find(resource).is_some() { Detail::AnyKind } else { Detail::Full }
    }

    /// Whether a list of these objects was read to its end: of one that was cut, what is not in it may exist.
    pub fn is_whole(&self, resource: &Resource, scope: Scope, detail: Detail) -> bool {
        self.whole::<Object>(&Question::objects(resource.clone(), scope, Select::Every, detail)).is_some()
    }

    /// The metadata of all objects of any kind that are being deleted.
    pub fn terminating_metadata(&self, resource: &Resource, scope: Scope) -> Answer<Vec<&'a Object>> {
        self.each(Question::terminating_metadata(resource.clone(), scope))
    }

    /// The scan of one kind for what is being deleted, as far as it came; none before it.
    pub fn scan(&self, resource: &Resource, scope: Scope) -> Option<&'a Answered> {
        let question = Question::terminating_metadata(resource.clone(), scope);
        if self.is_answered(&question) {
            return self.state.answers.get(&question);
        }
        self.asks(question);
        None
    }

    /// The same where the answer is there already, as for a watched kind.
    pub fn watched(&self, known: ApiResource) -> Option<Answer<Vec<&'a Object>>> {
        let question = Question::terminating_metadata(known, Scope::All);
        self.is_answered(&question).then(|| self.each(question))
    }

    /// The metadata of all objects that a label selector selects.
    pub fn labelled(&self, resource: &Resource, scope: Scope, labels: &str) -> Answer<Vec<&'a Object>> {
        self.each(Question::objects(resource.clone(), scope, Select::Labels(labels.to_owned()), Detail::Metadata))
    }

    /// The metadata of all objects of this name, in whichever namespace.
    pub fn namesakes(&self, resource: &Resource, name: &str) -> Answer<Vec<&'a Object>> {
        let select = Select::Fields(format!("metadata.name={name}"));
        self.each(Question::objects(resource.clone(), Scope::All, select, Detail::Metadata))
    }

    /// The metadata of one object of any kind, from a list that has been asked for or by its name.
    pub fn object(&self, resource: &Resource, namespace: Option<&str>, name: &str) -> Answer<&'a Object> {
        for scope in scopes(namespace) {
            let question = Question::terminating_metadata(resource.clone(), scope);
            if let Some(found) = self.within(&question, namespace, name) {
                return Answer::Seen(found);
            }
        }
        self.one(resource, Detail::Metadata, namespace, name)
    }

    /// Whether a list of its namespace alone lacks an object: that of all namespaces may be older.
    pub fn lacks(&self, resource: &Resource, namespace: &str, name: &str) -> Answer<bool> {
        let own = Question::terminating_metadata(resource.clone(), Scope::Namespace(namespace.to_owned()));
        let is_whole = complete::<Object>(self.state, &own).is_some();
        let is_it = |object: &Object| object.metadata.name == name;
        self.facts(own).and_then(slice_of).map(|objects| is_whole && !objects.iter().any(is_it))
    }

    /// One object of any kind, with its status conditions.
    pub fn with_status(&self, resource: &Resource, namespace: Option<&str>, name: &str) -> Answer<&'a Object> {
        self.one(resource, Detail::Full, namespace, name)
    }

    fn one<K: Kind>(&self, resource: &Resource, detail: Detail, namespace: Option<&str>, name: &str) -> Answer<&'a K> {
        let question = |scope| Question::objects(resource.clone(), scope, Select::Every, detail);
        let named = question(Scope::Named(namespace.map(str::to_owned), name.to_owned()));
        if !self.is_answered(&named) {
            for list in scopes(namespace).map(question) {
                if let Some(found) = self.within(&list, namespace, name) {
                    return Answer::Seen(found);
                }
                // That it lacks this one is all that counts of it.
                if complete::<K>(self.state, &list).is_some() {
                    return Answer::Missing;
                }
            }
        }
        self.facts(named).and_then(slice_of).and_then(|objects| objects.first().map_or(Answer::Missing, Answer::Seen))
    }

    /// One object, from the lists of what `select` selects that were asked for.
    fn listed_as<K: Kind>(
        &self,
        select: Select,
        known: ApiResource,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<&'a K> {
        let list = |scope| Question::objects(known, scope, select.clone(), Detail::Full);
        scopes(namespace).map(list).find_map(|list| self.within(&list, namespace, name))
    }

    /// The object of this name in the answer to a list, if that was asked for and has it.
    fn within<K: Kind>(&self, question: &Question, namespace: Option<&str>, name: &str) -> Option<&'a K> {
        self.depends_on(Dependency::object(question, namespace, name));
        let (question, answered) = self.state.answers.get_key_value(question)?;
        let Answer::Seen(facts) = &answered.answer else { return None };
        if let Question::Objects { resource, .. } = question {
            self.reads(Access::get(resource, namespace, name));
        }
        let objects = K::among(facts)?;
        let mut indexes = self.index.borrow_mut();
        let index = indexes.entry(question).or_insert_with(|| {
            let key = |object: &'a K| (object.meta().namespace.as_deref(), object.meta().name.as_str());
            objects.iter().enumerate().map(|(at, object)| (key(object), at)).collect()
        });
        objects.get(*index.get(&(namespace, name))?)
    }

    /// All objects of a kind that some answer holds; one that was asked for twice comes twice.
    pub fn met<K: Kind + 'a>(&self, known: ApiResource) -> impl Iterator<Item = &'a K> + use<'a, K> {
        self.trace.borrow_mut().depends_on_all = true;
        self.reads(Access::list(&known.into(), &Scope::All));
        let answers = self.state.answers.values();
        let facts = answers.filter_map(|answered| answered.answer.as_ref().seen());
        facts.filter_map(|facts| K::among(facts)).flatten()
    }

    fn each<K: Kind>(&self, question: Question) -> Answer<Vec<&'a K>> {
        self.facts(question).and_then(slice_of).map(|objects| objects.iter().collect())
    }

    fn facts(&self, question: Question) -> Answer<&'a Facts> {
        self.depends_on(Dependency::answer(&question));
        match self.state.answers.get(&question) {
            Some(answered) => {
                self.reads(Access::of_question(&question));
                if answered.cut {
                    self.trace.borrow_mut().cut.insert(answered.question.to_string());
                }
                answered.answer.as_ref()
            }
            None => {
                self.asks(question);
                Answer::Unasked
            }
        }
    }

    fn whole<K: Kind>(&self, question: &Question) -> Option<&'a [K]> {
        self.depends_on(Dependency::answer(question));
        complete(self.state, question)
    }
}

/// What was read to its end.
fn complete<'a, K: Kind>(state: &'a State, question: &Question) -> Option<&'a [K]> {
    match state.answers.get(question) {
        Some(Answered { answer: Answer::Seen(facts), cut: false, .. }) => K::among(facts),
        _ => None,
    }
}

/// Lists that may hold an object of this namespace.
fn scopes(namespace: Option<&str>) -> impl Iterator<Item = Scope> {
    [Some(Scope::All), namespace.map(|namespace| Scope::Namespace(namespace.to_owned()))].into_iter().flatten()
}

fn slice_of<K: Kind>(facts: &Facts) -> Answer<&[K]> {
    K::among(facts).map_or_else(malformed, Answer::Seen)
}

/// A saved state that was edited by hand.
fn malformed<T>() -> Answer<T> {
    Answer::failed(FaultKind::Malformed, "it holds objects of another kind")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_another_kind_are_malformed_and_not_missing() {
        let mut state = State::new(Subject::Everything { namespace: None, all_kinds: false }, Timestamp::UNIX_EPOCH);
        for question in [Question::Version, Question::Discovery] {
            state.add(Answered::whole(question, Answer::Seen(Facts::Objects(Vec::new()))));
        }
        let lister = Lister::new(&state);
        assert!(matches!(lister.version(), Answer::Failed(fault) if fault.kind == FaultKind::Malformed));
        assert!(matches!(lister.discovery(), Answer::Failed(fault) if fault.kind == FaultKind::Malformed));
    }
}
