//! The state as the rules see it. What a rule needs and the state does not have becomes a question.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::state::{
    Answer, Answered, Detail, Discovery, Facts, Kind, Known, Object, Question, Resource, Scope, Select, State, Version,
};

/// A state, and the questions that came up while it was judged.
pub struct View<'a> {
    /// What is known.
    pub state: &'a State,
    questions: RefCell<BTreeSet<Question>>,
    cut: RefCell<BTreeSet<String>>,
}

impl<'a> View<'a> {
    /// Looks at a state.
    pub fn new(state: &'a State) -> Self {
        View { state, questions: RefCell::new(BTreeSet::new()), cut: RefCell::new(BTreeSet::new()) }
    }

    /// What came up, and which of the answers that were used are not whole.
    pub fn finish(self) -> (BTreeSet<Question>, BTreeSet<String>) {
        (self.questions.into_inner(), self.cut.into_inner())
    }

    /// The server's version.
    pub fn version(&self) -> Answer<&'a Version> {
        self.facts(Question::Version).and_then(|facts| match facts {
            Facts::Version(version) => Answer::Seen(version),
            _ => Answer::Missing,
        })
    }

    /// What the server serves.
    pub fn discovery(&self) -> Answer<&'a Discovery> {
        self.facts(Question::Discovery).and_then(|facts| match facts {
            Facts::Discovery(discovery) => Answer::Seen(discovery),
            _ => Answer::Missing,
        })
    }

    /// All objects of a kind, of the cluster or of one namespace.
    pub fn list<K: Kind>(&self, known: Known, scope: Scope) -> Answer<Vec<&'a K>> {
        if let (Scope::Namespace(namespace), Some(all)) = (&scope, self.whole::<K>(known)) {
            let inside = |object: &&K| object.meta().namespace.as_ref() == Some(namespace);
            return Answer::Seen(all.iter().filter(inside).collect());
        }
        self.select(known, scope, Select::Every)
    }

    /// The objects of a kind that a selector selects.
    pub fn select<K: Kind>(&self, known: Known, scope: Scope, select: Select) -> Answer<Vec<&'a K>> {
        let detail = Detail::Full;
        self.facts(Question::Objects { resource: known.into(), scope, select, detail }).and_then(of_kind)
    }

    /// One object of a kind.
    pub fn get<K: Kind>(&self, known: Known, namespace: Option<&str>, name: &str) -> Answer<&'a K> {
        let is_it = |object: &&K| object.meta().name == name && object.meta().namespace.as_deref() == namespace;
        let question = |scope| {
            let (resource, select, detail) = (known.into(), Select::Every, Detail::Full);
            Question::Objects { resource, scope, select, detail }
        };
        let named = question(Scope::Named(namespace.map(str::to_owned), name.to_owned()));
        if !self.state.answers.contains_key(&named) {
            let lists = [Some(Scope::All), namespace.map(|namespace| Scope::Namespace(namespace.to_owned()))];
            for list in lists.into_iter().flatten() {
                if let Some(objects) = self.complete::<K>(&question(list)) {
                    return objects.iter().find(is_it).map_or(Answer::Missing, Answer::Seen);
                }
            }
        }
        self.facts(named)
            .and_then(of_kind)
            .and_then(|objects: Vec<&K>| objects.first().map_or(Answer::Missing, |object| Answer::Seen(*object)))
    }

    /// The metadata of all objects of any kind.
    pub fn metadata(&self, resource: &Resource, scope: Scope) -> Answer<Vec<&'a Object>> {
        let (resource, select, detail) = (resource.clone(), Select::Every, Detail::Metadata);
        self.facts(Question::Objects { resource, scope, select, detail }).and_then(of_kind)
    }

    /// The metadata of one object of any kind, from a list that has been asked for or by its name.
    pub fn object(&self, resource: &Resource, namespace: Option<&str>, name: &str) -> Answer<&'a Object> {
        let is_it =
            |object: &&Object| object.metadata.name == name && object.metadata.namespace.as_deref() == namespace;
        for scope in [Some(Scope::All), namespace.map(|namespace| Scope::Namespace(namespace.to_owned()))] {
            let Some(scope) = scope else { continue };
            let (resource, select, detail) = (resource.clone(), Select::Every, Detail::Metadata);
            let listed = self.complete::<Object>(&Question::Objects { resource, scope, select, detail });
            if let Some(found) = listed.and_then(|objects| objects.iter().find(is_it)) {
                return Answer::Seen(found);
            }
        }
        self.named(resource, namespace, name, Detail::Metadata)
    }

    /// One object of any kind, with its status conditions.
    pub fn with_status(&self, resource: &Resource, namespace: Option<&str>, name: &str) -> Answer<&'a Object> {
        self.named(resource, namespace, name, Detail::Full)
    }

    fn named(&self, resource: &Resource, namespace: Option<&str>, name: &str, detail: Detail) -> Answer<&'a Object> {
        let scope = Scope::Named(namespace.map(str::to_owned), name.to_owned());
        let (resource, select) = (resource.clone(), Select::Every);
        self.facts(Question::Objects { resource, scope, select, detail })
            .and_then(of_kind)
            .and_then(|objects: Vec<&Object>| objects.first().map_or(Answer::Missing, |object| Answer::Seen(*object)))
    }

    fn facts(&self, question: Question) -> Answer<&'a Facts> {
        match self.state.answers.get(&question) {
            Some(answered) => {
                if answered.cut {
                    self.cut.borrow_mut().insert(answered.question.to_string());
                }
                answered.answer.as_ref()
            }
            None => {
                self.questions.borrow_mut().insert(question);
                Answer::Unasked
            }
        }
    }

    fn whole<K: Kind>(&self, known: Known) -> Option<&'a [K]> {
        let (resource, scope, select, detail) = (known.into(), Scope::All, Select::Every, Detail::Full);
        self.complete(&Question::Objects { resource, scope, select, detail })
    }

    fn complete<K: Kind>(&self, question: &Question) -> Option<&'a [K]> {
        match self.state.answers.get(question) {
            Some(Answered { answer: Answer::Seen(facts), cut: false, .. }) => K::among(facts),
            _ => None,
        }
    }
}

fn of_kind<K: Kind>(facts: &Facts) -> Answer<Vec<&K>> {
    match K::among(facts) {
        Some(objects) => Answer::Seen(objects.iter().collect()),
        // A saved state that was edited by hand.
        None => Answer::Failed("the answer holds objects of another kind".to_owned()),
    }
}
