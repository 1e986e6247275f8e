//! Pods: what one shall be, and what one is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{cgroup, cri_write, image};

/// The namespace of a second kubelet's pods.
const OF_SECOND: &str = "lab-second";

/// Which pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PodRef {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid, the same each time the lab makes it.
    pub uid: String,
}

impl PodRef {
    /// The pod `name` in the lab's namespace.
    pub fn new(name: &str) -> Self {
        let namespace = "lab".to_owned();
        let uid = uid_of(&namespace, name);
        Self { namespace, name: name.to_owned(), uid }
    }

    /// The pod `name` of a second kubelet: its namespace is another, and says where its cgroup is.
    pub fn of_second(name: &str) -> Self {
        let namespace = OF_SECOND.to_owned();
        let uid = uid_of(&namespace, name);
        Self { namespace, name: name.to_owned(), uid }
    }

    /// Its cgroup, as the kubelet names that of a burstable pod.
    pub fn cgroup(&self) -> String {
        let root = if self.namespace == OF_SECOND { cgroup::SECOND_PODS } else { cgroup::PODS };
        format!("{root}/kubepods/burstable/pod{}", self.uid)
    }
}

/// A uid that looks like the API server's, derived from the name so that a log of yesterday's run
/// can be read beside today's.
fn uid_of(namespace: &str, name: &str) -> String {
    let digest = image::sha256(format!("{namespace}/{name}").as_bytes());
    let part = |from: usize, to: usize| digest.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// A volume that the kubelet mounted for a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeRef {
    /// The plugin's name as in the directory, for example `kubernetes.io~csi`.
    pub plugin: String,
    /// The name of the volume's directory.
    pub name: String,
    /// Whether the pod sees a block device instead of a file system.
    pub block: bool,
}

/// What the kubelet stand-in knows of a pod.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Which pod.
    pub pod: PodRef,
    /// Whether the API says that it shall go: then the kubelet runs its gates.
    pub terminating: bool,
    /// What the runtime has to wait between the stop signal and SIGKILL.
    pub grace_seconds: u64,
    /// How long the kubelet waits for the runtime on top of that.
    pub patience_seconds: u64,
    /// The volumes that the kubelet remembers.
    pub volumes: Vec<VolumeRef>,
}

/// What a pod shall be.
#[derive(Clone, Debug)]
pub struct PodSpec {
    /// Which pod.
    pub pod: PodRef,
    /// Its containers; none for a pod that has gone that far already.
    pub containers: Vec<ContainerSpec>,
    /// Its grace period.
    pub grace: Duration,
    /// Its volumes on the node.
    pub volumes: Vec<VolumeRef>,
    /// Its volumes in the API.
    pub api_volumes: Vec<Value>,
    /// Whether it has a network of its own, which CNI must take down.
    pub own_network: bool,
    /// Whether its containers share one pid namespace (`shareProcessNamespace`).
    pub shared_processes: bool,
}

/// What a container shall be.
#[derive(Clone, Debug)]
pub struct ContainerSpec {
    /// Its name.
    pub name: String,
    /// What it is made from.
    pub image: &'static str,
    /// Program and arguments.
    pub command: Vec<String>,
    /// What of the host it sees.
    pub mounts: Vec<cri_write::Mount>,
}

impl PodSpec {
    /// A pod without containers.
    pub fn new(name: &str) -> Self {
        Self {
            pod: PodRef::new(name),
            containers: Vec::new(),
            grace: Duration::from_secs(1),
            volumes: Vec::new(),
            api_volumes: Vec::new(),
            own_network: false,
            shared_processes: false,
        }
    }

    /// A pod whose container `app` only sleeps.
    pub fn sleeping(name: &str) -> Self {
        Self::new(name).container_of(image::SLEEPER, &["/bin/sleep", "2147483647"])
    }

    /// Adds the container `app`.
    pub fn container(self, command: &[&str]) -> Self {
        self.container_of(image::BUSYBOX, command)
    }

    fn container_of(mut self, image: &'static str, command: &[&str]) -> Self {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        self.containers.push(ContainerSpec { name: "app".to_owned(), image, command, mounts: Vec::new() });
        self
    }

    /// Sets the grace period.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Lets its containers share one pid namespace.
    pub fn shared_processes(mut self) -> Self {
        self.shared_processes = true;
        self
    }

    /// Gives the pod a network of its own.
    pub fn own_network(mut self) -> Self {
        self.own_network = true;
        self
    }

    /// Shows a directory of the host in every container.
    pub fn mount(mut self, host: &Path, container: &str) -> Self {
        for spec in &mut self.containers {
            spec.mounts.push(cri_write::Mount {
                container_path: container.to_owned(),
                host_path: host.display().to_string(),
                readonly: false,
                propagation: 0,
            });
        }
        self
    }

    /// Adds a raw block volume of CSI.
    pub fn block_volume(&mut self, name: &str, source: Value) {
        self.volume("kubernetes.io~csi", name, source);
        self.volumes.iter_mut().filter(|volume| volume.name == name).for_each(|volume| volume.block = true);
    }

    /// Adds a volume of the kubelet's.
    pub fn volume(&mut self, plugin: &str, name: &str, source: Value) {
        self.volumes.push(VolumeRef { plugin: plugin.to_owned(), name: name.to_owned(), block: false });
        let mut volume = source;
        volume["name"] = json!(name);
        self.api_volumes.push(volume);
    }
}

/// A pod that has been made.
#[derive(Clone, Debug)]
pub struct Pod {
    /// Which pod.
    pub reference: PodRef,
    /// The runtime's id of its sandbox.
    pub sandbox: String,
    /// Its containers.
    pub containers: Vec<Container>,
    /// Its directory below the kubelet's root.
    pub dir: PathBuf,
}

/// A container that runs.
#[derive(Clone, Debug)]
pub struct Container {
    /// Its name in the pod.
    pub name: String,
    /// The runtime's id.
    pub id: String,
    /// The pid of its init.
    pub pid: i32,
}

impl Pod {
    /// Its uid.
    pub fn uid(&self) -> &str {
        &self.reference.uid
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.reference.name
    }

    /// Its namespace.
    pub fn namespace(&self) -> &str {
        &self.reference.namespace
    }

    /// Its first container, where a scenario makes one.
    pub fn app(&self) -> anyhow::Result<&Container> {
        anyhow::Context::context(self.containers.first(), "this pod was made without a container")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_has_the_form_of_a_uuid() {
        let uid = uid_of("lab", "x");
        let lengths: Vec<usize> = uid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(uid, uid_of("lab", "x"));
        assert_ne!(uid, uid_of("lab", "y"));
    }
}
