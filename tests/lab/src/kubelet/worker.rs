//! The pod worker: from gate to gate.

use std::{fs, sync::Arc, thread, time::Duration};

use anyhow::{Context as _, bail};
use cri::{ContainerState, PodSandboxState};

use super::{Gate, cgroups, log::Log, volumes::Volumes};
use crate::{Layout, node::mark_terminal, pod::Record, runtime::RuntimeClient};

/// Between two tries of a gate; the kubelet waits ten seconds.
const RETRY: Duration = Duration::from_millis(300);

/// Takes one pod through the gates.
pub struct Worker {
    layout: Layout,
    log: Arc<Log>,
    record: Record,
    last_error: String,
}

impl Worker {
    /// Prepares the work.
    pub fn new(layout: Layout, log: Arc<Log>, record: Record) -> Self {
        Self { layout, log, record, last_error: String::new() }
    }

    /// Returns when the pod's object is deleted.
    pub fn run(mut self) -> anyhow::Result<()> {
        self.insist(Gate::ContainersStopped, Self::stop_containers)?;
        self.insist(Gate::SandboxStopped, Self::stop_sandboxes)?;
        self.insist(Gate::ContainersStopped, Self::nothing_runs)?;
        self.report_terminal()?;
        let mut volumes = Volumes::new(&self.layout, &self.record);
        self.insist(Gate::VolumesUnmounted, |_| volumes.tear_down())?;
        let cgroup = self.record.pod.cgroup();
        self.insist(Gate::CgroupRemoved, |_| cgroups::destroy(&cgroup))?;
        self.delete_object()?;
        self.log.passed(&self.record.pod);
        fs::remove_file(self.layout.record(&self.record.pod.uid)).context("forget the pod")
    }

    /// Tries until it works, and says what is in the way.
    fn insist(&mut self, gate: Gate, mut step: impl FnMut(&Self) -> anyhow::Result<()>) -> anyhow::Result<()> {
        while let Err(error) = step(self) {
            let why = format!("{error:#}");
            self.log.held(&self.record.pod, gate, &why);
            if why != self.last_error {
                self.log.error("Error syncing pod, skipping", &why, &self.record.pod);
                self.last_error = why;
            }
            // The lab takes a pod out of the stand-in's hands by removing its record.
            if !self.layout.record(&self.record.pod.uid).exists() {
                bail!("the pod is no longer known");
            }
            thread::sleep(RETRY);
        }
        Ok(())
    }

    /// The kubelet stops what its runtime calls RUNNING, and waits for the grace period and more.
    fn stop_containers(&self) -> anyhow::Result<()> {
        let grace = Duration::from_secs(self.record.grace_seconds);
        let patience = grace + Duration::from_secs(self.record.patience_seconds);
        let client = RuntimeClient::new(&self.layout.socket(), patience)?;
        for container in self.running(&client)? {
            self.log.held(&self.record.pod, Gate::ContainersStopped, &format!("stopping {container}"));
            client.stop_container(&container, grace).map_err(|error| {
                anyhow::anyhow!(
                    "error killing pod: failed to \"KillContainer\" with KillContainerError: \"rpc error: {error}\""
                )
            })?;
        }
        Ok(())
    }

    fn stop_sandboxes(&self) -> anyhow::Result<()> {
        let client = self.client()?;
        let all = client.sandboxes().context("list the sandboxes")?;
        for sandbox in all {
            if sandbox.metadata.is_some_and(|metadata| metadata.uid == self.record.pod.uid) {
                client.stop_sandbox(&sandbox.id).map_err(|error| {
                    anyhow::anyhow!(
                        "error killing pod: failed to \"KillPodSandbox\" for \"{}\" with KillPodSandboxError: \"rpc error: {error}\"",
                        self.record.pod.uid
                    )
                })?;
            }
        }
        Ok(())
    }

    /// Asked afresh, not believed.
    fn nothing_runs(&self) -> anyhow::Result<()> {
        let running = self.running(&self.client()?)?;
        anyhow::ensure!(
            running.is_empty(),
            "detected running containers after a successful KillPod, CRI violation: {running:?}"
        );
        Ok(())
    }

    fn running(&self, client: &RuntimeClient) -> anyhow::Result<Vec<String>> {
        let all = client.containers().context("list the containers")?;
        let own = all.into_iter().filter(|container| {
            container.state == i32::from(ContainerState::Running)
                && container.labels.get(cri::key::POD_UID) == Some(self.record.pod.uid.as_str())
        });
        Ok(own.map(|container| container.id).collect())
    }

    fn client(&self) -> anyhow::Result<RuntimeClient> {
        RuntimeClient::new(&self.layout.socket(), Duration::from_secs(self.record.patience_seconds.max(2)))
    }

    /// A phase is terminal only when no container runs any more.
    fn report_terminal(&self) -> anyhow::Result<()> {
        let (pod, store) = (&self.record.pod, apiserver::Store::new(self.layout.api()));
        if let Some(mut object) = store.pod(&pod.namespace, &pod.name)? {
            mark_terminal(&mut object);
            store.put_pod(&pod.namespace, &pod.name, &object)?;
        }
        Ok(())
    }

    fn delete_object(&self) -> anyhow::Result<()> {
        let (pod, store) = (&self.record.pod, apiserver::Store::new(self.layout.api()));
        // A pod that has only ended keeps its object.
        let is_deleted = |object: &serde_json::Value| !object["metadata"]["deletionTimestamp"].is_null();
        if store.pod(&pod.namespace, &pod.name)?.is_none_or(|object| is_deleted(&object)) {
            store.remove_pod(&pod.namespace, &pod.name)?;
        }
        Ok(())
    }
}

/// Whether the runtime still has something of a pod that runs: then its directory is no orphan.
pub fn has_running(client: &RuntimeClient, uid: &str) -> anyhow::Result<bool> {
    let containers = client.containers()?.into_iter().any(|container| {
        container.state == i32::from(ContainerState::Running) && container.labels.get(cri::key::POD_UID) == Some(uid)
    });
    let sandboxes = client.sandboxes()?.into_iter().any(|sandbox| {
        sandbox.state == i32::from(PodSandboxState::Ready)
            && sandbox.metadata.is_some_and(|metadata| metadata.uid == uid)
    });
    Ok(containers || sandboxes)
}
