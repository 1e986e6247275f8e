//! Workloads, and what is said about things: Events.

use jiff::Timestamp;

use super::{Condition, Conditions, ContainerSpec, Meta, Selector, Series, lite};
use crate::messages::Message;
use crate::state::{ApiResource, Texts, known};

/// What has pod templates of its own.
pub const WORKLOADS: [ApiResource; 3] = [known::DEPLOYMENTS, known::STATEFUL_SETS, known::DAEMON_SETS];

lite! {
    /// A Deployment, StatefulSet or DaemonSet.
    Workload {
        metadata: Meta,
        spec: WorkloadSpec,
        status: WorkloadStatus,
    }

    /// What was asked of a workload.
    WorkloadSpec {
        /// How many pods; absent means 1, and a DaemonSet has no such field.
        replicas: Option<i64>,
        /// Which pods are its own.
        selector: Selector,
        /// What its pods are like.
        template: PodTemplate,
        /// What a StatefulSet makes claims of.
        volume_claim_templates: Vec<ClaimTemplate>,
        /// Which of these claims are deleted with their pods.
        persistent_volume_claim_retention_policy: Retention,
    }

    /// What claims are made of.
    ClaimTemplate {
        /// Its name begins theirs.
        metadata: Named,
    }

    /// A name.
    Named {
        name: String,
    }

    /// `Delete`, or `Retain`, which is meant where nothing is said.
    Retention {
        /// When the StatefulSet is deleted.
        when_deleted: String,
        /// When the pod is scaled away.
        when_scaled: String,
    }

    /// What a workload's pods are like.
    PodTemplate {
        metadata: Labels,
        spec: TemplateSpec,
    }

    Labels {
        labels: Texts,
        /// What each pod begins with.
        finalizers: Vec<String>,
    }

    /// What is read of a pod template.
    TemplateSpec {
        /// As whom the pods speak to the API.
        service_account_name: String,
        containers: Vec<ContainerSpec>,
    }

    WorkloadStatus {
        /// Ready pods of a Deployment or StatefulSet.
        ready_replicas: i64,
        /// Ready pods of a DaemonSet.
        number_ready: i64,
        conditions: Vec<Condition>,
    }

    Job {
        metadata: Meta,
        spec: JobSpec,
        status: Conditions,
    }

    /// What was asked of a Job.
    JobSpec {
        /// Who counts its pods, when it is not the Job controller.
        managed_by: String,
        /// Whether it is to have no pods for now.
        suspend: bool,
    }

    Ingress {
        metadata: Meta,
        spec: IngressSpec,
    }

    /// What was asked of an Ingress.
    IngressSpec {
        /// Whose it is.
        ingress_class_name: String,
    }
}

/// The workload that made a pod, by the pod's metadata.
pub fn workload_of_pod(meta: &Meta) -> Option<(ApiResource, &str)> {
    let owner = meta.owner_references.iter().find(|owner| owner.controller && owner.group_version().0 == "apps")?;
    match owner.kind.as_str() {
        // Its ReplicaSets have the names `DEPLOYMENT-HASH`.
        "ReplicaSet" => {
            let hash = meta.labels.get("pod-template-hash")?;
            Some((known::DEPLOYMENTS, owner.name.strip_suffix(hash)?.strip_suffix('-')?))
        }
        "StatefulSet" => Some((known::STATEFUL_SETS, owner.name.as_str())),
        "DaemonSet" => Some((known::DAEMON_SETS, owner.name.as_str())),
        _ => None,
    }
}

impl Workload {
    /// How many pods are ready.
    pub fn ready(&self) -> i64 {
        self.status.ready_replicas.max(self.status.number_ready)
    }

    /// The account of its pods, without its namespace.
    pub fn account(&self) -> &str {
        match self.spec.template.spec.service_account_name.as_str() {
            "" => "default",
            name => name,
        }
    }

    /// Whether its pods are set to watch other namespaces than this one.
    pub fn leaves_out(&self, namespace: &str) -> bool {
        let own = self.metadata.namespace.as_deref().unwrap_or_default();
        let containers = &self.spec.template.spec.containers;
        containers.iter().any(|container| container.leaves_out(own, namespace))
    }

    /// How many pods were asked for; a DaemonSet does not say.
    pub fn wanted(&self) -> i64 {
        self.spec.replicas.unwrap_or(1)
    }
}

lite! {
    /// An Event, as `v1` has it.
    Event {
        metadata: Meta,
        /// `Normal` or `Warning`.
        #[serde(rename = "type")]
        kind: String,
        reason: String,
        message: Message,
        involved_object: Involved,
        /// When it was last seen, by old clients.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_timestamp: Option<Timestamp>,
        /// When it was first seen, by new clients.
        #[serde(skip_serializing_if = "Option::is_none")]
        event_time: Option<Timestamp>,
        /// When new clients saw it again.
        #[serde(skip_serializing_if = "Option::is_none")]
        series: Option<Series>,
    }
}

impl Event {
    /// When it was last seen.
    pub fn seen(&self) -> Option<Timestamp> {
        let again = self.series.as_ref().and_then(|series| series.last_observed_time);
        self.last_timestamp.max(self.event_time).max(again)
    }
}

lite! {
    /// What an Event is about.
    Involved {
        kind: String,
        name: String,
        /// Its uid; for some controllers the name again.
        uid: String,
    }
}
