//! Finalizers that are known by name, on objects of their kinds whose controllers run and do not finish.

use serde_json::json;

use super::super::objects::*;
use super::super::{Situation, ask};
use crate::cluster::Cluster;
use crate::situation::Staged;

/// A finalizer, who removes it, and the version, kind and type of an object that it is on, with its name if that is not `it`.
type Known = (&'static str, &'static str, &'static str, &'static str, &'static str);

const OBJECTS: &[Known] = &[
    (
        "resources-finalizer.argocd.argoproj.io",
        "argocd-application-controller",
        "argoproj.io/v1",
        "Application",
        "applications.argoproj.io",
    ),
    ("post-delete-finalizer.argocd.argoproj.io", "", "argoproj.io/v1", "Application", "application/hooked"),
    (
        "acme.cert-manager.io/finalizer",
        "cert-manager",
        "acme.cert-manager.io/v1",
        "Challenge",
        "challenges.acme.cert-manager.io",
    ),
    (
        "istio-finalizer.install.istio.io",
        "istio-operator",
        "install.istio.io/v1",
        "IstioOperator",
        "istiooperators.install.istio.io",
    ),
    ("finalizer.keda.sh", "keda-operator", "keda.sh/v1", "ScaledObject", "scaledobjects.keda.sh"),
    ("ceph.rook.io/disaster-protection", "rook-ceph-operator", "v1", "Secret", "secret"),
    ("service.k8s.aws/resources", "aws-load-balancer-controller", "v1", "Service", "service"),
    (
        "finalizer.managedresource.crossplane.io",
        "provider-aws-s3",
        "s3.aws.e2e.example.com/v1",
        "Bucket",
        "buckets.s3.aws.e2e.example.com",
    ),
];

/// All of them.
pub fn all() -> Vec<Situation> {
    vec![Situation::new(
        "known-finalizers",
        known_finalizers,
        [
            ask("applications.argoproj.io/it -n {ns}", "ArgoCdFinalizer", ""),
            ask("application/hooked -n {ns}", "ArgoCdFinalizer", ""),
            ask("challenges.acme.cert-manager.io/it -n {ns}", "ExternalResourceFinalizer", ""),
            ask("istiooperators.install.istio.io/it -n {ns}", "ControllerCleanupPending", ""),
            ask("scaledobjects.keda.sh/it -n {ns}", "ControllerCleanupPending", ""),
            ask("secret/it -n {ns}", "RookFinalizer", ""),
            ask("service/it -n {ns}", "ExternalResourceFinalizer", ""),
            ask("buckets.s3.aws.e2e.example.com/it -n {ns}", "ExternalResourceFinalizer", ""),
        ],
    )]
}

fn known_finalizers(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    for (finalizer, program, version, kind, name) in OBJECTS {
        if name.contains('.') {
            define(name, kind, "Namespaced")?;
        }
        if !program.is_empty() {
            let group = version.split_once('/').map_or("", |(group, _)| group);
            create(&operator_rights(namespace, program, group))?;
            create(&[deployment(namespace, program, &json!({"spec": {"serviceAccountName": program}}))])?;
        }
        let (name, called) = name.split_once('/').unwrap_or((name, "it"));
        let object = held(version, kind, namespace, called, &[finalizer]);
        create(&[match *kind {
            "Service" => with(object, "spec", json!({"ports": [{"port": 80}]})),
            _ => object,
        }])?;
        delete(&format!("{name} {called} -n {namespace}"))?;
    }
    Ok(Staged::default())
}
