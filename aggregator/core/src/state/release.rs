//! A Helm release: no object of the API. Helm keeps it in a Secret, which is not read; what it installed says so itself
//! (helm: pkg/action/validate.go).

use super::{Meta, ObjectRef, Resource, Subject};

/// The annotation that names the release of an object.
pub const NAME: &str = "meta.helm.sh/release-name";
/// The annotation that names the namespace of that release.
pub const NAMESPACE: &str = "meta.helm.sh/release-namespace";
/// The annotation by which an object outlives its release.
pub const POLICY: &str = "helm.sh/resource-policy";
/// What every object of a release is labelled with.
pub const LABEL: &str = "app.kubernetes.io/managed-by=Helm";

/// What Helm deletes first, in this order; every other kind, custom resources last, comes after it
/// (helm: pkg/release/v1/util/kind_sorter.go, `UninstallOrder`; in Helm 3 pkg/releaseutil/kind_sorter.go).
const FIRST: [&str; 14] = [
    "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService", "Ingress", "IngressClass",
    "Service", "CronJob", "Job", "StatefulSet", "HorizontalPodAutoscaler", "Deployment", "ReplicaSet", "Pod",
    "DaemonSet",
];

/// The words that the user types for one.
const WORDS: [&str; 2] = ["helm", "releases.helm.sh"];

/// A release that would be uninstalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
}

impl<'a> Release<'a> {
    /// The release that the user asked about.
    pub fn new(subject: &'a Subject) -> Option<Self> {
        match subject {
            Subject::Before { word, namespace, name } if WORDS.contains(&word.as_str()) => {
                Some(Release { namespace, name })
            }
            _ => None,
        }
    }

    /// How it is named in an answer.
    pub fn target(&self) -> ObjectRef {
        ObjectRef {
            kind: "Release".into(),
            resource: Resource::new("helm.sh", "v3", "releases"),
            namespace: Some(self.namespace.to_owned()),
            name: self.name.to_owned(),
        }
    }

    /// Whether Helm deletes objects of kind `one` before those of kind `other`. It does not wait until they are gone
    /// (helm: pkg/action/uninstall.go, `deleteRelease`; pkg/kube/client.go, `Delete`).
    pub fn deletes_before(one: &str, other: &str) -> bool {
        let place = |kind: &str| FIRST.iter().position(|first| *first == kind).unwrap_or(FIRST.len());
        place(one) < place(other)
    }

    /// Whether it installed this object.
    pub fn installed(&self, meta: &Meta) -> bool {
        let says = |annotation: &str, value: &str| meta.annotations.get(annotation).is_some_and(|it| it == value);
        says(NAME, self.name) && says(NAMESPACE, self.namespace)
    }

    /// Whether this object goes when it is uninstalled.
    pub fn takes(&self, meta: &Meta) -> bool {
        // As Helm compares it (helm: pkg/action/resource_policy.go).
        let is_kept = meta.annotations.get(POLICY).is_some_and(|policy| policy.trim().to_lowercase() == "keep");
        self.installed(meta) && !is_kept
    }
}
