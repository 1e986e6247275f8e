//! Nodes and Leases.

use jiff::Timestamp;

use super::{Condition, Meta, lite};

/// Taints that say that a node is out of reach, and since when.
pub mod taint {
    /// Its kubelet is silent.
    pub const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
    /// An administrator declares that its pods run no more.
    pub const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
    /// Its cloud says that the machine is stopped.
    pub const SHUT_DOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";
}

/// On a NodeClaim that is being deleted: by when Karpenter has every pod ended (karpenter:
/// pkg/controllers/nodeclaim/lifecycle/controller.go, `ensureTerminationGracePeriodTerminationTimeAnnotation`).
pub const TERMINATES_AT: &str = "karpenter.sh/nodeclaim-termination-timestamp";

lite! {
    Node {
        metadata: Meta,
        spec: NodeSpec,
        status: NodeStatus,
    }

    /// What was asked of a node.
    NodeSpec {
        /// Whether nothing new is to come to it.
        unschedulable: bool,
        taints: Vec<Taint>,
        /// Its machine, as its cloud calls it.
        #[serde(rename = "providerID")]
        provider_id: String,
        /// The addresses of its pods.
        #[serde(rename = "podCIDRs")]
        pod_cidrs: Vec<String>,
    }

    Taint {
        key: String,
        value: String,
        /// `NoSchedule`, `NoExecute`.
        effect: String,
        time_added: Option<Timestamp>,
    }

    Toleration {
        /// The key of the taint; empty for all.
        key: String,
        /// `Exists`; else the values are compared.
        operator: String,
        /// The value of the taint.
        value: String,
        /// The effect of the taint; empty for all.
        effect: String,
        /// For how long; for ever where nothing is said.
        toleration_seconds: Option<i64>,
    }
}

impl Toleration {
    /// Whether it is about this taint (kubernetes: staging/src/k8s.io/api/core/v1/toleration.go).
    pub fn matches(&self, taint: &Taint) -> bool {
        let is_any_or = |own: &str, its: &str| own.is_empty() || own == its;
        let fits = match self.operator.as_str() {
            "Exists" => true,
            "" | "Equal" => self.value == taint.value,
            _ => false,
        };
        fits && is_any_or(&self.effect, &taint.effect) && is_any_or(&self.key, &taint.key)
    }
}

lite! {
    NodeStatus {
        conditions: Vec<Condition>,
        /// What its kubelet still has mounted or attached.
        volumes_in_use: Vec<String>,
        addresses: Vec<NodeAddress>,
        node_info: NodeInfo,
    }

    NodeAddress {
        /// `InternalIP`, `Hostname`.
        #[serde(rename = "type")]
        kind: String,
        address: String,
    }

    NodeInfo {
        /// `PRETTY_NAME` of its `/etc/os-release`.
        os_image: String,
    }
}

impl Node {
    /// Whether no agent can look at it, by its labels: it runs Windows, or a provider stands in for its kubelet.
    pub fn is_no_linux_machine(&self) -> bool {
        let says = |key: &str, value: &str| self.metadata.labels.get(key).is_some_and(|said| said == value);
        says("kubernetes.io/os", "windows")
            || says("type", "virtual-kubelet")
            || says("eks.amazonaws.com/compute-type", "fargate")
    }

    /// The taint with this key and effect.
    pub fn taint(&self, key: &str, effect: &str) -> Option<&Taint> {
        self.spec.taints.iter().find(|taint| taint.key == key && taint.effect == effect)
    }

    /// Whether it has a taint with this key, whatever its effect.
    pub fn is_tainted(&self, key: &str) -> bool {
        self.spec.taints.iter().any(|taint| taint.key == key)
    }
}

lite! {
    /// A Lease: the heartbeat of a kubelet or a controller.
    Lease {
        metadata: Meta,
        spec: LeaseSpec,
    }

    LeaseSpec {
        holder_identity: String,
        /// How long it is good for.
        lease_duration_seconds: i64,
        /// When it was last renewed.
        renew_time: Option<Timestamp>,
    }
}

impl Lease {
    /// Seconds since it ran out; `None` while it is good.
    pub fn expired_for(&self, now: Timestamp) -> Option<u64> {
        let age = now.as_second().saturating_sub(self.spec.renew_time?.as_second());
        // A holder may be late once without being gone.
        let good_for = self.spec.lease_duration_seconds.max(1).saturating_mul(2);
        (age > good_for).then(|| u64::try_from(age).unwrap_or(0))
    }
}
