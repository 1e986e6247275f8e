//! What was asked of the cluster and what it answered, as plain data.
//!
//! A state can be saved and judged again on any machine. It holds no Secret's content, no
//! environment, no command line and no annotation but a few named ones.

mod answer;
mod assumed_deletion;
mod discovery;
mod facts;
mod fault;
mod finalizers;
mod kinds;
mod meta;
mod pause;
mod question;
pub mod release;
mod texts;

use std::collections::BTreeMap;

use findings::FaultKind;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::resource::{ApiResource, Name, ObjectRef, Resource, known};
pub use answer::Answer;
pub use discovery::{Discovery, ServedResource, ServedVersion, Version};
pub use facts::{Counts, Facts, Kind, ListMeta, Page};
pub use fault::Fault;
pub use finalizers::Finalizers;
pub use kinds::*;
pub use meta::{ARGO_CD_OPTIONS, Fields, Managed, Meta, Owner, or_default};
pub use pause::Pause;
pub use question::{Detail, Question, Scope, Select};
pub use release::Release;
pub use texts::Texts;

/// What the user asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Subject {
    /// Everything that is stuck, in one namespace or in all.
    Everything {
        /// Only this namespace.
        namespace: Option<String>,
        /// Secrets too, and every kind to its end, however many objects it has.
        #[serde(default)]
        all_kinds: bool,
    },
    /// Everything of one kind, or of several, that is being deleted.
    Kind {
        /// `pods`, `ns`, `widgets.example.com`; several with commas between them.
        word: String,
        /// Only this namespace.
        namespace: Option<String>,
        /// Only what this label selector selects.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        selector: Option<String>,
    },
    /// One object, named by a word that discovery knows.
    Object {
        /// `pod`, `ns`, `widgets.example.com`.
        word: String,
        /// Where to look when it lives in a namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Several objects, each named so.
    Objects {
        /// Each of them.
        objects: Vec<NamedObject>,
        /// Where to look for those that live in a namespace.
        namespace: String,
    },
    /// What would hold one object if it were deleted now.
    Before {
        /// `ns`, `node`, `pvc`, `widgets.example.com`.
        word: String,
        /// Where to look when it lives in a namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// What the user typed for one of several objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedObject {
    /// `pod`, `ns`, `widgets.example.com`.
    pub word: String,
    /// Its name.
    pub name: String,
}

impl Subject {
    /// The objects that the user named: word, namespace and name of each.
    pub fn named(&self) -> Vec<(&str, &str, &str)> {
        match self {
            Subject::Object { word, namespace, name } | Subject::Before { word, namespace, name } => {
                vec![(word, namespace, name)]
            }
            Subject::Objects { objects, namespace } => {
                objects.iter().map(|one| (one.word.as_str(), namespace.as_str(), one.name.as_str())).collect()
            }
            Subject::Everything { .. } | Subject::Kind { .. } => Vec::new(),
        }
    }

    /// Whether the user named objects, and none of them is a deletion that is only assumed.
    pub fn is_of_named(&self) -> bool {
        matches!(self, Subject::Object { .. } | Subject::Objects { .. })
    }
}

/// An answer with what was left out of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    pub question: Question,
    pub answer: Answer<Facts>,
    /// Whether objects were left out because there were too many.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub cut: bool,
    /// How many objects of a list that was not read to its end were not read, where the server counted them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_read: Option<usize>,
    /// Of a scan: whether it took one page, with an object that has a finalizer.
    #[serde(skip)]
    pub is_short_and_held: bool,
}

impl Answered {
    pub fn whole(question: Question, answer: Answer<Facts>) -> Self {
        Answered { question, answer, cut: false, not_read: None, is_short_and_held: false }
    }
}

/// A check of one pod that was run once on its node, in a pod made for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeCheck {
    /// The pod that ran it: namespace and name.
    pub ran_in: (String, String),
    /// The pod that was checked.
    pub pod: (String, String),
}

/// What was asked and answered so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Grows when a saved state of this version cannot be read by an older one.
    pub schema: u32,
    /// When the cluster was looked at.
    pub at: Timestamp,
    /// As of when the answers about Leases are known, where that is before `at`, as it is for who watches.
    #[serde(skip)]
    pub leases_at: Vec<(Question, Timestamp)>,
    /// What the user asked about.
    pub subject: Subject,
    /// Whether kubelets may be asked for their log: that takes a strong right.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub kubelet_log: bool,
    /// Whether Secrets may be scanned, by their metadata, where a namespace is named.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub all_kinds: bool,
    /// Whether agents may be asked now: that takes a strong right.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub live: bool,
    /// Whether the node that is named is that of a Machine of Cluster API which is being deleted, in another cluster.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub is_of_deleted_machine: bool,
    /// The check that a pod of this plugin ran on a node for this answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node_check: Option<NodeCheck>,
    /// After how many rounds of queries no more were made: what is still open then stays unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rounds_used_up: Option<usize>,
    #[serde(with = "as_list")]
    pub answers: BTreeMap<Question, Answered>,
}

impl State {
    /// The version of a saved state.
    pub const SCHEMA: u32 = 2;

    pub fn new(subject: Subject, at: Timestamp) -> Self {
        let schema = State::SCHEMA;
        State {
            schema,
            at,
            leases_at: Vec::new(),
            subject,
            kubelet_log: false,
            all_kinds: false,
            live: false,
            is_of_deleted_machine: false,
            node_check: None,
            rounds_used_up: None,
            answers: BTreeMap::new(),
        }
    }

    pub fn add(&mut self, mut answered: Answered) {
        assumed_deletion::mark(self, &mut answered);
        if let Answer::Seen(facts) = &mut answered.answer {
            facts.shrink();
        }
        self.answers.insert(answered.question.clone(), answered);
    }

    /// Whether the pods of all namespaces may not be listed.
    pub fn refuses_all_namespaces(&self) -> bool {
        self.answers.values().any(|Answered { question, answer, .. }| {
            let is_of_all = matches!(question, Question::Objects { resource, scope: Scope::All, .. }
                if *resource == Resource::from(known::PODS));
            is_of_all && matches!(answer, Answer::Failed(fault) if fault.kind == FaultKind::Denied)
        })
    }

    /// Seconds from `then` until the cluster was looked at.
    pub fn seconds_since(&self, then: Timestamp) -> i64 {
        self.at.as_second().saturating_sub(then.as_second())
    }
}

/// JSON has no maps with questions for keys.
mod as_list {
    use super::*;
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(map: &BTreeMap<Question, Answered>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map.values())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<Question, Answered>, D::Error> {
        let list = Vec::<Answered>::deserialize(deserializer)?;
        Ok(list.into_iter().map(|answered| (answered.question.clone(), answered)).collect())
    }
}
