//! What holds the fifty namespaces: twelve roots, and one that holds a volume.

mod apis;
mod finalizers;
mod pods;

use anyhow::Context as _;
use apiserver::Prepared;
use serde_json::{Value, json};

use super::{crowd::Crowd, text::object};

/// The node that is silent.
pub const LOST: &str = "node-0007";

/// The API that holds every namespace.
const DEAD_API: &str = "metrics.k8s.io/v1beta1";

/// One root, and how many namespaces it holds.
pub struct Trouble {
    /// The beginning of its namespaces' names.
    pub name: &'static str,
    /// The id of the cause that is to be found.
    pub cause: &'static str,
    /// What the last link of the chain has to name.
    pub root: &'static str,
    /// How many.
    pub namespaces: usize,
    /// What is to be seen of it, and of each of its namespaces.
    stage: fn(&Stage, &mut dyn FnMut(Prepared)) -> anyhow::Result<()>,
}

impl Trouble {
    /// The names of the namespaces.
    pub fn names(&self) -> impl Iterator<Item = String> {
        (0..self.namespaces).map(|index| format!("{}-{index}", self.name))
    }
}

const fn trouble(
    name: &'static str,
    cause: &'static str,
    root: &'static str,
    namespaces: usize,
    stage: fn(&Stage, &mut dyn FnMut(Prepared)) -> anyhow::Result<()>,
) -> Trouble {
    Trouble { name, cause, root, namespaces, stage }
}

/// All of it.
pub static ALL: &[Trouble] = &[
    trouble("dead-api", "ApiServiceWithoutEndpoints", "Deployment kube-system/metrics-server", 6, apis::dead_api),
    trouble("webhook", "WebhookUnavailable", "Deployment policy-system/guard", 5, apis::webhook),
    trouble("conversion", "ConversionWebhookUnavailable", "Service gadget-system/converter", 4, apis::conversion),
    trouble("operator-gone", "FinalizerControllerGone", "Deployment backup-system/operator", 5, finalizers::gone),
    trouble(
        "operator-inside",
        "FinalizerOwnerInSameNamespace",
        "ServiceAccount operator-inside-0/operator",
        1,
        finalizers::inside,
    ),
    trouble("nobody", "FinalizerOwnerUnknown", "ConfigMap nobody-", 5, finalizers::nobody),
    trouble("spec", "NamespaceSpecFinalizer", "Namespace spec-", 4, finalizers::spec),
    trouble("silent-node", "NodeUnreachable", "Node node-0007", 8, pods::silent_node),
    trouble("node-gone", "PodGcRefused", "Node node-gone", 4, pods::node_gone),
    trouble("running", "PodContainersNotStopped", "Pod running-0/web-0", 1, pods::running),
    trouble("pod-finalizer", "FinalizerOwnerUnknown", "Pod pod-finalizer-", 4, pods::finalizer),
    trouble("csi", "CsiDriverNotOnNode", "CSI driver nfs.csi.example.com", 3, pods::csi),
];

/// What it is staged with.
pub struct Stage<'a> {
    pub crowd: &'a Crowd,
    trouble: &'a Trouble,
}

/// Adds all that is stuck, and what holds it.
pub fn stage(crowd: &Crowd, add: &mut dyn FnMut(Prepared)) -> anyhow::Result<()> {
    for trouble in ALL.iter().filter(|trouble| trouble.name != "dead-api" || !crowd.size.all_apis_answer) {
        (trouble.stage)(&Stage { crowd, trouble }, add).context(trouble.name)?;
    }
    pods::detach_fails(crowd, add);
    Ok(())
}

/// The conditions of a namespace's deletion: what fails, and what remains.
#[derive(Default)]
struct Conditions<'a> {
    failure: Option<&'a str>,
    remaining: Option<&'a str>,
    finalizers: Option<&'a str>,
}

impl Conditions<'_> {
    fn of(&self, stage: &Stage) -> Value {
        let since = stage.crowd.ago(7100);
        let one = |kind: &str, says: Option<String>, bad: &str, good: &str, fine: &str| {
            json!({
                "type": kind, "lastTransitionTime": since, "status": if says.is_some() { "True" } else { "False" },
                "reason": if says.is_some() { bad } else { good }, "message": says.unwrap_or_else(|| fine.to_owned())
            })
        };
        let stale = format!(
            "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: {DEAD_API}: \
             stale GroupVersion discovery: {DEAD_API}"
        );
        let failure = self.failure.map(|error| format!("Failed to delete all resource types, 1 remaining: {error}"));
        let remaining = self.remaining.map(|what| format!("Some resources are remaining: {what}"));
        let held = |what| format!("Some content in the namespace has finalizers remaining: {what}");
        json!([
            one(
                "NamespaceDeletionDiscoveryFailure",
                (!stage.crowd.size.all_apis_answer).then_some(stale),
                "DiscoveryFailed",
                "ResourcesDiscovered",
                "All resources successfully discovered"
            ),
            one(
                "NamespaceDeletionGroupVersionParsingFailure",
                None,
                "",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed"
            ),
            one(
                "NamespaceDeletionContentFailure",
                failure,
                "ContentDeletionFailed",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization"
            ),
            one(
                "NamespaceContentRemaining",
                remaining,
                "SomeResourcesRemain",
                "ContentRemoved",
                "All content successfully removed"
            ),
            one(
                "NamespaceFinalizersRemaining",
                self.finalizers.map(held),
                "SomeFinalizersRemain",
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished"
            ),
        ])
    }
}

impl Stage<'_> {
    /// Adds this trouble's namespaces, which have been going for two hours.
    fn namespaces(
        &self,
        conditions: &Conditions,
        add: &mut dyn FnMut(Prepared),
        each: impl Fn(&str, &mut dyn FnMut(Prepared)),
    ) {
        self.namespaces_with(conditions, &["kubernetes"], add, each);
    }

    fn namespaces_with(
        &self,
        conditions: &Conditions,
        finalizers: &[&str],
        add: &mut dyn FnMut(Prepared),
        each: impl Fn(&str, &mut dyn FnMut(Prepared)),
    ) {
        let conditions = conditions.of(self);
        let going = self.crowd.namespace.with(|namespace| {
            namespace["metadata"]["deletionTimestamp"] = self.crowd.ago(7200).into();
            namespace["metadata"]["labels"]["example.com/stage"] = self.trouble.name.into();
            namespace["spec"]["finalizers"] = json!(finalizers);
            namespace["status"] = json!({"phase": "Terminating", "conditions": conditions});
        });
        for name in self.trouble.names() {
            add(going.fill("", &name, &[]));
            each(&name, add);
        }
    }
}

/// A Service that selects `app: <name>`, its EndpointSlice without a ready endpoint, and a Deployment without
/// ready pods.
fn silent_service(namespace: &str, name: &str, add: &mut dyn FnMut(Prepared)) {
    let labels = json!({"app": name});
    add(object(
        "services",
        json!({
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"type": "ClusterIP", "selector": labels, "ports": [{"port": 443, "targetPort": 8443}]}
        }),
    ));
    add(object(
        "endpointslices",
        json!({
            "metadata": {"name": format!("{name}-x7k2p"), "namespace": namespace, "labels": {"kubernetes.io/service-name": name}},
            "addressType": "IPv4", "endpoints": [], "ports": []
        }),
    ));
    add(object("deployments", deployment(namespace, name, 2, 0)));
}

fn deployment(namespace: &str, name: &str, replicas: u32, ready: u32) -> Value {
    let labels = json!({"app": name});
    json!({
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"serviceAccountName": name, "containers": []}}
        },
        "status": {"replicas": replicas, "readyReplicas": ready}
    })
}
