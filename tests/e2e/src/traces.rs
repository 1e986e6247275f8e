//! What a run leaves: nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use lab::wait_for;

use crate::cluster::Cluster;

/// Of the whole cluster, beside what admission has there, which differs by version.
const KINDS: &str = "namespaces,customresourcedefinitions,apiservices,clusterroles,clusterrolebindings,\
    persistentvolumes,csidrivers,volumeattachments";
const ADMISSION: &str = "--api-group=admissionregistration.k8s.io";
/// Where a kubelet, a step or this program would leave a file.
const DIRECTORIES: [&str; 5] = [
    "/var/lib/kubelet/pods",
    "/var/lib/kubelet/plugins",
    "/var/lib/kubelet/plugins_registry",
    "/var/run/netns",
    "/var/tmp",
];
/// The kubelet's own, which it makes when it needs it and keeps.
const KEPT: &str = "/var/lib/kubelet/plugins/kubernetes.io";
/// Above pods, by both drivers.
const CGROUPS: [&str; 6] = [
    "kubepods",
    "kubepods/besteffort",
    "kubepods/burstable",
    "kubepods.slice",
    "kubepods.slice/kubepods-besteffort.slice",
    "kubepods.slice/kubepods-burstable.slice",
];

/// What is there.
#[derive(Debug)]
pub struct Traces(BTreeSet<String>);

impl Traces {
    /// Looks for all of it.
    pub fn look(cluster: &Cluster) -> anyhow::Result<Self> {
        let admission = cluster.kubectl(&["api-resources", ADMISSION, "--verbs=list", "-o", "name"])?;
        let kinds: Vec<&str> = std::iter::once(KINDS).chain(admission.lines()).collect();
        let objects = cluster.kubectl(&["get", &kinds.join(","), "-o", "name"])?;
        let mut found: BTreeSet<String> = objects.lines().map(str::to_owned).collect();
        let node = cluster.json(&["get", "node", &cluster.node])?;
        found.extend(node["spec"]["taints"].as_array().into_iter().flatten().map(|taint| format!("taint {taint}")));
        let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
        found.extend(mounts.lines().filter_map(|line| Some(format!("mount {}", line.split(' ').nth(4)?))));
        for dir in DIRECTORIES {
            found.extend(entries(Path::new(dir)).into_iter().filter(|path| path != KEPT));
        }
        for hierarchy in std::iter::once("/sys/fs/cgroup".to_owned()).chain(entries(Path::new("/sys/fs/cgroup"))) {
            let pods = CGROUPS.iter().flat_map(|slice| entries(&Path::new(&hierarchy).join(slice)));
            found.extend(pods.filter(|path| path.contains("/pod") || path.contains("-pod")));
        }
        let own = std::fs::read_to_string("/proc/thread-self/children")?;
        found.extend(own.split_whitespace().map(|pid| format!("process {pid}")));
        Ok(Self(found))
    }

    /// Waits until nothing is there that was not there before.
    pub fn wait_gone(&self, cluster: &Cluster) -> anyhow::Result<()> {
        let mut left = Vec::new();
        let gone = wait_for("nothing is left", Duration::from_secs(90), || {
            std::thread::sleep(Duration::from_secs(2));
            left = Self::look(cluster)?.0.difference(&self.0).cloned().collect();
            Ok(left.is_empty().then_some(()))
        });
        gone.map_err(|_| anyhow::anyhow!("left behind: {left:#?}"))
    }
}

fn entries(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path().display().to_string()).collect()
}
