//! One object as it is kept and as it is shown.

use std::{borrow::Cow, ops::Deref, sync::Arc, sync::OnceLock};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::{Prepared, catalog::Resource};

/// Namespace (empty for cluster-wide ones) and name: also the order of lists.
pub(crate) type Key = (String, String);

/// An object at one version.
#[derive(Debug)]
pub(crate) struct Object {
    /// Without kind and apiVersion.
    pub(crate) value: Contents,
    /// `metadata.resourceVersion`.
    pub(crate) version: u64,
    json: OnceLock<String>,
}

/// The fields of an object. Text is parsed only when the fields are read: a hundred thousand parsed pods take a hundred
/// times the memory of the text.
#[derive(Debug)]
pub(crate) struct Contents {
    text: Option<Arc<Prepared>>,
    read: OnceLock<Value>,
}

impl Deref for Contents {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.read.get_or_init(|| self.text.as_ref().map_or(Value::Null, |text| text.value()))
    }
}

impl From<Value> for Contents {
    fn from(value: Value) -> Self {
        Self { text: None, read: value.into() }
    }
}

impl Object {
    /// Takes `value` as the object of `key`: what its path shows need not be written in it.
    pub(crate) fn new(mut value: Value, key: &Key, version: u64) -> Self {
        if let Some(fields) = value.as_object_mut() {
            fields.remove("kind");
            fields.remove("apiVersion");
            let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.entry("name").or_insert_with(|| json!(key.1));
                if !key.0.is_empty() {
                    metadata.entry("namespace").or_insert_with(|| json!(key.0));
                }
            }
        }
        value["metadata"]["resourceVersion"] = json!(version.to_string());
        Self { value: value.into(), version, json: OnceLock::new() }
    }

    /// An object that is served as its text has it.
    pub(crate) fn prepared(text: Arc<Prepared>) -> Self {
        Self { value: Contents { text: Some(text), read: OnceLock::new() }, version: 0, json: OnceLock::new() }
    }

    /// The same at another version.
    pub(crate) fn at(&self, version: u64) -> Self {
        let mut value = Value::clone(&self.value);
        value["metadata"]["resourceVersion"] = json!(version.to_string());
        Self { value: value.into(), version, json: OnceLock::new() }
    }

    /// Whether `other` says the same, apart from the version.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        same_but(&self.value, &other.value, "metadata")
            && same_but(&self.value["metadata"], &other.value["metadata"], "resourceVersion")
    }

    /// Whether these words may be in it: it is not read to find that out.
    pub(crate) fn may_hold(&self, words: &[&str]) -> bool {
        self.value.text.as_ref().is_none_or(|text| words.iter().all(|word| text.whole().contains(word)))
    }

    /// What it says, without keeping it.
    pub(crate) fn glance(&self) -> Cow<'_, Value> {
        match (&self.value.text, self.value.read.get()) {
            (Some(text), None) => Cow::Owned(text.value()),
            _ => Cow::Borrowed(&self.value),
        }
    }

    /// Whether a word is nowhere in it: it is not read to find that out.
    pub(crate) fn lacks(&self, word: &str) -> bool {
        self.value.text.as_ref().is_some_and(|text| !text.whole().contains(word))
    }

    /// A pod's row, of one that is not read for that: no word of it says that it goes.
    fn quick_row(&self) -> Option<Value> {
        let text = self.value.text.as_ref().filter(|text| !text.metadata().contains("deletionTimestamp"))?;
        let (before, status) = text.whole().rsplit_once("\"status\":{")?;
        let found = |within: &str, field: &str| {
            let (_, value) = within.split_once(&format!("\"{field}\":\""))?;
            Some(value.split_once('"')?.0.to_owned())
        };
        let created = found(text.metadata(), "creationTimestamp").unwrap_or_default();
        let (ip, node) = (found(status, "podIP"), found(before, "nodeName"));
        Some(row(&text.key().1, &found(status, "phase")?, &created, ip, node))
    }

    fn json(&self) -> &str {
        match &self.value.text {
            Some(text) => text.whole(),
            None => self.json.get_or_init(|| self.value.to_string()),
        }
    }

    fn metadata(&self) -> Cow<'_, str> {
        match &self.value.text {
            Some(text) => text.metadata().into(),
            None => self.value["metadata"].to_string().into(),
        }
    }
}

/// Whether two JSON objects agree in everything but one field.
fn same_but(one: &Value, other: &Value, left_out: &str) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else { return one == other };
    let others = other.iter().filter(|(name, _)| *name != left_out);
    one.iter().filter(|(name, _)| *name != left_out).eq(others)
}

/// How much of an object is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// All of it.
    Whole,
    /// `PartialObjectMetadata`.
    Metadata,
    /// The rows of a table, with the two columns that every kind has, or those of pods.
    Table,
    /// The same without the objects.
    Rows,
}

/// The head of a table.
pub(crate) const COLUMNS: &str = r#"[{"name":"Name","type":"string","format":"name","description":"","priority":0},{"name":"Created At","type":"date","format":"","description":"","priority":0}]"#;

/// That of pods, without the descriptions: those are 3 KB a page.
pub(crate) const POD_COLUMNS: &str = r#"[{"name":"Name","type":"string","format":"name","description":"","priority":0},{"name":"Ready","type":"string","format":"","description":"","priority":0},{"name":"Status","type":"string","format":"","description":"","priority":0},{"name":"Restarts","type":"string","format":"","description":"","priority":0},{"name":"Age","type":"string","format":"","description":"","priority":0},{"name":"IP","type":"string","format":"","description":"","priority":1},{"name":"Node","type":"string","format":"","description":"","priority":1},{"name":"Nominated Node","type":"string","format":"","description":"","priority":1},{"name":"Readiness Gates","type":"string","format":"","description":"","priority":1}]"#;

/// A pod's cells. A server writes `<` and `>` of what is not there as `\u003c` and `\u003e`.
fn row(name: &str, status: &str, created: &str, ip: Option<String>, node: Option<String>) -> Value {
    const NONE: &str = "<none>";
    let age =
        created.parse::<Timestamp>().map_or(0, |created| Timestamp::now().duration_since(created).as_hours() / 24);
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
    json!([name, "1/1", status, "0", format!("{age}d"), or_none(ip), or_none(node), NONE, NONE])
}

/// The cells of a pod that is read for it.
fn pod_row(pod: &Value) -> Value {
    let text = |place: &str| pod.pointer(place).and_then(Value::as_str).map(str::to_owned);
    let (name, created) = (text("/metadata/name"), text("/metadata/creationTimestamp"));
    let (ip, node) = (text("/status/podIP"), text("/spec/nodeName"));
    row(&name.unwrap_or_default(), &printed_status(pod), &created.unwrap_or_default(), ip, node)
}

/// A pod's status as the printer of a 1.36 server words it, but for the reasons of its containers.
fn printed_status(pod: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (phase, reason) = (text(&pod["status"]["phase"]), text(&pod["status"]["reason"]));
    let goes = !pod["metadata"]["deletionTimestamp"].is_null();
    match (goes, reason.as_str(), phase.as_str()) {
        (true, "NodeLost", _) => "Unknown".to_owned(),
        (true, _, "Running" | "Pending" | "") => "Terminating".to_owned(),
        (_, "", _) => phase,
        _ => reason,
    }
}

/// The object as `resource` shows it.
pub(crate) fn shown<'a>(resource: &Resource, object: &'a Object) -> Cow<'a, Value> {
    match resource.stored_as {
        Some(_) => Cow::Owned(core_event(&object.value)),
        None => Cow::Borrowed(&object.value),
    }
}

/// Appends the object's JSON to `out`.
pub(crate) fn render(out: &mut String, resource: &Resource, object: &Object, form: Form, as_item: bool) {
    if matches!(form, Form::Table | Form::Rows) {
        let cells = object.quick_row().filter(|_| resource.kind == "Pod").unwrap_or_else(|| {
            let of = object.glance();
            let name = &of["metadata"]["name"];
            match resource.kind.as_str() {
                "Pod" => pod_row(&of),
                _ => json!([name, of["metadata"]["creationTimestamp"]]),
            }
        });
        let cells = cells.to_string().replace('<', "\\u003c").replace('>', "\\u003e");
        out.push_str(&format!(r#"{{"cells":{cells},"object":"#));
    }
    if form == Form::Rows {
        out.push_str("null}");
        return;
    }
    if form != Form::Whole {
        out.push_str(r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#);
        out.push_str(&object.metadata());
        out.push_str(if form == Form::Table { "}}" } else { "}" });
        return;
    }
    let converted;
    let json = match shown(resource, object) {
        Cow::Owned(value) => {
            converted = value.to_string();
            &converted
        }
        Cow::Borrowed(_) => object.json(),
    };
    if as_item && !resource.typed_items {
        out.push_str(json);
    } else {
        out.push_str(&format!(r#"{{"kind":"{}","apiVersion":"{}","#, resource.kind, resource.group_version()));
        out.push_str(&json[1..]);
    }
}

/// An event of events.k8s.io/v1 in the form of the core group.
fn core_event(event: &Value) -> Value {
    let mut fields = renamed(event, |(stored, core)| (stored, core));
    for always_there in ["reportingComponent", "reportingInstance"] {
        fields.entry(always_there).or_insert_with(|| json!(""));
    }
    Value::Object(fields)
}

/// An event of the core group, as it is stored.
pub(crate) fn stored_event(core: &Value) -> Value {
    Value::Object(renamed(core, |(stored, core)| (core, stored)))
}

/// What events.k8s.io and the core group call the fields of an event.
const EVENT_FIELDS: &[(&str, &str)] = &[
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
];

type Names = (&'static str, &'static str);

fn renamed(event: &Value, from_to: impl Fn(Names) -> Names) -> Map<String, Value> {
    let new = |name: &str| EVENT_FIELDS.iter().copied().map(&from_to).find(|(old, _)| *old == name).map(|(_, new)| new);
    let fields = event.as_object().into_iter().flatten();
    fields.map(|(name, value)| (new(name).unwrap_or(name).to_owned(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_version_alone_is_no_change() {
        let key = ("ns".to_owned(), "a".to_owned());
        let object = Object::new(json!({"kind": "Pod", "spec": {"x": 1}}), &key, 7);
        assert!(object.same_as(&object.at(8)));
        assert!(!object.same_as(&Object::new(json!({"spec": {"x": 2}}), &key, 7)));
        assert_eq!(object.value["metadata"]["namespace"], "ns");
    }
}
