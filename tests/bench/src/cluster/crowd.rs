//! Everything in the cluster that is well.

use apiserver::Prepared;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::Size;
use super::text::{Template, object, uid};

/// Pods of one namespace: a Deployment's, and in every other namespace the last three of a StatefulSet.
pub const PODS_PER_NAMESPACE: usize = 15;
const OF_STATEFUL_SET: usize = 3;

/// Every so many pods one is on its way out and has time left.
const ONE_GOES_OF: usize = 3750;

/// CRDs of operators that are well, two in each group.
pub const GROUPS: usize = 100;

/// What the objects of a cluster are made of.
pub struct Crowd {
    at: Timestamp,
    pub size: Size,
    pub pod: Template,
    pub node: Template,
    pub namespace: Template,
    pub lease: Template,
    pub claim: Template,
    pub volume: Template,
    pub attachment: Template,
}

impl Crowd {
    /// Reads the templates. `at` is now.
    pub fn new(size: Size, at: Timestamp) -> anyhow::Result<Self> {
        Ok(Self {
            at,
            size,
            pod: Template::new("pods", include_str!("objects/pod.json"))?,
            node: Template::new("nodes", include_str!("objects/node.json"))?,
            namespace: Template::new("namespaces", include_str!("objects/namespace.json"))?,
            lease: Template::new("leases", include_str!("objects/lease.json"))?,
            claim: Template::new("persistentvolumeclaims", include_str!("objects/claim.json"))?,
            volume: Template::new("persistentvolumes", include_str!("objects/volume.json"))?,
            attachment: Template::new("volumeattachments", include_str!("objects/attachment.json"))?,
        })
    }

    /// `seconds` before now, as the API writes it; later when negative.
    pub fn ago(&self, seconds: i64) -> String {
        let then = self.at.checked_sub(SignedDuration::from_secs(seconds)).unwrap_or(self.at);
        then.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// Good for the next hour, so that nothing ages while it is measured.
    fn renewed(&self) -> String {
        let then = self.at.checked_add(SignedDuration::from_hours(1)).unwrap_or(self.at);
        then.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
    }

    /// Fills a pod of `owner` on `node`.
    pub fn pod_values<'a>(node: &'a str, owner: &'a str, owner_uid: &'a str) -> [(&'static str, &'a str); 7] {
        [
            ("node", node),
            ("owner", owner),
            ("owner_kind", "ReplicaSet"),
            ("owner_uid", owner_uid),
            ("app", "web"),
            ("ip", "10.244.7.23"),
            ("container", "31426e3c56e0b0ee7be3c6160d0458a043809d90defd8082b620bdca9348d3cb"),
        ]
    }

    /// Nodes with their Leases; those of which the Lease has run out are made elsewhere.
    pub fn nodes(&self, without: &[&str], add: &mut impl FnMut(Prepared)) {
        let renewed = self.renewed();
        for index in 0..self.size.nodes {
            let name = node_name(index);
            if without.contains(&name.as_str()) {
                continue;
            }
            add(self.node.fill("", &name, &[]));
            let owner = uid("nodes", "", &name);
            add(self.lease.fill("kube-node-lease", &name, &[("owner_uid", &owner), ("renewed", &renewed)]));
            let drivers = json!([{"name": "disk.csi.example.com", "nodeID": name, "topologyKeys": []}]);
            add(object("csinodes", json!({"metadata": {"name": name}, "spec": {"drivers": drivers}})));
        }
    }

    /// The control plane, and what every cluster has.
    pub fn system(&self, add: &mut impl FnMut(Prepared)) {
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            add(self.namespace.fill("", name, &[]));
        }
        for name in ["kube-controller-manager", "kube-scheduler"] {
            add(object(
                "leases",
                json!({
                    "metadata": {"name": name, "namespace": "kube-system"},
                    "spec": {"holderIdentity": format!("control-plane-0_{name}"), "leaseDurationSeconds": 15, "renewTime": self.renewed()}
                }),
            ));
        }
        // The chart's, of which the service makes none.
        let ours = json!({"metadata": {"name": "why-terminating-aggregator", "namespace": "why-terminating"}});
        add(object("leases", ours));
        for index in 0..150 {
            let (role, account) = (format!("system:role-{index}"), format!("operator-{index}"));
            let group = format!("group-{}.example.org", index % GROUPS);
            add(object(
                "rbac.authorization.k8s.io/v1/clusterroles",
                json!({"metadata": {"name": role}, "rules": [
                    {"apiGroups": [""], "resources": ["configmaps", "events", "pods"], "verbs": ["get", "list", "watch", "update"]},
                    {"apiGroups": [group], "resources": ["things", "things/status"], "verbs": ["get", "list", "watch", "update"]}
                ]}),
            ));
            add(object(
                "rbac.authorization.k8s.io/v1/clusterrolebindings",
                json!({
                    "metadata": {"name": role},
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                    "subjects": [{"kind": "ServiceAccount", "namespace": "operators", "name": account}]
                }),
            ));
        }
    }

    /// CRDs of operators that are well, with schemas as large as usual.
    pub fn custom(&self, add: &mut impl FnMut(Prepared)) {
        let property = |index: usize| {
            (
                format!("property{index}"),
                json!({"type": "string", "description": "What it is for, in a sentence or two, as most schemas do at length."}),
            )
        };
        let properties: serde_json::Map<String, serde_json::Value> = (0..150).map(property).collect();
        for (group, plural, kind) in custom_kinds() {
            add(object(
                "customresourcedefinitions",
                json!({
                    "metadata": {"name": format!("{plural}.{group}")},
                    "spec": {
                        "group": group, "scope": "Namespaced",
                        "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
                        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                            "type": "object", "properties": {"spec": {"type": "object", "properties": properties}}
                        }}}],
                        "conversion": {"strategy": "None"}
                    },
                    "status": {"storedVersions": ["v1"], "conditions": [{"type": "Established", "status": "True"}]}
                }),
            ));
        }
    }

    /// Namespaces with their pods and what belongs to these. `on_lost` pods of a node are on their way out:
    /// it is silent.
    pub fn namespaces(&self, lost: &str, add: &mut impl FnMut(Prepared)) -> anyhow::Result<()> {
        let deployment = Template::new("deployments", include_str!("objects/deployment.json"))?;
        let stateful_set = Template::new("statefulsets", include_str!("objects/stateful-set.json"))?;
        let role = Template::new("rbac.authorization.k8s.io/v1/roles", include_str!("objects/role.json"))?;
        let binding =
            Template::new("rbac.authorization.k8s.io/v1/rolebindings", include_str!("objects/role-binding.json"))?;
        let (soon, evicted) = (self.ago(-3600), self.ago(1500));
        let leaving = |deadline: String, grace: u64| {
            self.pod.with(|pod| {
                pod["metadata"]["deletionTimestamp"] = deadline.into();
                pod["metadata"]["deletionGracePeriodSeconds"] = grace.into();
            })
        };
        let (going, evicted) = (leaving(soon, 3600), leaving(evicted, 30));
        let with_claim = self.pod.with(|pod| {
            pod["spec"]["volumes"][0] = json!({"name": "data", "persistentVolumeClaim": {"claimName": "data-$(name)"}});
        });
        let mut pods = 0;
        for index in 0.. {
            if pods >= self.size.pods {
                break;
            }
            let namespace = format!("team-{index:05}");
            add(self.namespace.fill("", &namespace, &[]));
            add(deployment.fill(&namespace, "web", &[]));
            add(role.fill(&namespace, "web", &[]));
            add(binding.fill(&namespace, "web", &[]));
            let stateful = if index % 2 == 0 { OF_STATEFUL_SET } else { 0 };
            if stateful > 0 {
                add(stateful_set.fill(&namespace, "db", &[]));
            }
            for place in 0..PODS_PER_NAMESPACE.min(self.size.pods - pods) {
                let node = node_name((pods * 7919) % self.size.nodes);
                let of_set = place < stateful;
                let owner = if of_set { "db" } else { "web-5d4f8c7b9f" };
                let owner_uid = uid(owner, &namespace, owner);
                let mut values = Self::pod_values(&node, owner, &owner_uid);
                let name = if of_set {
                    format!("db-{place}")
                } else {
                    format!("{owner}-{}", &uid("", "", &pods.to_string())[..5])
                };
                if of_set {
                    values[2].1 = "StatefulSet";
                    self.stored(&namespace, &name, &node, add);
                }
                // Alike pods compress better than real ones do.
                let ip = format!("10.{}.{}.{}", 64 + (pods >> 16), (pods >> 8) & 255, pods & 255);
                let container =
                    format!("{}{}", uid("ip", &namespace, &name), uid("container", &namespace, &name)).replace('-', "");
                (values[5].1, values[6].1) = (&ip, &container);
                let template = match () {
                    () if node == lost => &evicted,
                    () if pods % ONE_GOES_OF == 17 => &going,
                    () if of_set => &with_claim,
                    () => &self.pod,
                };
                add(template.fill(&namespace, &name, &values));
                pods += 1;
            }
        }
        Ok(())
    }

    /// The claim of a pod, its volume and its attachment.
    fn stored(&self, namespace: &str, pod: &str, node: &str, add: &mut impl FnMut(Prepared)) {
        let claim = format!("data-{pod}");
        let claim_uid = uid("persistentvolumeclaims", namespace, &claim);
        let volume = format!("pvc-{claim_uid}");
        add(self.claim.fill(namespace, &claim, &[("volume", &volume)]));
        let values = [("namespace", namespace), ("claim", claim.as_str()), ("claim_uid", claim_uid.as_str())];
        add(self.volume.fill("", &volume, &values));
        let attachment = format!("csi-{}", uid("attached", namespace, &claim).replace('-', "").repeat(2));
        add(self.attachment.fill("", &attachment, &[("node", node), ("volume", &volume)]));
    }
}

/// The name of a node.
pub fn node_name(index: usize) -> String {
    format!("node-{index:04}")
}

/// Group, plural and kind of each custom resource of an operator that is well.
pub fn custom_kinds() -> impl Iterator<Item = (String, String, String)> {
    let of_group = |index: usize| {
        ["Thing", "ThingClaim"].map(|kind| {
            let plural = format!("{}s", kind.to_lowercase());
            (format!("group-{index}.example.org"), plural, kind.to_owned())
        })
    };
    (0..GROUPS).flat_map(of_group)
}
