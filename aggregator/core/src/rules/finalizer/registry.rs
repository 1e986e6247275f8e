//! Finalizers that are known by name.

use findings::{Cause, cause};

/// One of them, or a family.
pub struct KnownFinalizer {
    /// Its name, or the beginning or a part of it.
    name: Name,
    /// Who takes it off.
    pub released_by: &'static str,
    /// Whether that is a controller of kube-controller-manager.
    pub in_controller_manager: bool,
    /// What to say when it stays.
    pub cause: &'static Cause,
}

enum Name {
    Is(&'static str),
    StartsWith(&'static str),
    Contains(&'static str),
}

use Name::{Contains, Is, StartsWith};

const fn others(name: Name, released_by: &'static str, cause: &'static Cause) -> KnownFinalizer {
    KnownFinalizer { name, released_by, in_controller_manager: false, cause }
}

const fn in_tree(name: &'static str, cause: &'static Cause) -> KnownFinalizer {
    KnownFinalizer { name: Is(name), released_by: "kube-controller-manager", in_controller_manager: true, cause }
}

static KNOWN: &[KnownFinalizer] = &[
    in_tree("batch.kubernetes.io/job-tracking", &cause::JOB_TRACKING_FINALIZER),
    in_tree("resource.kubernetes.io/delete-protection", &cause::RESOURCE_CLAIM_IN_USE),
    in_tree("networking.k8s.io/service-cidr-finalizer", &cause::IN_TREE_PROTECTION_FINALIZER),
    in_tree("kubernetes.io/vac-protection", &cause::IN_TREE_PROTECTION_FINALIZER),
    in_tree("scheduling.k8s.io/podgroup-protection", &cause::IN_TREE_PROTECTION_FINALIZER),
    others(
        Is("service.kubernetes.io/load-balancer-cleanup"),
        "the cloud controller manager",
        &cause::LOAD_BALANCER_CLEANUP_PENDING,
    ),
    others(
        StartsWith("networking.k8s.aws/"),
        "the Amazon network policy controller",
        &cause::EXTERNAL_RESOURCE_FINALIZER,
    ),
    others(Contains("k8s.aws/resources"), "the AWS load balancer controller", &cause::CLOUD_LOAD_BALANCER_FINALIZER),
    others(StartsWith("networking.gke.io/"), "GKE's ingress controller", &cause::CLOUD_LOAD_BALANCER_FINALIZER),
    others(StartsWith("gke.networking.io/"), "GKE's service controller", &cause::CLOUD_LOAD_BALANCER_FINALIZER),
    others(Contains("acme.cert-manager.io"), "cert-manager", &cause::CERT_MANAGER_CHALLENGE_FINALIZER),
    others(Is("istio-finalizer.install.istio.io"), "the Istio operator", &cause::ISTIO_OPERATOR_FINALIZER),
    others(Contains("argocd.argoproj.io"), "Argo CD", &cause::ARGO_CD_FINALIZER),
    others(Contains("ceph.rook.io"), "the Rook operator", &cause::ROOK_FINALIZER),
    others(Is("finalizers.fluxcd.io"), "Flux", &cause::EXTERNAL_RESOURCE_FINALIZER),
    others(
        Is("finalizer.managedresource.crossplane.io"),
        "the Crossplane provider",
        &cause::EXTERNAL_RESOURCE_FINALIZER,
    ),
    others(Is("controller.cattle.io/namespace-auth"), "Rancher", &cause::NAMESPACE_METADATA_FINALIZER),
    others(Is("karpenter.sh/termination"), "Karpenter", &cause::EXTERNAL_RESOURCE_FINALIZER),
    others(StartsWith("snapshot.storage.kubernetes.io/"), "the snapshot controller", &cause::SNAPSHOT_FINALIZER),
    others(StartsWith("provisioner.storage.kubernetes.io/"), "the CSI provisioner", &cause::SNAPSHOT_FINALIZER),
];

/// What is known of this finalizer.
pub fn find(finalizer: &str) -> Option<&'static KnownFinalizer> {
    KNOWN.iter().find(|known| match known.name {
        Is(name) => finalizer == name,
        StartsWith(start) => finalizer.starts_with(start),
        Contains(part) => finalizer.contains(part),
    })
}
