//! An answer without the names that its cluster's owners chose.

use std::collections::{HashMap, HashSet};

use aggregator_core::report::ClusterReport;
use aggregator_core::state::{Question, State};
use findings::cause;
use serde_json::Value;

/// What of an object names another one.
const NAMING_KEYS: [&str; 5] = ["nodeName", "claimName", "volumeName", "persistentVolumeName", "serviceAccountName"];

/// Kinds whose names say what software is installed, as API groups and finalizers do.
const KEPT_KINDS: [&str; 4] = ["customresourcedefinitions", "apiservices", "csidrivers", "priorityclasses"];

/// What a report has beside names.
const KEPT_KEYS: [&str; 3] = ["resource", "id", "at"];

/// The answer with each name in place of which a kind and a number stand, the same everywhere. Names of Kubernetes itself
/// and those that are a word of this program's texts stay.
pub fn redact(report: &ClusterReport, state: &State) -> serde_json::Result<ClusterReport> {
    let mut value = serde_json::to_value(report)?;
    let mut aliases = Aliases::new();
    aliases.add_of_report(&value);
    for (question, asked) in &state.answers {
        let Question::Objects { resource, .. } = question else { continue };
        if !KEPT_KINDS.contains(&&*resource.plural) {
            aliases.add_of_objects(resource.plural.trim_end_matches('s'), &serde_json::to_value(&asked.answer)?);
        }
    }
    aliases.replace_in(&mut value);
    let redacted: ClusterReport = serde_json::from_value(value)?;
    let ClusterReport { is_missing, is_delete_refused, is_deleted_already, .. } = *report;
    Ok(ClusterReport { is_missing, is_delete_refused, is_deleted_already, ..redacted })
}

/// What stands in place of each name.
struct Aliases {
    by_name: HashMap<String, String>,
    /// How many there are of each kind.
    counts: HashMap<String, usize>,
    /// A name among them is no secret, and to replace it would change sentences.
    words: HashSet<String>,
}

impl Aliases {
    fn new() -> Aliases {
        let texts = cause::all().flat_map(|cause| {
            let steps = cause.safe.iter().flat_map(|advice| [advice.text].into_iter().chain(advice.commands()));
            [cause.title, cause.meaning].into_iter().chain(steps)
        });
        let words = texts.flat_map(words).filter(|(_, is_word)| *is_word).map(|(word, _)| word.to_owned()).collect();
        Aliases { by_name: HashMap::new(), counts: HashMap::new(), words }
    }

    fn add(&mut self, kind: &str, name: &str) {
        let is_own = name.starts_with("kube-") || name.starts_with("system:") || name == "default";
        if name.is_empty() || is_own || self.words.contains(name) || self.by_name.contains_key(name) {
            return;
        }
        let count = self.counts.entry(kind.to_ascii_lowercase()).or_default();
        *count += 1;
        let alias = format!("{}-{count}", kind.to_ascii_lowercase());
        self.by_name.insert(name.to_owned(), alias);
    }

    /// Everything that says of which kind it is.
    fn add_of_report(&mut self, value: &Value) {
        if let Value::Object(fields) = value {
            let field = |key: &str| fields.get(key).and_then(Value::as_str);
            if let (Some(kind), Some(name)) = (field("objectKind").or(field("kind")), field("name")) {
                self.add_namespace(field("namespace"));
                self.add(kind, name);
            }
        }
        children(value).for_each(|(_, child)| self.add_of_report(child));
    }

    /// What was read: each object, and what it names.
    fn add_of_objects(&mut self, kind: &str, value: &Value) {
        for (key, child) in children(value) {
            match (key, child) {
                (Some("metadata"), Value::Object(meta)) => {
                    let field = |key: &str| meta.get(key).and_then(Value::as_str);
                    let namespace = field("namespace");
                    self.add_namespace(namespace);
                    if !namespace.is_some_and(|namespace| namespace.starts_with("kube-")) {
                        self.add(kind, field("name").unwrap_or_default());
                    }
                }
                (Some("namespace"), Value::String(name)) => self.add_namespace(Some(name)),
                (Some(key), Value::String(name)) if NAMING_KEYS.contains(&key) => {
                    self.add(key.trim_end_matches("Name"), name);
                }
                _ => {}
            }
            self.add_of_objects(kind, child);
        }
    }

    fn add_namespace(&mut self, name: Option<&str>) {
        self.add("namespace", name.unwrap_or_default());
    }

    fn replace_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = words(text).map(|(part, is_word)| self.replaced(part, is_word)).collect(),
            Value::Array(items) => items.iter_mut().for_each(|item| self.replace_in(item)),
            Value::Object(fields) => {
                let named = fields.iter_mut().filter(|(key, _)| !KEPT_KEYS.contains(&key.as_str()));
                named.for_each(|(_, child)| self.replace_in(child));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn replaced(&self, part: &str, is_word: bool) -> String {
        match self.by_name.get(part) {
            Some(alias) if is_word => alias.clone(),
            // A host's name, or the end of a sentence.
            None if is_word && part.contains('.') => {
                let label = |label: &str| self.by_name.get(label).cloned().unwrap_or_else(|| label.to_owned());
                let is_named = |first: &str| self.by_name.contains_key(first);
                match self.by_name.get(part.trim_end_matches('.')) {
                    Some(alias) => format!("{alias}{}", ".".repeat(part.len() - part.trim_end_matches('.').len())),
                    // A finalizer or a group may have a name within, as that of a program has its namespace.
                    None if part.split('.').next().is_some_and(is_named) => {
                        part.split('.').map(label).collect::<Vec<_>>().join(".")
                    }
                    None => part.to_owned(),
                }
            }
            _ => part.to_owned(),
        }
    }
}

fn children(value: &Value) -> Box<dyn Iterator<Item = (Option<&str>, &Value)> + '_> {
    match value {
        Value::Object(fields) => Box::new(fields.iter().map(|(key, child)| (Some(key.as_str()), child))),
        Value::Array(items) => Box::new(items.iter().map(|item| (None, item))),
        _ => Box::new(std::iter::empty()),
    }
}

/// The text in parts, and of each whether it could be a name.
fn words(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_word = is_of_name(rest.chars().next()?);
        let end = rest.find(|c| is_of_name(c) != is_word).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        Some((part, is_word))
    })
}
