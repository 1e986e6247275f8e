//! Objects, cut down to what is needed: what is not named here is skipped while it is read, however long.

use findings::PodUid;
use jiff::Timestamp;
use reconcile::index::NodeInfo;
use serde::{Deserialize, de::IgnoredAny};

use crate::observation::{ApiPod, Controller, Deletion, PersistentVolume};

/// Of the names in one list of a pod so many are kept: who makes a pod chooses how many it has.
const MOST_NAMES: usize = 100;
/// And so many bytes of each; no name that the API server takes is longer.
const LONGEST_NAME: usize = 320;

/// Declares parts of objects.
macro_rules! reduced {
    ($($(#[$doc:meta])* $vis:vis $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Default, Deserialize)]
            #[serde(rename_all = "camelCase", default)]
            $vis struct $name {
                $($(#[$field_meta])* $field: $type,)*
            }
        )*
    };
}
pub(super) use reduced;

reduced! {
    pub Pod { metadata: PodMeta, spec: PodSpec, status: PodStatus }

    PodMeta {
        namespace: String, name: String, uid: String, annotations: PodAnnotations,
        deletion_timestamp: Option<Timestamp>, deletion_grace_period_seconds: Option<u64>,
        finalizers: Vec<String>, owner_references: Vec<OwnerReference>,
    }

    OwnerReference { kind: String, name: String, uid: String, controller: bool }
}

impl OwnerReference {
    fn controller(self) -> Option<Controller> {
        let OwnerReference { kind, name, uid, controller } = self;
        let is_short = [&kind, &name, &uid].iter().all(|text| text.len() <= LONGEST_NAME);
        (controller && is_short && !uid.is_empty()).then_some(Controller { kind, name, uid })
    }
}

reduced! {
    PodAnnotations {
        #[serde(rename = "kubernetes.io/config.mirror")]
        mirror: Option<String>,
    }

    PodSpec {
        resource_claims: Vec<PodClaim>, volumes: Vec<PodVolume>, containers: Vec<Container>,
        init_containers: Vec<Container>,
    }

    Container { resources: Resources }
    Resources { requests: Requests }
    Requests { cpu: String }
}

/// With less the kubelet may set no more than the least: shares of 2 for 2 m (`MilliCPUToShares`), and a weight of 1 for
/// 28 m (`CpuSharesToCpuWeight`, as long as it was linear).
const LEAST_CPU_M: f64 = 30.0;

impl PodSpec {
    /// Whether one of its containers asks for more than the least; the pod is given no less than any of them.
    fn asks_for_cpu(&self) -> bool {
        let mut containers = self.containers.iter().chain(&self.init_containers);
        containers.any(|container| milli(&container.resources.requests.cpu).is_some_and(|cpu| cpu >= LEAST_CPU_M))
    }
}

/// Thousandths of what a quantity says, as the API server writes one of processors: `100m`, `2`, `1500u`, `1e3`. None of
/// any other.
fn milli(quantity: &str) -> Option<f64> {
    let (number, unit) = match (quantity.strip_suffix('m'), quantity.strip_suffix('u')) {
        (Some(milli), _) => (milli, 1.0),
        (None, Some(micro)) => (micro, 0.001),
        (None, None) => (quantity, 1000.0),
    };
    number.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number * unit)
}

reduced! {
    PodVolume { name: String, persistent_volume_claim: Option<ClaimSource>, ephemeral: Option<IgnoredAny> }
    ClaimSource { claim_name: String }
}

impl PodVolume {
    /// The claim that it uses, if any. That of an ephemeral volume is named after the pod and the volume.
    fn claim(&self, pod: &str) -> Option<String> {
        let claimed = self.persistent_volume_claim.as_ref().map(|source| source.claim_name.clone());
        claimed.or_else(|| self.ephemeral.as_ref().map(|_| format!("{pod}-{}", self.name)))
    }
}

reduced! {
    Named { name: String }
    PodClaim { name: String, resource_claim_template_name: Option<String> }

    PodStatus {
        phase: String, container_statuses: Vec<ContainerStatus>, resource_claim_statuses: Vec<Named>,
        conditions: Vec<Condition>,
    }

    ContainerStatus { state: ContainerState }
    ContainerState { terminated: Option<Terminated> }
    Terminated { finished_at: Option<Timestamp> }
}

impl PodStatus {
    fn is_ready(&self) -> bool {
        let ready = |condition: &Condition| condition.r#type == "Ready" && condition.status == "True";
        self.phase == "Running" && self.conditions.iter().any(ready)
    }

    /// When the last container ended; none while one has not.
    fn finished_ms(&self) -> Option<u64> {
        let ends = self.container_statuses.iter().map(|status| status.state.terminated.as_ref()?.finished_at);
        let last = ends.collect::<Option<Vec<Timestamp>>>()?.into_iter().max()?;
        u64::try_from(last.as_millisecond()).ok()
    }
}

impl Pod {
    /// What of it the judgement needs; none without a uid.
    pub fn reduce(self) -> Option<ApiPod> {
        let Pod { metadata, spec, status } = self;
        // The node knows a static pod by the hash of its manifest, not by its mirror's uid.
        let mirrored = metadata.annotations.mirror;
        let uid = mirrored.as_deref().and_then(PodUid::parse).or_else(|| PodUid::parse(&metadata.uid))?;
        let deletion = metadata.deletion_timestamp.map(|time| Deletion {
            deadline_ms: u64::try_from(time.as_millisecond()).unwrap_or(0),
            grace_s: metadata.deletion_grace_period_seconds.unwrap_or(0),
        });
        let asks_for_cpu = spec.asks_for_cpu();
        let volume_claims = bounded(spec.volumes.iter().filter_map(|volume| volume.claim(&metadata.name)));
        let is_generated = |claim: &PodClaim| status.resource_claim_statuses.iter().any(|one| one.name == claim.name);
        let missing = spec
            .resource_claims
            .iter()
            .filter(|claim| claim.resource_claim_template_name.is_some() && !is_generated(claim));
        let claims_not_generated = bounded(missing.map(|claim| claim.name.clone()));
        Some(ApiPod {
            uid,
            deletion,
            mirror: mirrored.is_some(),
            namespace: metadata.namespace,
            name: metadata.name,
            finished_ms: status.finished_ms(),
            ready: status.is_ready(),
            asks_for_cpu,
            controller: metadata.owner_references.into_iter().find_map(OwnerReference::controller),
            phase: status.phase,
            finalizers: bounded(metadata.finalizers),
            claims: bounded(spec.resource_claims.into_iter().map(|claim| claim.name)),
            claims_not_generated,
            volume_claims,
            volumes: bounded(spec.volumes.into_iter().map(|volume| volume.name)),
        })
    }
}

fn bounded(names: impl IntoIterator<Item = String>) -> Vec<String> {
    names.into_iter().filter(|name| name.len() <= LONGEST_NAME).take(MOST_NAMES).collect()
}

reduced! {
    pub Node { metadata: NodeMeta, status: NodeStatus }
    NodeMeta { uid: String, annotations: NodeAnnotations, managed_fields: Vec<ManagedFields> }

    NodeAnnotations {
        /// What CSI drivers call the node.
        #[serde(rename = "csi.volume.kubernetes.io/nodeid")]
        csi: Option<serde::de::IgnoredAny>,
    }

    ManagedFields { manager: String, subresource: String, time: Option<Timestamp> }
    NodeStatus { node_info: SystemInfo, conditions: Vec<Condition> }

    Condition {
        r#type: String, status: String, message: String, last_heartbeat_time: Option<Timestamp>,
        last_transition_time: Option<Timestamp>,
    }

    SystemInfo {
        kubelet_version: Option<String>,
        #[serde(rename = "bootID")]
        boot_id: Option<String>,
    }
}

impl From<Node> for NodeInfo {
    fn from(node: Node) -> Self {
        let NodeStatus { node_info: SystemInfo { kubelet_version, boot_id }, conditions } = node.status;
        let condition = conditions.iter().find(|condition| condition.r#type == "Ready");
        let ready = condition.filter(|condition| condition.status == "True");
        let not_ready = condition.filter(|condition| condition.status == "False");
        let ready_since = ready.and_then(|ready| ready.last_transition_time);
        let server_ahead_ms = ready.and_then(|ready| server_ahead_ms(&node.metadata, ready));
        NodeInfo {
            uid: node.metadata.uid,
            kubelet_version,
            boot_id: boot_id.filter(|id| !id.is_empty()),
            not_ready: not_ready.map(|ready| findings::clean(&ready.message, 500)),
            ready_since_ms: ready_since.and_then(|time| u64::try_from(time.as_millisecond()).ok()),
            server_ahead_ms,
        }
    }
}

/// The kubelet reports its status at least this often (`nodeStatusReportFrequency`, 5 min), and a little later.
const REPORTS_MS: i64 = 360_000;
/// Both times are of whole seconds, and the report was on its way.
const AT_ONCE_MS: i64 = 2000;

/// Of the kubelet's last report of its status the server has noted the time by its own clock, and the kubelet, in the
/// report, by the node's.
///
/// When a CSI driver registers, the kubelet writes into the same entry without reporting
/// (`pkg/volume/csi/nodeinfomanager`), so the server's time may be that much later.
fn server_ahead_ms(node: &NodeMeta, ready: &Condition) -> Option<i64> {
    let is_report = |fields: &&ManagedFields| fields.manager == "kubelet" && fields.subresource == "status";
    let noted = node.managed_fields.iter().find(is_report)?.time?;
    let ahead = noted.as_millisecond() - ready.last_heartbeat_time?.as_millisecond();
    let may_be_a_driver = node.annotations.csi.is_some() && (AT_ONCE_MS..REPORTS_MS).contains(&ahead);
    (!may_be_a_driver).then_some(ahead)
}

reduced! {
    pub Volume { spec: VolumeSpec }
    VolumeSpec { csi: Option<Csi>, claim_ref: Option<ClaimRef>, access_modes: Vec<String> }
    ClaimRef { namespace: String, name: String }
    Csi { driver: String, volume_handle: String }
}

impl Volume {
    /// The CSI part, if it is CSI's.
    pub fn reduce(self, name: String) -> Option<PersistentVolume> {
        let claim = self.spec.claim_ref.map(|claim| format!("{}/{}", claim.namespace, claim.name));
        let access_modes = bounded(self.spec.access_modes);
        self.spec.csi.map(|csi| PersistentVolume {
            name,
            driver: csi.driver,
            handle: csi.volume_handle,
            claim,
            access_modes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_pod_has_the_uid_of_its_manifest() {
        let json = serde_json::json!({
            "metadata": {
                "name": "etcd-node-a", "namespace": "kube-system", "uid": "96fb425e-919e-44f9-8b42-b1254a602ba1",
                "annotations": {"kubernetes.io/config.mirror": "0123456789abcdef0123456789abcdef"},
                "deletionTimestamp": "2026-08-01T10:00:00Z", "deletionGracePeriodSeconds": 30
            },
            "spec": {"volumes": [{"name": "data", "emptyDir": {}}]}, "status": {"phase": "Running"}
        });
        let seen = serde_json::from_value::<Pod>(json).unwrap().reduce().unwrap();
        assert_eq!(seen.uid.as_str(), "0123456789abcdef0123456789abcdef");
        assert!(seen.mirror);
        assert_eq!(seen.deletion, Some(Deletion { deadline_ms: 1_785_578_400_000, grace_s: 30 }));
        assert_eq!(seen.volumes, ["data"]);
        assert_eq!(seen.volume_claims, [""; 0]);
    }

    #[test]
    fn a_claim_that_was_not_generated_is_named() {
        let json = serde_json::json!({
            "metadata": {"name": "db-0", "uid": "96fb425e-919e-44f9-8b42-b1254a602ba1"},
            "spec": {"resourceClaims": [
                {"name": "own", "resourceClaimName": "shared"},
                {"name": "made", "resourceClaimTemplateName": "gpu"},
                {"name": "gpu", "resourceClaimTemplateName": "gpu"}
            ]},
            "status": {"resourceClaimStatuses": [{"name": "made", "resourceClaimName": "db-0-made-x7"}]}
        });
        let seen = serde_json::from_value::<Pod>(json).unwrap().reduce().unwrap();
        assert_eq!(seen.claims, ["own", "made", "gpu"]);
        assert_eq!(seen.claims_not_generated, ["gpu"]);
    }

    #[test]
    fn a_pod_names_its_claims() {
        let json = serde_json::json!({
            "metadata": {"name": "db-0", "uid": "96fb425e-919e-44f9-8b42-b1254a602ba1"},
            "spec": {"volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}},
                {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
                {"name": "inline", "csi": {"driver": "x"}}
            ]}
        });
        let seen = serde_json::from_value::<Pod>(json).unwrap().reduce().unwrap();
        assert_eq!(seen.volume_claims, ["data-db-0", "db-0-scratch"]);
        let json = serde_json::json!({"spec": {
            "csi": {"driver": "x", "volumeHandle": "h"}, "claimRef": {"namespace": "shop", "name": "data-db-0"},
            "accessModes": ["ReadWriteOnce"]
        }});
        let volume = serde_json::from_value::<Volume>(json).unwrap().reduce("pv-1".into()).unwrap();
        assert_eq!(volume.claim.as_deref(), Some("shop/data-db-0"));
        assert_eq!(volume.access_modes, ["ReadWriteOnce"]);
    }

    #[test]
    fn a_pod_names_its_controller_and_whether_it_is_ready() {
        let pod = |owner: serde_json::Value, phase: &str| {
            let json = serde_json::json!({
                "metadata": {"uid": "96fb425e-919e-44f9-8b42-b1254a602ba1", "ownerReferences": [
                    {"kind": "Node", "name": "node-a", "uid": "n", "apiVersion": "v1"}, owner
                ]},
                "status": {"phase": phase, "conditions": [
                    {"type": "Initialized", "status": "True"}, {"type": "Ready", "status": "True"}
                ]}
            });
            serde_json::from_value::<Pod>(json).unwrap().reduce().unwrap()
        };
        let owner = serde_json::json!({"kind": "StatefulSet", "name": "db", "uid": "u", "controller": true});
        let seen = pod(owner.clone(), "Running");
        let controller = Controller { kind: "StatefulSet".into(), name: "db".into(), uid: "u".into() };
        assert_eq!((seen.controller, seen.ready), (Some(controller), true));
        assert!(!pod(owner, "Failed").ready, "a condition may be left of better times");
        assert_eq!(
            pod(serde_json::json!({"kind": "StatefulSet", "name": "db", "uid": "u"}), "Running").controller,
            None
        );
    }

    #[test]
    fn a_pod_tells_whether_its_share_of_the_processors_is_more_than_the_least() {
        let asks = |containers: serde_json::Value, init: serde_json::Value| {
            let json = serde_json::json!({
                "metadata": {"uid": "96fb425e-919e-44f9-8b42-b1254a602ba1"},
                "spec": {"containers": containers, "initContainers": init}
            });
            serde_json::from_value::<Pod>(json).unwrap().reduce().unwrap().asks_for_cpu
        };
        let one =
            |cpu: &str| serde_json::json!([{"name": "a", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}]);
        for cpu in ["30m", "100m", "1", "2", "0.5", "1e3", "1500m", "30000u"] {
            assert!(asks(one(cpu), serde_json::json!([])), "{cpu}");
            assert!(asks(one("10m"), one(cpu)), "{cpu}");
        }
        for cpu in ["0", "10m", "29m", "0.01", "5000u", "", "x", "-1", "NaN", "inf", "1Ki"] {
            assert!(!asks(one(cpu), serde_json::json!([])), "{cpu}");
        }
        let without = serde_json::json!([{"name": "a"}, {"name": "b", "resources": {"limits": {"memory": "1Gi"}}}]);
        assert!(!asks(without, serde_json::json!([])));
    }

    /// The server's clock is 40 s ahead; the Node was cut off until a minute ago.
    #[test]
    fn a_node_tells_since_when_it_is_heard_and_by_which_clock() {
        let mut json = serde_json::json!({
            "metadata": {"uid": "u", "managedFields": [
                {"manager": "kubelet", "operation": "Update", "time": "2026-01-01T00:00:00Z"},
                {"manager": "kubelet", "operation": "Update", "subresource": "status", "time": "2026-08-01T10:00:40Z"}
            ]},
            "status": {"conditions": [{
                "type": "Ready", "status": "True",
                "lastHeartbeatTime": "2026-08-01T10:00:00Z", "lastTransitionTime": "2026-08-01T09:59:00Z"
            }]}
        });
        let info = |json: &serde_json::Value| NodeInfo::from(serde_json::from_value::<Node>(json.clone()).unwrap());
        assert_eq!(info(&json).server_ahead_ms, Some(40_000));
        assert_eq!(info(&json).ready_since_ms, Some(1_785_578_340_000));
        json["status"]["conditions"][0]["status"] = "Unknown".into();
        assert_eq!((info(&json).ready_since_ms, info(&json).server_ahead_ms), (None, None));
    }

    /// As seen on a real node (1.36): the kubelet has written the driver's name for the node into the same entry, 49 s after
    /// its last report, and both clocks were right.
    #[test]
    fn a_csi_driver_that_registers_sets_no_clock() {
        let ahead = |noted: &str| {
            let json = serde_json::json!({
                "metadata": {
                    "annotations": {"csi.volume.kubernetes.io/nodeid": "{\"csi.example.com\":\"lab\"}"},
                    "managedFields": [
                        {"manager": "kubelet", "operation": "Update", "subresource": "status", "time": noted}
                    ]
                },
                "status": {"conditions": [
                    {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-22T21:12:33Z"}
                ]}
            });
            NodeInfo::from(serde_json::from_value::<Node>(json).unwrap()).server_ahead_ms
        };
        assert_eq!(ahead("2026-11-22T21:13:22Z"), None);
        assert_eq!(ahead("2026-11-22T21:11:33Z"), Some(-60_000), "at most so far");
        assert_eq!(ahead("2026-11-22T21:22:33Z"), Some(600_000), "no report is that late");
        assert_eq!(ahead("2026-11-22T21:12:34Z"), Some(1000));
    }

    #[test]
    fn a_pod_has_as_many_names_as_are_kept() {
        let finalizers: Vec<String> = (0..5000).map(|n| format!("example.com/{n}")).chain(["x".repeat(999)]).collect();
        let uid = "96fb425e-919e-44f9-8b42-b1254a602ba1";
        let json = serde_json::json!({"metadata": {"uid": uid, "finalizers": finalizers}});
        assert_eq!(serde_json::from_value::<Pod>(json).unwrap().reduce().unwrap().finalizers.len(), MOST_NAMES);
    }
}
