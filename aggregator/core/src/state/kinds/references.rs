//! By which fields objects of custom kinds name others. Of what is asked of such an object no more than this is kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lite;
use crate::resource::ObjectRef;

/// More names of one field are not read.
const MAX_NAMES: usize = 64;
/// Nor more objects of one list.
const MAX_LISTED: usize = 256;
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
    /// A VolumeSnapshotContent names its snapshot, which it keeps only where it is deleted with that.
    Snapshot,
    /// A claim names what its volume is made of: a snapshot, or another claim.
    DataSource,
    /// Claims and volumes name the class of their attributes.
    AttributesClass,
    /// A pod names its group.
    PodGroup,
    /// A pod names claims of devices; those that are made for it have other names.
    DeviceClaim,
    /// A PushSecret names its stores, which it needs after its deletion only where it deletes there.
    PushedTo,
    /// A Challenge names its issuer.
    Issuer,
    /// A Machine or a Cluster names the object of its infrastructure.
    Infrastructure,
    /// A Cluster names its control plane.
    ControlPlane,
    /// A claim of Crossplane names its composite, and that names what it is composed of.
    Composed,
    /// What Flux applies names the account that Flux works as; with a kubeconfig that is in another cluster.
    Account,
    /// Any field `…Ref` that has a kind and a name.
    Any,
    /// Any field `instanceName`, or `instanceRef` that has no kind: it names an object of a kind that is called so, or ends so.
    CalledAsKind,
}

/// Where a field stands, what it calls the name, and which other must have which value for it to count.
struct Place {
    field: Field,
    path: &'static str,
    key: &'static str,
    only: Option<(&'static str, &'static str)>,
    /// A field with which it does not count.
    unless: &'static str,
}

const fn place(field: Field, path: &'static str) -> Place {
    Place { field, path, key: "name", only: None, unless: "" }
}

const DELETES: Option<(&str, &str)> = Some(("/deletionPolicy", "Delete"));

impl Field {
    const OF_SPEC: [Place; 16] = [
        place(Field::SourceClaim, "/source/persistentVolumeClaimName"),
        place(Field::GatewayClass, "/gatewayClassName"),
        place(Field::Project, "/project"),
        place(Field::NodeClass, "/nodeClassRef"),
        Place { only: DELETES, ..place(Field::Snapshot, "/volumeSnapshotRef") },
        place(Field::DataSource, "/dataSource"),
        place(Field::AttributesClass, "/volumeAttributesClassName"),
        place(Field::PodGroup, "/schedulingGroup/podGroupName"),
        Place { key: "resourceClaimName", ..place(Field::DeviceClaim, "/resourceClaims") },
        Place { only: DELETES, ..place(Field::PushedTo, "/secretStoreRefs") },
        place(Field::Issuer, "/issuerRef"),
        place(Field::Infrastructure, "/infrastructureRef"),
        place(Field::ControlPlane, "/controlPlaneRef"),
        place(Field::Composed, "/resourceRef"),
        place(Field::Composed, "/resourceRefs"),
        Place { unless: "/kubeConfig", ..place(Field::Account, "/serviceAccountName") },
    ];
}

lite! {
    Named {
        /// The kind, if the field says it.
        kind: String,
        /// The namespace, if the field says it.
        #[serde(skip_serializing_if = "String::is_empty")]
        namespace: String,
        name: String,
    }
}

impl Named {
    /// Whether it names this object.
    pub fn is(&self, object: &ObjectRef) -> bool {
        let is_or_unsaid = |own: &str, of_object: &str| own.is_empty() || own == of_object;
        self.name == object.name
            && is_or_unsaid(&self.kind, &object.kind)
            && is_or_unsaid(&self.namespace, object.namespace.as_deref().unwrap_or_default())
    }

    pub fn is_empty(&self) -> bool {
        self.name.is_empty()
    }

    /// A list of objects, each with its kind.
    pub(super) fn list(all: &Value) -> Box<[Named]> {
        let all = all.as_array().into_iter().flatten().take(MAX_LISTED);
        all.filter_map(|one| Named::read(one, "name")).filter(|named| !named.kind.is_empty()).collect()
    }

    fn read(value: &Value, key: &str) -> Option<Self> {
        let text = |value: &Value| value.as_str().filter(|text| text.len() <= MAX_NAME_BYTES).map(str::to_owned);
        let part = |name: &str| text(&value[name]).unwrap_or_default();
        let named = match value {
            Value::Object(_) => Named { kind: part("kind"), namespace: part("namespace"), name: part(key) },
            other => Named { name: text(other)?, ..Named::default() },
        };
        (!named.name.is_empty()).then_some(named)
    }
}

/// What the fields of one object name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct References(BTreeMap<Field, Box<[Named]>>);

impl References {
    /// Reads a `spec`, or one that was saved.
    pub fn read(spec: &Value) -> Self {
        if let Some(saved) = spec.get("references").and_then(|saved| References::deserialize(saved).ok()) {
            return saved;
        }
        let text = |path: &str| spec.pointer(path).and_then(Value::as_str);
        let each = |Place { field, path, key, only, unless }: Place| {
            let counts = only.is_none_or(|(other, value)| text(other) == Some(value))
                && (unless.is_empty() || spec.pointer(unless).is_none());
            let named: Box<[Named]> = match spec.pointer(path).filter(|_| counts)? {
                Value::Array(all) => all.iter().take(MAX_NAMES).filter_map(|one| Named::read(one, key)).collect(),
                one => Named::read(one, key).into_iter().collect(),
            };
            (!named.is_empty()).then_some((field, named))
        };
        let mut found: BTreeMap<_, _> = Field::OF_SPEC.into_iter().filter_map(each).collect();
        // A claimRef points back, to who asked for the object.
        let is_other = |name: &str| {
            let is_known = Field::OF_SPEC.iter().any(|place| place.path.strip_prefix('/') == Some(name));
            name.ends_with("Ref") && name != "claimRef" && !is_known
        };
        let fields = spec.as_object().into_iter().flatten().filter(|(name, _)| is_other(name));
        let any = fields.filter_map(|(_, value)| Named::read(value, "name")).filter(|named| !named.kind.is_empty());
        let any: Box<[Named]> = any.take(MAX_NAMES).collect();
        let called = spec.as_object().into_iter().flatten().filter_map(|(key, value)| {
            let kind =
                key.strip_suffix("Name").or(key.strip_suffix("Ref")).filter(|_| is_other(key) || value.is_string())?;
            let kind = format!("{}{}", kind.get(..1)?.to_ascii_uppercase(), kind.get(1..)?);
            let named = Named::read(value, "name").filter(|named| named.kind.is_empty())?;
            Some(Named { kind, ..named })
        });
        let called: Box<[Named]> = called.take(MAX_NAMES).collect();
        let more = [(Field::Any, any), (Field::CalledAsKind, called)];
        found.extend(more.into_iter().filter(|(_, named)| !named.is_empty()));
        References(found)
    }

    /// Whether no field names anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first that this field names.
    pub fn first(&self, field: Field) -> Option<&Named> {
        self.0.get(&field)?.first()
    }

    /// All that this field names.
    pub fn all(&self, field: Field) -> &[Named] {
        self.0.get(&field).map_or(&[], |all| all)
    }

    /// Whether any field names this object with its kind, or is called as that.
    pub fn name_by_kind(&self, object: &ObjectRef) -> bool {
        let is_called = |named: &Named| {
            let named = Named { kind: String::new(), ..named.clone() };
            named.is(object)
        };
        self.name(Field::Any, object)
            || self.all(Field::CalledAsKind).iter().any(|named| object.kind.ends_with(&named.kind) && is_called(named))
    }

    /// Whether this field names this object.
    pub fn name(&self, field: Field, object: &ObjectRef) -> bool {
        self.0.get(&field).is_some_and(|all| all.iter().any(|one| one.is(object)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_names_objects_in_each_form_that_kinds_have() {
        let of = |kind: &'static str, namespace: &str, name: &str| ObjectRef {
            kind: kind.into(),
            resource: crate::resource::Resource::new("", "v1", "any"),
            namespace: Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty()),
            name: name.to_owned(),
        };
        let spec = json!({
            "source": {"persistentVolumeClaimName": "data"}, "nodeClassRef": {"kind": "EC2NodeClass", "name": "x"},
            "project": 7, "secretStoreRefs": [{"kind": "SecretStore", "name": "a"}, {"kind": "ClusterSecretStore", "name": "b"}],
            "volumeSnapshotRef": {"kind": "VolumeSnapshot", "namespace": "shop", "name": "s"}, "deletionPolicy": "Delete",
            "resourceClaims": [{"name": "a", "resourceClaimName": "gpu"}, {"name": "b", "resourceClaimTemplateName": "t"}]
        });
        let read = References::read(&spec);
        assert!(read.name(Field::SourceClaim, &of("PersistentVolumeClaim", "shop", "data")) && !read.is_empty());
        let node_class = |kind| read.name(Field::NodeClass, &of(kind, "", "x"));
        assert!(node_class("EC2NodeClass") && !node_class("NodeClass"));
        assert!(!read.name(Field::Project, &of("AppProject", "", "7")));
        let store = |kind| read.name(Field::PushedTo, &of(kind, "", "b"));
        assert!(store("ClusterSecretStore") && !store("SecretStore"));
        let device = |name| read.name(Field::DeviceClaim, &of("ResourceClaim", "shop", name));
        assert!(device("gpu") && !device("a") && !device("b"));
        let snapshot = |namespace| read.name(Field::Snapshot, &of("VolumeSnapshot", namespace, "s"));
        assert!(snapshot("shop") && !snapshot("other"), "in its namespace");
        let mut kept = spec;
        kept["deletionPolicy"] = "Retain".into();
        assert!(!References::read(&kept).name(Field::Snapshot, &of("VolumeSnapshot", "shop", "s")), "it is kept");
        assert_eq!(References::read(&json!({"references": read})), read, "as it is saved");
    }

    /// ServiceBinding (sap-btp-service-operator), FlinkSessionJob (flink-kubernetes-operator).
    #[test]
    fn a_field_is_called_as_the_kind_that_it_names() {
        let object = |kind: &'static str, name: &str| ObjectRef {
            kind: kind.into(),
            resource: crate::resource::Resource::new("example.com", "v1", "any"),
            namespace: Some("shop".to_owned()),
            name: name.to_owned(),
        };
        let names = |spec: Value, kind| References::read(&spec).name_by_kind(&object(kind, "x"));
        assert!(names(json!({"serviceInstanceName": "x"}), "ServiceInstance"));
        assert!(names(json!({"deploymentName": "x"}), "FlinkDeployment"));
        assert!(names(json!({"clusterRef": {"name": "x"}}), "Cluster"));
        assert!(names(json!({"ownerRef": {"kind": "Cluster", "name": "x"}}), "Cluster"));
        for spec in [
            json!({"serviceInstanceName": "y"}),
            json!({"instanceId": "x"}),
            json!({"name": "x"}),
            json!({"clusterRef": {"name": "x", "namespace": "other"}}),
            json!({"secretName": "x"}),
        ] {
            assert!(!names(spec.clone(), "ServiceInstance") && !names(spec, "Cluster"));
        }
    }
}
