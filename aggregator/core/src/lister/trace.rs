//! What a judgement depends on, and what it lacks.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use crate::access::Access;
use crate::state::{AgentEvent, Facts, Kind as _, Meta, Question};
use foldhash::HashSet;

/// An answer, or what it says of one object. Kept as hashes, as there are tens for each object: where two are the same by
/// chance, something is judged again that need not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dependency {
    answer: u64,
    /// Zero for all of it.
    object: u64,
}

impl Dependency {
    pub fn answer(question: &Question) -> Self {
        Dependency { answer: hash(question), object: 0 }
    }

    /// What it says of one object, that it is not there included. Of agents' Events the object is the node.
    pub fn object(question: &Question, namespace: Option<&str>, name: &str) -> Self {
        Dependency { object: hash(&(namespace, name)).max(1), ..Dependency::answer(question) }
    }

    fn bit(self) -> u64 {
        1 << (self.answer % 64)
    }

    /// The answer that it is a part of.
    pub fn whole(self) -> Self {
        Dependency { object: 0, ..self }
    }
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// What a judgement has used, and what it lacks.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// What it depends on, answers that are not there included.
    pub dependencies: Vec<Dependency>,
    /// Whether it depends on whatever else is known.
    pub depends_on_all: bool,
    /// What is to be asked.
    pub questions: BTreeSet<Question>,
    /// Nodes whose agent may have a report that was not requested yet.
    pub silent_nodes: BTreeSet<String>,
    /// Answers that were used and are not whole.
    pub cut: BTreeSet<String>,
    /// The rights that it takes to read what was used.
    pub reads: BTreeSet<Access>,
}

impl Trace {
    /// Each dependency once.
    pub fn once_each(mut self) -> Self {
        self.dependencies.sort_unstable();
        self.dependencies.dedup();
        self.dependencies.shrink_to_fit();
        self
    }

    /// Takes in another one, but for its dependencies and what was read.
    pub fn add(&mut self, other: &Trace) {
        self.questions.extend(other.questions.iter().cloned());
        self.silent_nodes.extend(other.silent_nodes.iter().cloned());
        self.cut.extend(other.cut.iter().cloned());
    }
}

/// What is known otherwise than at the last judgement.
#[derive(Debug, Default)]
pub struct Changes {
    /// A bit of the hash of each answer below: what depends on none of them is found by a look at it.
    bits: u64,
    /// Answers that came anew.
    answers: HashSet<Dependency>,
    /// Answers of which at least one object has changed.
    parts: HashSet<Dependency>,
    objects: HashSet<Dependency>,
}

impl Changes {
    /// An answer came anew.
    pub fn answer(&mut self, question: &Question) {
        let whole = Dependency::answer(question);
        self.bits |= whole.bit();
        self.answers.insert(whole);
    }

    /// Objects of an answer have come, changed or gone.
    pub fn objects(&mut self, question: &Question, facts: &Facts) {
        let whole = Dependency::answer(question);
        self.bits |= whole.bit();
        self.parts.insert(whole);
        match AgentEvent::among(facts) {
            Some(events) => {
                self.objects
                    .extend(events.iter().map(|event| Dependency::object(question, None, &event.regarding.name)));
            }
            None => {
                let of = |meta: &Meta| Dependency::object(question, meta.namespace.as_deref(), &meta.name);
                self.objects.extend(facts.metas().into_iter().map(of));
            }
        }
    }

    /// Whether what came up once may be something else now.
    pub fn concern(&self, trace: &Trace) -> bool {
        trace.depends_on_all || trace.dependencies.iter().any(|one| one.bit() & self.bits != 0 && self.touch(*one))
    }

    fn touch(&self, one: Dependency) -> bool {
        self.answers.contains(&one.whole()) || self.parts.contains(&one) || self.objects.contains(&one)
    }
}
