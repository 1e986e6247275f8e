//! Field and label selectors.

use std::borrow::Cow;

use serde_json::Value;

use crate::{catalog::Resource, status::Status};

/// A field that can be selected: its label, where it is, what it is when it is missing.
type Field = (&'static str, &'static str, &'static str);

const NAME: Field = ("metadata.name", "/metadata/name", "");
const NAMESPACE: Field = ("metadata.namespace", "/metadata/namespace", "");

const POD: &[Field] = &[
    NAME,
    NAMESPACE,
    ("spec.nodeName", "/spec/nodeName", ""),
    ("spec.restartPolicy", "/spec/restartPolicy", ""),
    ("spec.schedulerName", "/spec/schedulerName", ""),
    ("spec.serviceAccountName", "/spec/serviceAccountName", ""),
    ("spec.hostNetwork", "/spec/hostNetwork", "false"),
    ("status.phase", "/status/phase", ""),
    ("status.podIP", "/status/podIP", ""),
    ("status.nominatedNodeName", "/status/nominatedNodeName", ""),
];
const NODE: &[Field] = &[NAME, ("spec.unschedulable", "/spec/unschedulable", "false")];
const NAMESPACES: &[Field] = &[NAME, ("name", "/metadata/name", ""), ("status.phase", "/status/phase", "")];
const EVENT: &[Field] = &[
    NAME,
    NAMESPACE,
    ("reason", "/reason", ""),
    ("type", "/type", ""),
    ("source", "/deprecatedSource/component", ""),
    ("reportingController", "/reportingController", ""),
    ("regarding.kind", "/regarding/kind", ""),
    ("regarding.namespace", "/regarding/namespace", ""),
    ("regarding.name", "/regarding/name", ""),
    ("regarding.uid", "/regarding/uid", ""),
    ("regarding.apiVersion", "/regarding/apiVersion", ""),
    ("regarding.resourceVersion", "/regarding/resourceVersion", ""),
    ("regarding.fieldPath", "/regarding/fieldPath", ""),
];
/// Selected on the stored form, which is that of events.k8s.io.
const CORE_EVENT: &[Field] = &[
    NAME,
    NAMESPACE,
    ("reason", "/reason", ""),
    ("type", "/type", ""),
    ("source", "/deprecatedSource/component", ""),
    ("reportingComponent", "/reportingController", ""),
    ("involvedObject.kind", "/regarding/kind", ""),
    ("involvedObject.namespace", "/regarding/namespace", ""),
    ("involvedObject.name", "/regarding/name", ""),
    ("involvedObject.uid", "/regarding/uid", ""),
    ("involvedObject.apiVersion", "/regarding/apiVersion", ""),
    ("involvedObject.resourceVersion", "/regarding/resourceVersion", ""),
    ("involvedObject.fieldPath", "/regarding/fieldPath", ""),
];

/// What a request selects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// `None`: all namespaces.
    pub(crate) namespace: Option<String>,
    fields: Vec<FieldTerm>,
    labels: Vec<LabelTerm>,
}

#[derive(Clone, Debug)]
struct FieldTerm {
    field: Field,
    wanted: bool,
    value: String,
}

#[derive(Clone, Debug)]
struct LabelTerm {
    key: String,
    /// `None`: whether the label is there at all.
    values: Option<Vec<String>>,
    wanted: bool,
}

impl Selection {
    /// Reads both selectors as `resource` understands them.
    pub(crate) fn parse(
        resource: &Resource,
        namespace: Option<&str>,
        fields: &str,
        labels: &str,
    ) -> Result<Self, Status> {
        Ok(Self {
            namespace: namespace.map(str::to_owned),
            fields: field_terms(resource, fields)?,
            labels: label_terms(labels)?,
        })
    }

    /// Whether every object of the namespace is meant.
    pub(crate) fn is_everything(&self) -> bool {
        self.fields.is_empty() && self.labels.is_empty()
    }

    /// Whether it only leaves out objects that have words in them which are nowhere in this one.
    pub(crate) fn excludes_only(&self, is_lacking: impl Fn(&str) -> bool) -> bool {
        let leaves_out = |term: &FieldTerm| !term.wanted && term.value != term.field.2 && is_lacking(&term.value);
        self.namespace.is_none() && self.labels.is_empty() && self.fields.iter().all(leaves_out)
    }

    /// Words that the text of every object that is meant has in it.
    pub(crate) fn words(&self) -> Vec<&str> {
        let fields = self.fields.iter().filter(|term| term.wanted && term.value != term.field.2);
        let labels = self.labels.iter().filter(|term| term.wanted).filter_map(|term| match term.values.as_deref() {
            Some([only]) => Some(only.as_str()),
            _ => None,
        });
        let all = fields.map(|term| term.value.as_str()).chain(labels);
        // Others are written in JSON with escapes.
        all.filter(|word| word.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))).collect()
    }

    /// Whether the stored object is meant.
    pub(crate) fn matches(&self, value: &Value) -> bool {
        let metadata = &value["metadata"];
        self.namespace.as_deref().is_none_or(|wanted| metadata["namespace"] == wanted)
            && self.fields.iter().all(|term| term.matches(value))
            && self.labels.iter().all(|term| term.matches(&metadata["labels"]))
    }
}

impl FieldTerm {
    fn matches(&self, value: &Value) -> bool {
        let (_, pointer, missing) = self.field;
        let text = match value.pointer(pointer) {
            Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
            Some(Value::Null) | None => Cow::Borrowed(missing),
            Some(other) => Cow::Owned(other.to_string()),
        };
        (text == self.value) == self.wanted
    }
}

impl LabelTerm {
    fn matches(&self, labels: &Value) -> bool {
        let label = labels[&self.key].as_str();
        let holds = match (&self.values, label) {
            (None, label) => label.is_some(),
            (Some(values), Some(label)) => values.iter().any(|value| value == label),
            // `!=` and `notin` also select what has no such label.
            (Some(_), None) => false,
        };
        holds == self.wanted
    }
}

fn field_terms(resource: &Resource, selector: &str) -> Result<Vec<FieldTerm>, Status> {
    selector
        .split(',')
        .filter(|term| !term.is_empty())
        .map(|term| {
            let (label, value, wanted) = if let Some((label, value)) = term.split_once("!=") {
                (label, value, false)
            } else if let Some((label, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
                (label, value, true)
            } else {
                let message = format!("invalid selector: '{selector}'; can't understand '{term}'");
                return Err(Status::bad_request(message));
            };
            Ok(FieldTerm { field: field(resource, label)?, wanted, value: value.to_owned() })
        })
        .collect()
}

fn field(resource: &Resource, label: &str) -> Result<Field, Status> {
    let known = match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => POD,
        ("", "nodes") => NODE,
        ("", "namespaces") => NAMESPACES,
        ("", "events") => CORE_EVENT,
        ("events.k8s.io", "events") => EVENT,
        _ => &[NAME, NAMESPACE],
    };
    let unknown = || match known.len() {
        2 if resource.plural != "nodes" => Status::bad_request(format!(
            "\"{label}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        )),
        _ => Status::bad_request(format!("field label not supported: {label}")),
    };
    known.iter().find(|(known, ..)| *known == label).copied().ok_or_else(unknown)
}

fn label_terms(selector: &str) -> Result<Vec<LabelTerm>, Status> {
    let unreadable = |term: &str| Status::bad_request(format!("unable to parse requirement: {term:?}"));
    let mut terms = Vec::new();
    for term in outside_brackets(selector) {
        let term = term.trim();
        if term.is_empty() {
            continue;
        }
        let (key, values, wanted) = if let Some(open) = term.find('(') {
            let inner = term[open + 1..].strip_suffix(')').ok_or_else(|| unreadable(term))?;
            let values = inner.split(',').map(|value| value.trim().to_owned()).collect();
            match term[..open].split_whitespace().collect::<Vec<_>>()[..] {
                [key, "in"] => (key, Some(values), true),
                [key, "notin"] => (key, Some(values), false),
                _ => return Err(unreadable(term)),
            }
        } else if let Some((key, value)) = term.split_once("!=") {
            (key, Some(vec![value.trim().to_owned()]), false)
        } else if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
            (key, Some(vec![value.trim().to_owned()]), true)
        } else if let Some(key) = term.strip_prefix('!') {
            (key, None, false)
        } else {
            (term, None, true)
        };
        terms.push(LabelTerm { key: key.trim().to_owned(), values, wanted });
    }
    Ok(terms)
}

fn outside_brackets(selector: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0usize, 0, Vec::new());
    for (at, c) in selector.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&selector[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&selector[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::Catalog;

    fn selects(plural: &str, fields: &str, labels: &str, value: &Value) -> Result<bool, Status> {
        let catalog = Catalog::new();
        let index = catalog.find("v1", plural).unwrap();
        Selection::parse(catalog.get(index), None, fields, labels).map(|selection| selection.matches(value))
    }

    #[test]
    fn fields_are_compared_and_missing_ones_are_empty() {
        let pod = json!({"metadata": {"name": "a"}, "spec": {"nodeName": "n"}});
        for (selector, wanted) in [
            ("", true),
            ("spec.nodeName=n", true),
            ("spec.nodeName==n,metadata.name=a", true),
            ("spec.nodeName!=n", false),
            ("spec.nodeName=m", false),
            ("status.phase=", true),
            ("status.phase!=Running", true),
            ("spec.hostNetwork=false", true),
        ] {
            assert_eq!(selects("pods", selector, "", &pod).unwrap(), wanted, "{selector}");
        }
    }

    #[test]
    fn unknown_fields_are_refused_in_the_servers_words() {
        let refused = selects("pods", "spec.nope=1", "", &json!({})).unwrap_err().object();
        assert_eq!(
            (refused["code"].clone(), refused["message"].clone()),
            (json!(400), json!("field label not supported: spec.nope"))
        );
        let refused = selects("services", "spec.nope=1", "", &json!({})).unwrap_err().object();
        assert!(refused["message"].as_str().unwrap().contains("is not a known field selector"), "{refused}");
    }

    #[test]
    fn labels_are_selected_by_equality_set_and_presence() {
        let pod = json!({"metadata": {"labels": {"app": "web", "tier": "front"}}});
        for (selector, wanted) in [
            ("app=web", true),
            ("app==db", false),
            ("app!=db,tier", true),
            ("app in (db, web),tier=front", true),
            ("app notin (db)", true),
            ("zone notin (a)", true),
            ("!zone", true),
            ("zone", false),
        ] {
            assert_eq!(selects("pods", "", selector, &pod).unwrap(), wanted, "{selector}");
        }
        assert!(selects("pods", "", "app in web(", &pod).is_err());
    }
}
