//! What every object has, reduced to what the rules read.

use std::collections::BTreeMap;
use std::fmt;

use findings::event;
use jiff::Timestamp;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::kinds::lite;
use super::{ENDPOINTS_CHANGED, Finalizers, MIRROR, TERMINATES_AT, Texts, pause, release};

/// The API writes `null` for empty lists and unset fields alike.
pub fn or_default<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Annotations the rules read, beside those that pause an object. All others are dropped on receipt: some hold whole objects.
const ANNOTATIONS: &[&str] = &[
    "cluster-autoscaler.kubernetes.io/safe-to-evict",
    "karpenter.sh/do-not-disrupt",
    TERMINATES_AT,
    ENDPOINTS_CHANGED,
    MIRROR,
    ARGO_CD_OPTIONS,
    release::NAME,
    release::NAMESPACE,
    release::POLICY,
    event::ANNOTATION,
];

/// Whether Argo CD keeps the object when it deletes what an Application manages, among other options.
pub const ARGO_CD_OPTIONS: &str = "argocd.argoproj.io/sync-options";

/// More bytes of an annotation are not kept: a finding that is longer is no finding of an agent, and
/// the first byte too many says so.
const MAX_ANNOTATION_BYTES: usize = 2 * event::MAX_ANNOTATION_BYTES + 1;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its uid: another object of the same name has another one.
    #[serde(deserialize_with = "or_default")]
    pub uid: String,
    /// How often what is asked of it was changed; a status may be of an earlier one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Timestamp>,
    /// By when it should be gone. For pods this includes the grace period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_grace_period_seconds: Option<i64>,
    /// What must be taken away before it may go.
    #[serde(skip_serializing_if = "Finalizers::is_unset")]
    pub finalizers: Finalizers,
    #[serde(skip_serializing_if = "Texts::is_empty", deserialize_with = "or_default")]
    pub labels: Texts,
    /// The few annotations the rules read.
    #[serde(skip_serializing_if = "Texts::is_empty", deserialize_with = "known_annotations")]
    pub annotations: Texts,
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "exactly")]
    pub owner_references: Vec<Owner>,
    /// Who set which finalizer, and when the controllers last wrote a status. Other writers are dropped on receipt:
    /// they are most of an object.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "deserialize_finalizer_managers")]
    pub managed_fields: Vec<Managed>,
}

/// As kube-controller-manager calls itself.
pub const CONTROLLER_MANAGER: &str = "kube-controller-manager";

impl Meta {
    /// Both; the namespace is empty where it lives in none.
    pub fn namespace_and_name(&self) -> (String, String) {
        (self.namespace.clone().unwrap_or_default(), self.name.clone())
    }

    /// When kube-controller-manager last wrote the status, as the server recorded it.
    pub fn controllers_wrote_at(&self) -> Option<Timestamp> {
        self.managed_fields.iter().filter(|managed| managed.is_status_by_controllers()).filter_map(|one| one.time).max()
    }

    /// When the deletion was asked for; the deadline lies a grace period later.
    pub fn deletion_requested_at(&self) -> Option<Timestamp> {
        let grace = jiff::SignedDuration::from_secs(self.deletion_grace_period_seconds.unwrap_or(0));
        self.deletion_timestamp?.checked_sub(grace).ok()
    }

    /// Who set `finalizer`, and when, as the server recorded it.
    pub fn setter_of(&self, finalizer: &str) -> Option<&Managed> {
        self.managed_fields.iter().find(|managed| managed.fields.finalizers.iter().any(|set| set == finalizer))
    }
}

lite! {
    Owner {
        api_version: String,
        kind: String,
        name: String,
        uid: String,
        /// Whether it is the one that made this object.
        controller: bool,
        /// Whether it waits for this object in a foreground deletion.
        block_owner_deletion: bool,
    }
}

impl Owner {
    /// Its group and version; the core group is empty.
    pub fn group_version(&self) -> (&str, &str) {
        self.api_version.split_once('/').unwrap_or(("", &self.api_version))
    }
}

/// One writer of the object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Managed {
    /// Its name, mostly that of the program.
    #[serde(deserialize_with = "or_default")]
    pub manager: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "or_default")]
    pub subresource: String,
    /// Which finalizers it set, and whether it set more.
    #[serde(rename = "fieldsV1", with = "finalizers_only")]
    pub fields: Fields,
}

impl Managed {
    fn is_status_by_controllers(&self) -> bool {
        self.manager == CONTROLLER_MANAGER && self.subresource == "status"
    }
}

/// The finalizers among the fields of one owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    pub finalizers: Vec<String>,
    /// Whether it owns others beside finalizers: each change of those renews its time.
    pub has_more: bool,
}

/// A list without the room it has grown into: that of four where mostly there is one.
fn exactly<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    or_default(deserializer).map(|mut all: Vec<T>| {
        all.shrink_to_fit();
        all
    })
}

fn deserialize_finalizer_managers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Managed>, D::Error> {
    let mut all: Vec<Managed> = or_default(deserializer)?;
    all.retain(|managed| !managed.fields.finalizers.is_empty() || managed.is_status_by_controllers());
    all.shrink_to_fit();
    Ok(all)
}

/// A map that once held others would keep their room in each of tens of thousands of objects.
fn known_annotations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Texts, D::Error> {
    struct KnownOnly;

    impl<'de> Visitor<'de> for KnownOnly {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            formatter.write_str("annotations")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(BTreeMap::new())
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut known = BTreeMap::new();
            while let Some(key) = map.next_key::<String>()? {
                if !ANNOTATIONS.contains(&key.as_str()) && !pause::is_key(&key) {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                let mut value: String = map.next_value()?;
                value.truncate(value.ceil_char_boundary(MAX_ANNOTATION_BYTES));
                known.insert(key, value);
            }
            Ok(known)
        }
    }

    deserializer.deserialize_any(KnownOnly).map(Texts::from)
}

/// Reads and writes `fieldsV1` in the API's own form, so that a saved state reads like a recording.
mod finalizers_only {
    use super::*;
    use serde::Serializer;
    use serde::de::DeserializeSeed;

    /// Of more that one writer has set, it is not known who set them.
    const MAX_SET_FINALIZERS: usize = 64;

    const WAY: &[&str] = &["f:metadata", "f:finalizers"];

    /// Follows these keys; thousands of fields are passed over.
    struct Along(&'static [&'static str]);

    impl<'de> DeserializeSeed<'de> for Along {
        type Value = Fields;

        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Fields, D::Error> {
            deserializer.deserialize_any(self)
        }
    }

    impl<'de> Visitor<'de> for Along {
        type Value = Fields;

        fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            formatter.write_str("fields")
        }

        fn visit_unit<E>(self) -> Result<Fields, E> {
            Ok(Fields::default())
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
            let (mut finalizers, mut has_more) = (Vec::new(), false);
            while let Some(key) = map.next_key::<String>()? {
                match self.0.split_first() {
                    Some((next, rest)) if key == *next => {
                        let below = map.next_value_seed(Along(rest))?;
                        finalizers = below.finalizers;
                        has_more |= below.has_more;
                        continue;
                    }
                    Some(_) => has_more = true,
                    None if finalizers.len() >= MAX_SET_FINALIZERS => {}
                    None => finalizers.extend(key.strip_prefix("v:").and_then(|name| serde_json::from_str(name).ok())),
                }
                map.next_value::<IgnoredAny>()?;
            }
            Ok(Fields { finalizers, has_more })
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Fields, D::Error> {
        let mut fields = Along(WAY).deserialize(deserializer)?;
        fields.finalizers.shrink_to_fit();
        fields.has_more &= !fields.finalizers.is_empty();
        Ok(fields)
    }

    pub fn serialize<S: Serializer>(fields: &Fields, serializer: S) -> Result<S::Ok, S::Error> {
        let set: Map<String, Value> = fields
            .finalizers
            .iter()
            .map(|name| (format!("v:{}", Value::from(name.as_str())), Value::Object(Map::new())))
            .collect();
        if set.is_empty() {
            return Map::new().serialize(serializer);
        }
        let mut all = serde_json::json!({"f:metadata": {"f:finalizers": set}});
        if fields.has_more {
            all["f:others"] = Map::new().into();
        }
        all.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta() -> Meta {
        serde_json::from_value(serde_json::json!({
            "name": "w1", "uid": "u",
            "deletionTimestamp": "2026-11-20T20:21:50Z", "deletionGracePeriodSeconds": 30,
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"data\":\"c2VjcmV0\"}"},
            "managedFields": [{
                "manager": "kubectl", "time": "2026-11-20T20:20:22Z",
                "fieldsV1": {"f:metadata": {"f:finalizers": {".": {}, "v:\"example.com/hold\"": {}}}, "f:spec": {}}
            }]
        }))
        .unwrap()
    }

    #[test]
    fn keeps_who_set_a_finalizer_through_a_saved_state() {
        let saved = serde_json::to_string(&meta()).unwrap();
        let read: Meta = serde_json::from_str(&saved).unwrap();
        assert_eq!(read, meta());
        assert_eq!(read.setter_of("example.com/hold").unwrap().manager, "kubectl");
        assert!(read.setter_of("other").is_none());
        let has_more = |fields: Value| serde_json::from_value::<Managed>(fields).unwrap().fields.has_more;
        let own = serde_json::json!({"f:finalizers": {"v:\"a/b\"": {}}});
        assert!(read.setter_of("example.com/hold").unwrap().fields.has_more);
        assert!(!has_more(serde_json::json!({"fieldsV1": {"f:metadata": own}})));
        assert!(!has_more(serde_json::json!({"fieldsV1": null})));
    }

    #[test]
    fn drops_what_may_hold_secrets() {
        assert!(!serde_json::to_string(&meta()).unwrap().contains("c2VjcmV0"));
    }

    #[test]
    fn the_deadline_lies_a_grace_period_after_the_request() {
        assert_eq!(meta().deletion_requested_at().unwrap().to_string(), "2026-11-20T20:21:20Z");
    }
}
