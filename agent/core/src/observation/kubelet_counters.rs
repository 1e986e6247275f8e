//! What the kubelet counts of its own work, on its `/metrics`.

use serde::{Deserialize, Serialize};

/// Its counters, and what they were some minutes before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubeletCounters {
    /// The last look.
    pub last: CounterRead,
    /// An earlier one of the same kubelet, since when the same volumes were to be unmounted on the node.
    pub earlier: Option<CounterRead>,
}

/// One look at them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterRead {
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// Those that are used; one that has not counted anything yet is not there.
    pub counters: Vec<Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// What it counts.
    pub of: Operation,
    /// How it ended: a gRPC code, or `success` and `fail-unknown`.
    pub outcome: String,
    pub count: u64,
}

/// What the kubelet does for volumes and devices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Operation {
    /// A call of a CSI driver (`csi_operations_seconds`).
    Csi {
        driver: String,
        /// `/csi.v1.Node/NodeUnpublishVolume`.
        method: String,
    },
    /// Its own, of a volume plugin (`storage_operation_duration_seconds`).
    Storage {
        /// `kubernetes.io/empty-dir`, `kubernetes.io/csi:<driver>`.
        plugin: String,
        /// `volume_unmount`.
        name: String,
    },
    /// All that is to be done with drivers for one pod (`dra_operations_duration_seconds`): an error of a single claim
    /// comes in an answer that is OK.
    Devices {
        /// `UnprepareResources`.
        name: String,
    },
    /// A call of a DRA driver (`dra_grpc_operations_duration_seconds`).
    Dra {
        driver: String,
        /// `/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources`.
        method: String,
    },
}
