//! Finalizers that are known by name: who removes each, when, and what is lost when it is removed by hand.

mod cloud;
mod delivery;
mod entry;
mod kubernetes;
mod operators;
mod storage;

use findings::cause;
use findings::kubernetes_distribution::has_own_controllers;

use crate::state::{Field, Meta};

pub use entry::{Back, CORE, KnownFinalizer, Pattern, UsedBy};

/// All of them, the narrower name before the wider.
pub fn all() -> impl Iterator<Item = &'static KnownFinalizer> {
    [kubernetes::KNOWN, cloud::KNOWN, storage::KNOWN, delivery::KNOWN, operators::KNOWN].into_iter().flatten()
}

/// What is known of this finalizer on objects of this kind; else what is known of it on others.
pub fn find(finalizer: &str, kind: &str) -> Option<&'static KnownFinalizer> {
    let named = || all().filter(|known| known.names.iter().any(|name| name.matches(finalizer)));
    named().find(|known| known.is_for(kind)).or_else(|| named().next())
}

/// The same of an object, whose setter may be known too: the server of k3s and RKE2 sets finalizers of others' names.
pub fn find_on(finalizer: &str, kind: &str, meta: &Meta) -> Option<&'static KnownFinalizer> {
    let by_server = || all().find(|known| known.set_by_server.contains(&finalizer));
    let is_servers = meta.setter_of(finalizer).is_some_and(|set| has_own_controllers(&set.manager));
    by_server().filter(|_| is_servers).or_else(|| find(finalizer, kind))
}

/// NodeClaims of Karpenter that name a class.
const NODE_CLAIMS: &[UsedBy] = &[UsedBy::new("karpenter.sh", "nodeclaims", Back::Field(Field::NodeClass)).anywhere()];

/// A page of something whose cause is that its controller has not finished.
const fn known(names: &'static [Pattern]) -> KnownFinalizer {
    KnownFinalizer::new(names, &cause::CONTROLLER_CLEANUP_PENDING)
}

/// A page of something that stays as long as others use the object.
const fn in_use(names: &'static [Pattern]) -> KnownFinalizer {
    KnownFinalizer::new(names, &cause::PROTECTED_WHILE_IN_USE)
}

/// A page of something that stands for what is outside of the cluster.
const fn outside(names: &'static [Pattern]) -> KnownFinalizer {
    KnownFinalizer::new(names, &cause::EXTERNAL_RESOURCE_FINALIZER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_whole() {
        for known in all() {
            let KnownFinalizer { names, released_by, when, lost, source, .. } = known;
            assert!(!names.is_empty(), "{released_by}");
            assert!(!known.kinds().is_empty(), "{names:?}: on which kinds");
            for text in [released_by, when, lost, source] {
                assert!(!text.is_empty(), "{names:?}: something is missing");
                assert!(!text.ends_with('.'), "{names:?}: {text}");
            }
            assert!(source.contains(": "), "{names:?}: {source} has no path in its repository");
            assert!(lost.starts_with(|c: char| c.is_uppercase()), "{names:?}: {lost}");
        }
    }

    #[test]
    fn no_name_is_hidden_by_a_wider_one_before_it() {
        for known in all() {
            for name in known.names {
                let sample = match name {
                    Pattern::Is(name) | Pattern::StartsWith(name) => (*name).to_owned(),
                    Pattern::Domain(domain) => format!("x.{domain}/y"),
                };
                let found = find(&sample, known.only.first().copied().unwrap_or_default());
                assert!(found.is_some_and(|found| std::ptr::eq(found, known)), "{name}: found elsewhere");
            }
        }
    }

    /// Kinds, as they are written in what entries and texts say.
    fn kinds_in(text: &str) -> impl Iterator<Item = &str> {
        let words = text.split(|c: char| !c.is_alphanumeric());
        words
            .filter(|word| word.len() > 1 && word.starts_with(char::is_uppercase))
            .map(|word| word.trim_end_matches('s'))
    }

    #[test]
    fn a_cause_of_several_entries_names_no_kind_of_one_of_them_alone() {
        for known in all() {
            let (cause, on) = (known.cause, known.kinds());
            for other in all().filter(|other| std::ptr::eq(other.cause, cause)) {
                let others = other.kinds();
                let is_alone =
                    |kind: &&str| kinds_in(&on).any(|on| on == *kind) && !kinds_in(&others).any(|on| on == *kind);
                let steps = cause.safe.iter().filter(|step| step.when.is_empty()).map(|step| step.text);
                let danger = Some(&cause.danger).filter(|danger| !danger.is_any_finalizer_by_hand());
                let danger = danger.into_iter().flat_map(|danger| [danger.action, danger.breaks]);
                for text in steps.chain(danger).chain([cause.note]) {
                    let kind = kinds_in(text).find(is_alone);
                    assert!(kind.is_none(), "{}: {text:?} is not for {:?} on {}", cause.id, other.names, others);
                }
            }
        }
    }

    #[test]
    fn who_owns_what_the_threads_name() {
        for (finalizer, owner) in [
            ("group.ingress.k8s.aws/shop", "the AWS Load Balancer Controller"),
            ("elbv2.k8s.aws/resources", "the AWS Load Balancer Controller"),
            ("gateway.k8s.aws/alb", "the AWS Load Balancer Controller"),
            ("gateway.k8s.aws/resources", "the AWS Gateway API Controller"),
            ("httproute.k8s.aws/resources", "the AWS Gateway API Controller"),
            ("networking.k8s.aws/resources", "the Amazon network policy controller"),
            ("networking.k8s.aws/anp-resources", "the Amazon network policy controller"),
            ("networking.k8s.aws/cnp-resources", "the Amazon network policy controller"),
            ("service.eks.amazonaws.com/resources", "the load balancer controller of EKS Auto Mode"),
            ("eks.amazonaws.com/termination", "Karpenter of EKS Auto Mode"),
            ("longhorn.io", "longhorn-manager"),
            ("foregroundDeleteVirtualMachine", "KubeVirt's virt-controller"),
            ("kubevirt.io/foregroundDeleteVirtualMachine", "KubeVirt's virt-controller"),
            ("foregroundDeleteKubeVirt", "KubeVirt's virt-operator"),
            ("tigera.io/cni-protector", "the Tigera operator"),
            ("operators.coreos.com/csv-cleanup", "OLM's olm-operator"),
            ("externalsecrets.external-secrets.io/externalsecret-cleanup", "External Secrets Operator"),
            ("secretstore.externalsecrets.io/finalizer", "External Secrets Operator"),
            ("in-use.crossplane.io", "the Crossplane provider"),
            ("composite.apiextensions.crossplane.io", "Crossplane"),
            ("runner.actions.summerwind.dev", "actions-runner-controller"),
            ("actions.summerwind.dev/runner-pod", "actions-runner-controller"),
            ("agent.database.arangodb.com/agency-serving", "the ArangoDB operator"),
            ("operator.cdi.kubevirt.io", "CDI's cdi-operator"),
            ("ephemeralrunner.actions.github.com/finalizer", "the controller of gha-runner-scale-set"),
            ("cns.vmware.com/pvc-protection", "the vSphere CSI driver's syncer"),
            ("kopf.zalando.org/KopfFinalizerMarker", "an operator written with Kopf"),
            ("machine.cluster.x-k8s.io", "Cluster API"),
            ("awsmachine.infrastructure.cluster.x-k8s.io", "Cluster API's infrastructure provider"),
            ("karpenter.sh/termination", "Karpenter"),
            ("karpenter.k8s.aws/termination", "Karpenter"),
            ("wrangler.cattle.io/on-helm-chart-remove", "the helm-controller"),
            ("svccontroller.k3s.cattle.io/daemonset", "servicelb"),
            (
                "wrangler.cattle.io/legacy-k3sBasedUpgrader-deprecation",
                "Rancher's cattle-cluster-agent, which sets it on every Deployment,",
            ),
            ("wrangler.cattle.io/managed-etcd-controller", "the controller of etcd's members"),
            ("wrangler.cattle.io/node", "Rancher, or what is built with its wrangler"),
            ("controller.cattle.io/namespace-auth", "Rancher"),
            ("clusterscoped.controller.cattle.io/user-node-remove_c-1", "Rancher"),
            ("gateway-exists-finalizer.gateway.networking.k8s.io", "the Gateway controller of the class"),
            ("restores.velero.io/external-resources-finalizer", "Velero"),
            ("cnpg.io/deleteDatabase", "CloudNativePG's instance manager"),
            ("strimzi.io/topic-operator", "Strimzi's Topic Operator"),
            ("knativeservings.operator.knative.dev", "the Knative Operator"),
            ("routes.serving.knative.dev", "Knative"),
            ("chains.tekton.dev/taskrun", "Tekton Chains"),
            ("snapshot.storage.kubernetes.io/volumesnapshot-bound-protection", "the snapshot controller"),
            ("resources-finalizer.argocd.argoproj.io/foreground", "Argo CD"),
            ("post-delete-finalizer.argocd.argoproj.io/cleanup", "Argo CD"),
            ("cephcluster.ceph.rook.io", "the Rook operator"),
            ("service.kubernetes.io/load-balancer-cleanup", "the cloud controller manager"),
            ("batch.kubernetes.io/job-tracking", "kube-controller-manager"),
        ] {
            assert_eq!(find(finalizer, "").map(|known| known.released_by), Some(owner), "{finalizer}");
        }
        for stranger in
            ["example.com/hold", "longhorn.io.example.com", "notceph.rook.io/x", "mykarpenter.sh/termination"]
        {
            assert!(find(stranger, "").is_none(), "{stranger}");
        }
    }
}
