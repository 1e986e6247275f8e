//! Making pods on a node, and having them deleted.

use std::{collections::HashMap, fs, path::PathBuf, time::Duration};

use anyhow::Context as _;
use nix::sys::signal::Signal;

use super::{Node, api};
use crate::cri_write::{self, NamespaceMode, NamespaceOption};
use crate::kubelet::Gate;
use crate::pod::{Container, ContainerSpec, Pod, PodRef, PodSpec, Record};
use crate::{cgroup, process, wait_for};

/// How long ago the deadline of a pod passed that is to be found stuck: long enough for any
/// tool that is patient with the kubelet's retries.
const OVERDUE: Duration = Duration::from_secs(600);

impl Node {
    /// Makes a pod: its directory, cgroup, sandbox, containers and API object.
    pub fn run(&self, spec: &PodSpec) -> anyhow::Result<Pod> {
        let config = self.sandbox_config(spec);
        let dir = self.provide_for(spec)?;
        let sandbox = self.runtime.run_sandbox(&config)?;
        let mut containers = Vec::new();
        for container in &spec.containers {
            containers.push(self.run_container(spec, container, &sandbox, &config)?);
        }
        let pod = Pod { reference: spec.pod.clone(), sandbox, containers, dir };
        self.announce(spec, &pod)?;
        Ok(pod)
    }

    /// Makes what a kubelet makes before it asks the runtime for a sandbox; returns the pod's directory.
    pub(crate) fn provide_for(&self, spec: &PodSpec) -> anyhow::Result<PathBuf> {
        let reference = &spec.pod;
        self.begin(&reference.uid)?;
        let dir = self.layout.pod_dir(&reference.uid);
        for name in ["volumes", "containers", "plugins"] {
            super::create(&dir.join(name))?;
        }
        fs::write(dir.join("etc-hosts"), "127.0.0.1\tlocalhost\n").context("write the pod's etc-hosts")?;
        cgroup::create(&reference.cgroup())?;
        Ok(dir)
    }

    /// Announces a new pod to the kubelet stand-in and the API.
    pub(crate) fn announce(&self, spec: &PodSpec, pod: &Pod) -> anyhow::Result<()> {
        self.write_record(&record(spec, false))?;
        // A pod whose namespace does not exist is another trouble.
        let namespace = serde_json::json!({
            "metadata": {"name": pod.namespace()}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}
        });
        self.store().put_namespace(pod.namespace(), &namespace)?;
        self.store().put_pod(pod.namespace(), pod.name(), &api::pod_object(spec, pod))?;
        self.made(pod.uid())
    }

    /// Keeps housekeeping away from a pod's directory until the pod is made.
    pub fn begin(&self, uid: &str) -> anyhow::Result<()> {
        fs::write(self.layout.in_the_making(uid), "").context("note that a pod is being made")
    }

    /// Ends what `begin` began.
    pub fn made(&self, uid: &str) -> anyhow::Result<()> {
        fs::remove_file(self.layout.in_the_making(uid)).context("note that a pod is made")
    }

    /// Deletes a pod, as far as the API goes: its deadline has passed long ago. The kubelet
    /// stand-in sees it and begins.
    pub fn delete(&self, spec: &PodSpec) -> anyhow::Result<()> {
        self.delete_with_deadline(spec, jiff::Timestamp::now() - OVERDUE)
    }

    /// Deletes a pod whose grace period ends at `deadline`.
    pub fn delete_with_deadline(&self, spec: &PodSpec, deadline: jiff::Timestamp) -> anyhow::Result<()> {
        let pod = &spec.pod;
        let mut object = self
            .store()
            .pod(&pod.namespace, &pod.name)?
            .with_context(|| format!("there is no pod {}/{} to delete", pod.namespace, pod.name))?;
        api::mark_deleted(&mut object, spec.grace, deadline);
        self.store().put_pod(&pod.namespace, &pod.name, &object)?;
        self.write_record(&record(spec, true))
    }

    /// Lets a pod end by itself, as far as the API shows: its containers ended long ago. The kubelet stand-in sees it and
    /// clears away what it leaves; the pod is not deleted.
    pub fn complete(&self, spec: &PodSpec) -> anyhow::Result<()> {
        let (pod, store) = (&spec.pod, self.store());
        let object = store.pod(&pod.namespace, &pod.name)?;
        let mut object = object.with_context(|| format!("there is no pod {}/{}", pod.namespace, pod.name))?;
        api::mark_ended(&mut object, "Succeeded", jiff::Timestamp::now() - OVERDUE);
        store.put_pod(&pod.namespace, &pod.name, &object)?;
        self.write_record(&record(spec, true))
    }

    /// Deletes a pod and waits until the kubelet stand-in is held at `gate`.
    pub fn delete_until(&self, spec: &PodSpec, gate: Gate) -> anyhow::Result<()> {
        self.delete(spec)?;
        self.wait_held(&spec.pod, gate)
    }

    /// Ends a pod that nothing holds: deletes it unless that was done, and spares the wait for its
    /// processes.
    pub fn end(&self, pod: &PodRef) -> anyhow::Result<()> {
        let path = self.layout.record(&pod.uid);
        let bytes = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
        let mut record: Record = serde_json::from_slice(&bytes).context("parse the pod's record")?;
        if !record.terminating {
            let object = self.store().pod(&pod.namespace, &pod.name)?;
            let mut object = object.with_context(|| format!("there is no pod {}/{}", pod.namespace, pod.name))?;
            let grace = Duration::from_secs(record.grace_seconds);
            api::mark_deleted(&mut object, grace, jiff::Timestamp::now());
            self.store().put_pod(&pod.namespace, &pod.name, &object)?;
            record.terminating = true;
            self.write_record(&record)?;
        }
        for pid in cgroup::processes(&cgroup::directories(&pod.cgroup())?) {
            process::signal(pid, Signal::SIGKILL)?;
        }
        Ok(())
    }

    /// Removes a pod's object, as `kubectl delete --force` does, without a signal to the kubelet.
    pub fn force_delete(&self, pod: &PodRef) -> anyhow::Result<()> {
        self.store().remove_pod(&pod.namespace, &pod.name)?;
        fs::remove_file(self.layout.record(&pod.uid)).context("forget the pod")
    }

    /// Waits until the kubelet stand-in says that it is held at `gate`.
    pub fn wait_held(&self, pod: &PodRef, gate: Gate) -> anyhow::Result<()> {
        let path = self.layout.waits(&pod.uid);
        wait_for(
            &format!("the kubelet stand-in is held at {gate} for pod {}", pod.name),
            Duration::from_secs(15),
            || {
                let text = fs::read_to_string(&path).unwrap_or_default();
                Ok(text.starts_with(&gate.to_string()).then_some(()))
            },
        )
        .with_context(|| format!("it said last: {}", fs::read_to_string(&path).unwrap_or_default()))
    }

    /// Waits until nothing of a pod is left: no object, no running container, no directory.
    pub fn wait_gone(&self, pod: &PodRef, limit: Duration) -> anyhow::Result<()> {
        wait_for(&format!("pod {} is gone", pod.name), limit, || Ok(self.remains(pod)?.is_empty().then_some(())))
            .with_context(|| {
                let waits = fs::read_to_string(self.layout.waits(&pod.uid)).unwrap_or_default();
                format!("left: {:?}; the kubelet stand-in says: {waits}", self.remains(pod))
            })
    }

    /// What is left of a pod.
    pub fn remains(&self, pod: &PodRef) -> anyhow::Result<Vec<String>> {
        let mut left = self.remains_on_disk(pod)?;
        for container in self.runtime.containers()? {
            let running = container.state == i32::from(cri::ContainerState::Running);
            if running && container.labels.get(cri::key::POD_UID) == Some(pod.uid.as_str()) {
                left.push(format!("the running container {}", container.id));
            }
        }
        Ok(left)
    }

    /// What is left of a pod, without asking the runtime.
    pub fn remains_on_disk(&self, pod: &PodRef) -> anyhow::Result<Vec<String>> {
        let mut left = Vec::new();
        if self.store().pod(&pod.namespace, &pod.name)?.is_some() {
            left.push("its API object".to_owned());
        }
        let dir = self.layout.pod_dir(&pod.uid);
        if dir.exists() {
            left.push(dir.display().to_string());
        }
        Ok(left)
    }

    /// Has the kubelet stand-in end a pod that the API does not know, as a kubelet does after a
    /// restart with what it finds in the runtime.
    pub fn adopt(&self, spec: &PodSpec) -> anyhow::Result<()> {
        self.write_record(&record(spec, true))
    }

    fn write_record(&self, record: &Record) -> anyhow::Result<()> {
        let path = self.layout.record(&record.pod.uid);
        let unfinished = path.with_extension("unfinished");
        fs::write(&unfinished, serde_json::to_vec_pretty(record)?).context("write the pod's record")?;
        fs::rename(&unfinished, &path).context("write the pod's record")
    }

    /// Labels and annotations are the kubelet's: the agent knows pods by them.
    pub(crate) fn sandbox_config(&self, spec: &PodSpec) -> cri_write::PodSandboxConfig {
        let pod = &spec.pod;
        let logs = self.layout.pod_logs().join(format!("{}_{}_{}", pod.namespace, pod.name, pod.uid));
        cri_write::PodSandboxConfig {
            metadata: Some(cri::PodSandboxMetadata {
                name: pod.name.clone(),
                uid: pod.uid.clone(),
                namespace: pod.namespace.clone(),
                attempt: 0,
            }),
            hostname: if spec.own_network { pod.name.clone() } else { String::new() },
            log_directory: logs.display().to_string(),
            labels: labels(pod),
            annotations: HashMap::from([
                ("kubernetes.io/config.source".to_owned(), "api".to_owned()),
                ("kubernetes.io/config.seen".to_owned(), jiff::Timestamp::now().to_string()),
            ]),
            linux: Some(cri_write::LinuxPodSandboxConfig {
                cgroup_parent: pod.cgroup(),
                security_context: Some(cri_write::LinuxSandboxSecurityContext {
                    namespace_options: Some(namespaces(spec)),
                    seccomp: None,
                }),
            }),
        }
    }

    fn run_container(
        &self,
        spec: &PodSpec,
        container: &ContainerSpec,
        sandbox: &str,
        sandbox_config: &cri_write::PodSandboxConfig,
    ) -> anyhow::Result<Container> {
        let mut labels = labels(&spec.pod);
        labels.insert("io.kubernetes.container.name".to_owned(), container.name.clone());
        let annotation = |name: &str, value: &str| (format!("io.kubernetes.{name}"), value.to_owned());
        let config = cri_write::ContainerConfig {
            metadata: Some(cri::ContainerMetadata { name: container.name.clone(), attempt: 0 }),
            image: Some(cri_write::ImageSpec { image: container.image.to_owned() }),
            command: container.command.clone(),
            args: Vec::new(),
            envs: Vec::new(),
            mounts: container.mounts.clone(),
            labels,
            annotations: HashMap::from([
                annotation("container.hash", "5d1e7b11"),
                annotation("container.restartCount", "0"),
                annotation("container.terminationMessagePath", "/dev/termination-log"),
                annotation("container.terminationMessagePolicy", "File"),
                annotation("pod.terminationGracePeriod", &spec.grace.as_secs().to_string()),
            ]),
            log_path: format!("{}.log", container.name),
            linux: Some(cri_write::LinuxContainerConfig {
                resources: None,
                security_context: Some(cri_write::LinuxContainerSecurityContext {
                    namespace_options: Some(namespaces(spec)),
                    ..Default::default()
                }),
            }),
        };
        let id = self.runtime.run_container(sandbox, config, sandbox_config)?;
        let pid = self.runtime.container_pid(&id)?;
        Ok(Container { name: container.name.clone(), id, pid })
    }
}

/// The kubelet's defaults, except that a pod needs no network here.
fn namespaces(spec: &PodSpec) -> NamespaceOption {
    let network = if spec.own_network { NamespaceMode::Pod } else { NamespaceMode::Node };
    let processes = if spec.shared_processes { NamespaceMode::Pod } else { NamespaceMode::Container };
    NamespaceOption { network: i32::from(network), pid: i32::from(processes), ipc: i32::from(NamespaceMode::Pod) }
}

/// By these the agent and the kubelet know whose a container is.
pub(crate) fn labels(pod: &PodRef) -> HashMap<String, String> {
    HashMap::from([
        ("io.kubernetes.pod.name".to_owned(), pod.name.clone()),
        ("io.kubernetes.pod.namespace".to_owned(), pod.namespace.clone()),
        ("io.kubernetes.pod.uid".to_owned(), pod.uid.clone()),
    ])
}

fn record(spec: &PodSpec, terminating: bool) -> Record {
    Record {
        pod: spec.pod.clone(),
        terminating,
        grace_seconds: spec.grace.as_secs(),
        patience_seconds: 2,
        volumes: spec.volumes.clone(),
    }
}
