//! Pods.

use jiff::Timestamp;

use crate::messages::Message;

use super::{Condition, Meta, Taint, Toleration, condition, lite};

lite! {
    Pod {
        metadata: Meta,
        spec: PodSpec,
        status: PodStatus,
    }

    /// What was asked of a pod.
    PodSpec {
        /// Where it runs; empty until it is scheduled.
        node_name: String,
        volumes: Vec<Volume>,
        /// As whom it speaks to the API.
        service_account_name: String,
        /// Which taints of a node it tolerates.
        tolerations: Vec<Toleration>,
        /// How long it may take to end.
        termination_grace_period_seconds: Option<i64>,
    }

    /// A volume of a pod.
    Volume {
        /// Its name in the pod.
        name: String,
        persistent_volume_claim: Option<ClaimSource>,
        /// A claim made for this pod, named after it.
        ephemeral: Option<Nothing>,
        /// A directory that goes with the pod.
        empty_dir: Option<Nothing>,
    }

    /// Which claim a volume takes.
    ClaimSource {
        claim_name: String,
    }

    /// A field of which only the presence counts.
    Nothing {}

    PodStatus {
        /// `Pending`, `Running`, `Succeeded`, `Failed`.
        phase: String,
        reason: String,
        conditions: Vec<Condition>,
        container_statuses: Vec<ContainerStatus>,
        init_container_statuses: Vec<ContainerStatus>,
        /// Those that were added to debug it.
        ephemeral_container_statuses: Vec<ContainerStatus>,
    }

    /// How a container stands, as its kubelet last said.
    ContainerStatus {
        name: String,
        /// The runtime's id; empty when it was never made.
        #[serde(rename = "containerID")]
        container_id: String,
        state: ContainerState,
    }

    /// One of three states.
    ContainerState {
        running: Option<Nothing>,
        waiting: Option<Waiting>,
        terminated: Option<Ended>,
    }

    Ended {
        finished_at: Option<Timestamp>,
        exit_code: Option<i64>,
        reason: String,
        message: Message,
    }

    /// Why a container has not started.
    Waiting {
        reason: String,
        message: Message,
    }
}

impl ContainerStatus {
    /// One that waits for its next start has ended; any other that waits may be unknown to its kubelet.
    fn has_ended(&self) -> bool {
        let waits = self.state.waiting.as_ref();
        self.state.terminated.is_some() || waits.is_some_and(|waiting| waiting.reason == "CrashLoopBackOff")
    }
}

/// What a kubelet sets on the pods by which it shows its static ones.
pub const MIRROR: &str = "kubernetes.io/config.mirror";

impl Pod {
    /// Whether it only shows a static pod, which comes from a manifest on its node.
    pub fn is_mirror(&self) -> bool {
        self.metadata.annotations.contains_key(MIRROR)
    }

    /// Whether the kubelet has reported that every container ended: by the phase, or, as before Kubernetes 1.27 and
    /// while the sandbox is being stopped, by the state of each container.
    pub fn has_ended(&self) -> bool {
        // The collector gives no word of its own where a node is out of service (`gcTerminating` of the same file).
        let is_over = self.is_over() && self.collected().is_none() && self.running().is_empty();
        is_over || self.each_has_ended()
    }

    /// Whether its phase is final: nothing of it is started again.
    pub fn is_over(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    /// When the last of its containers ended.
    pub fn ended_at(&self) -> Option<Timestamp> {
        self.containers().filter_map(|container| container.state.terminated.as_ref()?.finished_at).max()
    }

    /// What the pod garbage collector wrote before it deleted the pod. It does so only where the phase was not final, and
    /// then the phase is its own word too (kubernetes: pkg/controller/podgc/gc_controller.go, `markFailedAndDeletePod`).
    pub fn collected(&self) -> Option<&Condition> {
        condition(&self.status.conditions, "DisruptionTarget")
            .filter(|marked| marked.status == "True" && marked.reason == "DeletionByPodGC")
    }

    /// Whether containers were made, and the state of each says that it does not run.
    pub fn each_has_ended(&self) -> bool {
        let all = || self.containers().filter(|container| !container.container_id.is_empty());
        all().next().is_some() && all().all(ContainerStatus::has_ended)
    }

    pub fn containers(&self) -> impl Iterator<Item = &ContainerStatus> {
        let status = &self.status;
        status
            .init_container_statuses
            .iter()
            .chain(&status.container_statuses)
            .chain(&status.ephemeral_container_statuses)
    }

    /// Whether a container waits for its next start because it exits each time.
    pub fn crashes(&self) -> bool {
        let mut waiting = self.containers().filter_map(|container| container.state.waiting.as_ref());
        waiting.any(|waiting| waiting.reason == "CrashLoopBackOff")
    }

    /// Whether it has app containers and each of them runs, which of a pod without readiness probes is all there is.
    pub fn runs(&self) -> bool {
        let all = &self.status.container_statuses;
        self.metadata.deletion_timestamp.is_none()
            && condition(&self.status.conditions, "Ready").is_none()
            && self.status.phase == "Running"
            && all.iter().all(|container| container.state.running.is_some())
    }

    /// The toleration that counts for a taint: the first that matches.
    pub fn toleration(&self, taint: &Taint) -> Option<&Toleration> {
        self.spec.tolerations.iter().find(|toleration| toleration.matches(taint))
    }

    /// Whether it tolerates a taint, for however long.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.toleration(taint).is_some()
    }

    /// The names of the containers that run, as far as the kubelet said.
    pub fn running(&self) -> Vec<&str> {
        let all = self.containers().filter(|container| container.state.running.is_some());
        all.map(|container| container.name.as_str()).collect()
    }

    /// Whether no container was ever made.
    pub fn never_started(&self) -> bool {
        self.status.phase == "Pending" && self.containers().all(|container| container.container_id.is_empty())
    }

    /// Whether it holds this claim while it exists. One that was made for it lets go earlier: when its
    /// containers are gone.
    pub fn holds(&self, claim: &Meta) -> bool {
        let is_named = |volume: &Volume| {
            volume.persistent_volume_claim.as_ref().is_some_and(|source| source.claim_name == claim.name)
        };
        let is_made_for_it = |volume: &Volume| {
            volume.ephemeral.is_some() && format!("{}-{}", self.metadata.name, volume.name) == claim.name
        };
        let is_shut_down =
            self.metadata.deletion_timestamp.is_some() && self.metadata.deletion_grace_period_seconds == Some(0);
        let is_its = claim.owner_references.iter().any(|owner| owner.uid == self.metadata.uid);
        !self.spec.node_name.is_empty()
            && (self.spec.volumes.iter().any(is_named)
                || (is_its && !is_shut_down && self.spec.volumes.iter().any(is_made_for_it)))
    }

    /// The claims it takes, those made for it included.
    pub fn claims(&self) -> Vec<String> {
        let claim = |volume: &Volume| match &volume.persistent_volume_claim {
            Some(source) => Some(source.claim_name.clone()),
            None => volume.ephemeral.as_ref().map(|_| format!("{}-{}", self.metadata.name, volume.name)),
        };
        self.spec.volumes.iter().filter_map(claim).collect()
    }
}
