//! What the API server says of the pods of this node.

use std::collections::BTreeMap;

use findings::{PodRef, PodUid};
use serde::{Deserialize, Serialize};

use super::Fault;

/// The API server's view of this node.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct ApiFacts {
    /// All pods bound to this node; when only one was asked for, that one.
    pub pods: Vec<ApiPod>,
    /// `status.nodeInfo.kubeletVersion` of the Node.
    pub kubelet_version: Option<String>,
    /// Volumes that were asked for, because their `vol_data.json` is of no use.
    pub volumes: Vec<PersistentVolume>,
    /// `status.nodeInfo.bootID` of the Node: whether it is this machine.
    pub boot_id: Option<String>,
    /// The message of the Node's Ready condition, when that was read just now and is False.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_ready: Option<String>,
    /// What was heard of time.
    #[serde(skip_serializing_if = "is_silent", default)]
    pub heard: Box<Heard>,
    /// Why this is not the server's word of now. Then a deletion request still stands, but a pod
    /// that is missing here proves nothing, and a status may have changed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stale: Option<Fault>,
}

/// Since when things are as they are, and by which clock.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Heard {
    /// Since when the server does not know these pods any more, in milliseconds: those that it has forgotten before
    /// the eyes of this agent.
    pub forgotten: BTreeMap<PodUid, u64>,
    /// Since when this agent hears of every pod, in milliseconds: what the server does not know and this agent has not
    /// seen go was forgotten before.
    pub since_ms: Option<u64>,
    /// Since when the Node is Ready, in milliseconds by the node's clock: before that the kubelet may have been cut
    /// off, and have learnt of nothing.
    pub ready_since_ms: Option<u64>,
    /// How far the server's clock is ahead of the node's, in milliseconds.
    pub server_ahead_ms: Option<i64>,
    /// When this agent first saw that the CSI driver which these pods wait for had just come back, in milliseconds.
    pub driver_back: BTreeMap<PodUid, u64>,
}

fn is_silent(heard: &Heard) -> bool {
    *heard == Heard::default()
}

/// The CSI part of a PersistentVolume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersistentVolume {
    /// Its name, which is also the name of the volume's directory.
    pub name: String,
    /// `spec.csi.driver`.
    pub driver: String,
    /// `spec.csi.volumeHandle`.
    pub handle: String,
    /// `spec.claimRef`: `NAMESPACE/NAME`.
    #[serde(default)]
    pub claim: Option<String>,
    /// `spec.accessModes`.
    #[serde(default)]
    pub access_modes: Vec<String>,
}

/// One pod, with what the judgement needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiPod {
    pub namespace: String,
    pub name: String,
    /// The uid the *node* uses: for mirror pods the hash of the manifest
    /// (`kubernetes.io/config.mirror`), else the API's uid.
    pub uid: PodUid,
    /// Set when its deletion was requested.
    pub deletion: Option<Deletion>,
    /// `status.phase`; empty when the object was too long for more than its metadata to be read.
    pub phase: String,
    /// When the last of its containers ended, of a pod whose containers have all ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_ms: Option<u64>,
    /// What must be removed before the object can go.
    pub finalizers: Vec<String>,
    /// Whether it mirrors a static pod; the kubelet removes those in another way.
    pub mirror: bool,
    /// Names of the resource claims (DRA) it uses.
    pub claims: Vec<String>,
    /// Those of them that are made from a template, and of which `status.resourceClaimStatuses` says nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims_not_generated: Vec<String>,
    /// Names of the PersistentVolumeClaims that its volumes use.
    #[serde(default)]
    pub volume_claims: Vec<String>,
    /// Its volumes' names.
    pub volumes: Vec<String>,
    /// Who made it, and would make another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<Controller>,
    /// Whether it runs and is ready.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ready: bool,
    /// Whether a container of it asks for so much of the processors that its share is above the least there is: 30 m.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_for_cpu: bool,
}

/// The owner reference that has `controller: true`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controller {
    /// `StatefulSet`.
    pub kind: String,
    pub name: String,
    /// Its uid: one of the same name may have been made anew.
    pub uid: String,
}

impl ApiPod {
    pub fn to_ref(&self) -> PodRef {
        PodRef { namespace: Some(self.namespace.clone()), name: Some(self.name.clone()), uid: self.uid.clone() }
    }
}

/// A requested deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deletion {
    /// `metadata.deletionTimestamp`, which already includes the grace period, in milliseconds.
    pub deadline_ms: u64,
    /// `metadata.deletionGracePeriodSeconds`.
    pub grace_s: u64,
}
