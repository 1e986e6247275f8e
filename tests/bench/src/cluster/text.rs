//! Objects as text: a template is read once and filled a hundred thousand times.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use anyhow::Context as _;
use apiserver::Prepared;
use serde_json::{Value, json};

/// A kind of object whose values are still to be filled in: `$(name)`.
pub struct Template {
    dir: &'static str,
    object: Value,
    metadata: Text,
    rest: Text,
}

/// Pieces of text, and between them names of values.
struct Text(Vec<(String, String)>);

impl Text {
    fn new(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("$(") {
            let (name, after) = after.split_once(')').unwrap_or((after, ""));
            pieces.push((before.to_owned(), name.to_owned()));
            rest = after;
        }
        pieces.push((rest.to_owned(), String::new()));
        Self(pieces)
    }

    fn fill(&self, values: &[(&str, &str)]) -> String {
        let mut text = String::new();
        for (before, name) in &self.0 {
            text.push_str(before);
            text.push_str(values.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value));
        }
        text
    }
}

impl Template {
    /// A template of the resource that the fake keeps in `dir`.
    pub fn new(dir: &'static str, text: &str) -> anyhow::Result<Self> {
        let object = serde_json::from_str(text).with_context(|| format!("read the template of {dir}"))?;
        Ok(Self::of(dir, object))
    }

    /// The same with a change.
    pub fn with(&self, change: impl FnOnce(&mut Value)) -> Self {
        let mut object = self.object.clone();
        change(&mut object);
        Self::of(self.dir, object)
    }

    fn of(dir: &'static str, object: Value) -> Self {
        let (metadata, rest) = parts(&object);
        Self { dir, metadata: Text::new(&metadata), rest: Text::new(&rest), object }
    }

    /// One object; `namespace` is empty for what lives in none.
    pub fn fill(&self, namespace: &str, name: &str, values: &[(&str, &str)]) -> Prepared {
        let uid = uid(self.dir, namespace, name);
        let version = version(&uid);
        let own = [("name", name), ("namespace", namespace), ("uid", uid.as_str()), ("version", version.as_str())];
        let all = [values, &own].concat();
        let within = Some(namespace).filter(|namespace| !namespace.is_empty());
        Prepared::new(self.dir, within, name, &self.metadata.fill(&all), &self.rest.fill(&all))
    }
}

impl Template {
    /// The same as a value.
    pub fn value(&self, namespace: &str, name: &str, values: &[(&str, &str)]) -> anyhow::Result<Value> {
        let uid = uid(self.dir, namespace, name);
        let own = [("name", name), ("namespace", namespace), ("uid", uid.as_str()), ("version", "1")];
        let all = [values, &own].concat();
        let text = format!("{{\"metadata\":{},{}}}", self.metadata.fill(&all), self.rest.fill(&all));
        serde_json::from_str(&text).with_context(|| format!("fill a template of {}", self.dir))
    }
}

/// An object of its own, with what a server adds to its metadata.
pub fn object(dir: &str, mut object: Value) -> Prepared {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    let (namespace, name) = (text("namespace"), text("name"));
    let uid = uid(dir, &namespace, &name);
    let finalizers: serde_json::Map<String, Value> = object["metadata"]["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|finalizer| (format!("v:{finalizer}"), json!({})))
        .collect();
    let metadata = &mut object["metadata"];
    metadata["resourceVersion"] = version(&uid).into();
    metadata["uid"] = uid.into();
    if metadata["creationTimestamp"].is_null() {
        metadata["creationTimestamp"] = "2026-03-02T09:14:07Z".into();
    }
    metadata["managedFields"] = json!([{
        "manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "v1",
        "time": "2026-03-02T09:14:07Z", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:finalizers": finalizers}, "f:spec": {}}
    }]);
    let (metadata, rest) = parts(&object);
    let within = Some(namespace.as_str()).filter(|namespace| !namespace.is_empty());
    Prepared::new(dir, within, &name, &metadata, &rest)
}

/// The metadata, and the other fields without braces.
fn parts(object: &Value) -> (String, String) {
    let fields = object.as_object().into_iter().flatten();
    let rest = fields.filter(|(name, _)| *name != "metadata").map(|(name, value)| format!("\"{name}\":{value}"));
    (object["metadata"].to_string(), rest.collect::<Vec<_>>().join(","))
}

/// The uid of an object: always the same.
pub fn uid(dir: &str, namespace: &str, name: &str) -> String {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, dir, namespace, name).hash(&mut hasher);
        hasher.finish()
    };
    let (one, two) = (format!("{:016x}", half(1)), format!("{:016x}", half(2)));
    format!("{}-{}-4{}-8{}-{}", &one[..8], &one[8..12], &one[13..16], &two[..3], &two[4..])
}

fn version(uid: &str) -> String {
    u32::from_str_radix(&uid[..7], 16).unwrap_or(1).to_string()
}
