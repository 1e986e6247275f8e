//! The resources that the rules know by their fields.

use super::Resource;

/// A resource, with what discovery says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiResource {
    pub group: &'static str,
    /// The version that is asked for.
    pub version: &'static str,
    pub plural: &'static str,
    /// The kind, as people write it.
    pub kind: &'static str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

impl ApiResource {
    /// Whether it is this one, in whatever version.
    pub fn is(&self, resource: &Resource) -> bool {
        self.group == resource.group && self.plural == resource.plural
    }
}

impl From<ApiResource> for Resource {
    fn from(known: ApiResource) -> Self {
        Resource::new(known.group, known.version, known.plural)
    }
}

macro_rules! known {
    ($($name:ident = $group:literal $version:literal $plural:literal $kind:literal $namespaced:literal;)*) => {
        $(
            #[doc = concat!("`", $plural, "`")]
            pub const $name: ApiResource = ApiResource {
                group: $group,
                version: $version,
                plural: $plural,
                kind: $kind,
                namespaced: $namespaced,
            };
        )*

        pub const ALL: &[ApiResource] = &[$($name),*];
    };
}

known! {
    NAMESPACES = "" "v1" "namespaces" "Namespace" false;
    PODS = "" "v1" "pods" "Pod" true;
    NODES = "" "v1" "nodes" "Node" false;
    CLAIMS = "" "v1" "persistentvolumeclaims" "PersistentVolumeClaim" true;
    VOLUMES = "" "v1" "persistentvolumes" "PersistentVolume" false;
    ATTACHMENTS = "storage.k8s.io" "v1" "volumeattachments" "VolumeAttachment" false;
    CSI_NODES = "storage.k8s.io" "v1" "csinodes" "CSINode" false;
    SERVICES = "" "v1" "services" "Service" true;
    ENDPOINTS = "" "v1" "endpoints" "Endpoints" true;
    ENDPOINT_SLICES = "discovery.k8s.io" "v1" "endpointslices" "EndpointSlice" true;
    EVENTS = "" "v1" "events" "Event" true;
    AGENT_EVENTS = "events.k8s.io" "v1" "events" "Event" true;
    LEASES = "coordination.k8s.io" "v1" "leases" "Lease" true;
    API_SERVICES = "apiregistration.k8s.io" "v1" "apiservices" "APIService" false;
    CRDS = "apiextensions.k8s.io" "v1" "customresourcedefinitions" "CustomResourceDefinition" false;
    VALIDATING = "admissionregistration.k8s.io" "v1" "validatingwebhookconfigurations" "ValidatingWebhookConfiguration" false;
    MUTATING = "admissionregistration.k8s.io" "v1" "mutatingwebhookconfigurations" "MutatingWebhookConfiguration" false;
    ADMISSION_POLICIES = "admissionregistration.k8s.io" "v1" "validatingadmissionpolicies" "ValidatingAdmissionPolicy" false;
    ADMISSION_POLICY_BINDINGS = "admissionregistration.k8s.io" "v1" "validatingadmissionpolicybindings" "ValidatingAdmissionPolicyBinding" false;
    MUTATING_POLICIES = "admissionregistration.k8s.io" "v1" "mutatingadmissionpolicies" "MutatingAdmissionPolicy" false;
    MUTATING_POLICY_BINDINGS = "admissionregistration.k8s.io" "v1" "mutatingadmissionpolicybindings" "MutatingAdmissionPolicyBinding" false;
    DEPLOYMENTS = "apps" "v1" "deployments" "Deployment" true;
    STATEFUL_SETS = "apps" "v1" "statefulsets" "StatefulSet" true;
    DAEMON_SETS = "apps" "v1" "daemonsets" "DaemonSet" true;
    BUDGETS = "policy" "v1" "poddisruptionbudgets" "PodDisruptionBudget" true;
    JOBS = "batch" "v1" "jobs" "Job" true;
    INGRESSES = "networking.k8s.io" "v1" "ingresses" "Ingress" true;
    CLUSTER_ROLES = "rbac.authorization.k8s.io" "v1" "clusterroles" "ClusterRole" false;
    ROLES = "rbac.authorization.k8s.io" "v1" "roles" "Role" true;
    CLUSTER_BINDINGS = "rbac.authorization.k8s.io" "v1" "clusterrolebindings" "ClusterRoleBinding" false;
    BINDINGS = "rbac.authorization.k8s.io" "v1" "rolebindings" "RoleBinding" true;
}

/// The one that this resource is, in whatever version.
pub fn find(resource: &Resource) -> Option<ApiResource> {
    ALL.iter().copied().find(|known| known.is(resource))
}

/// Words that need no discovery: it may be what is broken.
pub fn named(word: &str) -> Option<ApiResource> {
    Some(match word.to_lowercase().as_str() {
        "ns" | "namespace" | "namespaces" => NAMESPACES,
        "po" | "pod" | "pods" => PODS,
        "pvc" | "persistentvolumeclaim" | "persistentvolumeclaims" => CLAIMS,
        "pv" | "persistentvolume" | "persistentvolumes" => VOLUMES,
        "no" | "node" | "nodes" => NODES,
        "crd" | "crds" | "customresourcedefinition" | "customresourcedefinitions" => CRDS,
        "apiservice" | "apiservices" => API_SERVICES,
        "volumeattachment" | "volumeattachments" => ATTACHMENTS,
        _ => return None,
    })
}
