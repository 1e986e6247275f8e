//! By which fields objects of custom kinds name others. Of what is asked of such an object no more than this is kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lite;

/// No name is longer.
const MAX_NAME_BYTES: usize = 253;

/// A field of `spec` that names other objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Field {
    /// A VolumeSnapshot names the claim it is made of.
    SourceClaim,
    /// A Gateway names its class.
    GatewayClass,
    /// An Application names its project.
    Project,
    /// A NodeClaim names the class of its node.
    NodeClass,
    /// A ProviderConfigUsage names the configuration; it has no `spec`.
    ProviderConfig,
}

impl Field {
    const OF_SPEC: [(Field, &'static str); 4] = [
        (Field::SourceClaim, "/source/persistentVolumeClaimName"),
        (Field::GatewayClass, "/gatewayClassName"),
        (Field::Project, "/project"),
        (Field::NodeClass, "/nodeClassRef"),
    ];
}

lite! {
    /// What a field names.
    Named {
        /// The kind, if the field says it.
        kind: String,
        /// The name.
        name: String,
    }
}

impl Named {
    /// Whether it names this object.
    pub fn is(&self, kind: &str, name: &str) -> bool {
        self.name == name && (self.kind.is_empty() || self.kind == kind)
    }

    /// Whether it names nothing.
    pub fn is_empty(&self) -> bool {
        self.name.is_empty()
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().filter(|text| text.len() <= MAX_NAME_BYTES).map(str::to_owned);
        let named = match value {
            Value::Object(_) => {
                Named { kind: text(&value["kind"]).unwrap_or_default(), name: text(&value["name"]).unwrap_or_default() }
            }
            other => Named { kind: String::new(), name: text(other)? },
        };
        (!named.name.is_empty()).then_some(named)
    }
}

/// What the fields of one object name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct References(BTreeMap<Field, Named>);

impl References {
    /// Reads a `spec`, or one that was saved.
    pub fn read(spec: &Value) -> Self {
        if let Some(saved) = spec.get("references").and_then(|saved| References::deserialize(saved).ok()) {
            return saved;
        }
        let each = |(field, path): (Field, &str)| {
            let value = spec.pointer(path)?;
            Some((field, Named::read(value)?))
        };
        References(Field::OF_SPEC.into_iter().filter_map(each).collect())
    }

    /// Whether no field names anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this field names this object.
    pub fn name(&self, field: Field, kind: &str, name: &str) -> bool {
        self.0.get(&field).is_some_and(|one| one.is(kind, name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_names_objects_in_each_form_that_kinds_have() {
        let spec = json!({
            "source": {"persistentVolumeClaimName": "data"}, "nodeClassRef": {"kind": "EC2NodeClass", "name": "x"},
            "project": 7
        });
        let read = References::read(&spec);
        assert!(read.name(Field::SourceClaim, "PersistentVolumeClaim", "data") && !read.is_empty());
        assert!(read.name(Field::NodeClass, "EC2NodeClass", "x") && !read.name(Field::NodeClass, "NodeClass", "x"));
        assert!(!read.name(Field::Project, "AppProject", "7"));
        assert_eq!(References::read(&json!({"references": read})), read, "as it is saved");
    }
}
