//! Which values of an Event may stand in a command. A tenant makes links, sockets and files, and an agent reports them; so
//! root changes, writes and queries only where only the kubelet and root make any. Where no policy keeps others from writing
//! Events they choose all of it: then commands read, and nothing else.

use findings::kubernetes_distribution::{DISTRIBUTIONS, RUNTIMES, is_unit, kubelets};
use findings::{Entity, Link, Placeholder, PodUid, Shape, Values};

/// The values for commands that look or unmount, and for all others.
pub(super) struct Trusted {
    pub to_look: Values,
    pub to_change: Values,
}

impl Trusted {
    /// Of these values of a finding about this pod, whose chain names mounts and paths.
    pub(super) fn new(values: &Values, uid: Option<&PodUid>, chain: &[Link]) -> Self {
        let is_own = |path: &str| uid.is_some_and(|uid| is_own(path, uid));
        // A mount elsewhere, such as that of a FUSE server, is reported for the node, and not for whatever process.
        let is_entered = values.get(Placeholder::MountNamespacePid).is_some();
        let is_named = |path: &str| is_in(chain, path) && !is_entered;
        let with_paths = |is_good: &dyn Fn(&str) -> bool| {
            let mut values = values.clone();
            values.retain(|placeholder, value| match placeholder.shape() {
                Shape::Path => is_good(value),
                _ => is_trusted(placeholder, value, uid),
            });
            values
        };
        let to_look = with_paths(&|path| is_own(path) || is_named(path));
        let to_change = with_paths(&|path| uid.is_some_and(|uid| is_the_kubelets(path, uid)));
        Trusted { to_look, to_change }
    }
}

fn is_trusted(placeholder: Placeholder, value: &str, uid: Option<&PodUid>) -> bool {
    let of_pod = |passes: fn(&str, &PodUid) -> bool| uid.is_some_and(|uid| passes(value, uid));
    match (placeholder, placeholder.shape()) {
        (Placeholder::Unit, _) => of_pod(is_own_slice),
        (Placeholder::KubeletUnit | Placeholder::KubeletJournal, _) => kubelets().any(|one| is_unit(value, one.unit)),
        (Placeholder::RuntimeUnit | Placeholder::RuntimeJournal, _) => {
            let of_runtimes = RUNTIMES.iter().filter_map(|runtime| runtime.unit);
            of_runtimes.chain(kubelets().map(|kubelet| kubelet.unit)).any(|unit| is_unit(value, unit))
        }
        (_, Shape::CgroupDir | Shape::CgroupFreeze | Shape::FreezerState) => of_pod(is_own_cgroup),
        (_, Shape::VolData) => of_pod(is_own_vol_data),
        (_, Shape::Uid) => of_pod(|value, uid| uid.as_str() == value),
        (_, Shape::CriEndpoint) => is_known_endpoint(value),
        (_, Shape::LogFile) => is_known_log(value),
        _ => true,
    }
}

fn is_own_slice(unit: &str, uid: &PodUid) -> bool {
    unit.ends_with(&format!("-pod{}.slice", uid.systemd_name()))
}

/// The kubelet and the runtime name it by the pod's uid.
fn is_own_cgroup(path: &str, uid: &PodUid) -> bool {
    let plain = format!("pod{uid}");
    path.starts_with("/sys/fs/cgroup/") && path.split('/').any(|part| part == plain || is_own_slice(part, uid))
}

/// Below the pod's own directory, wherever the kubelet's is, or in its cgroup.
fn is_own(path: &str, uid: &PodUid) -> bool {
    below_own_directory(path, uid).is_some() || is_own_cgroup(path, uid)
}

/// The kubelet's directory, and what follows the pod's in it.
fn below_own_directory<'p>(path: &'p str, uid: &PodUid) -> Option<(&'p str, &'p str)> {
    let (root, rest) = path.split_once("/pods/")?;
    Some((root, rest.strip_prefix(uid.as_str())?.strip_prefix('/')?))
}

/// What only the kubelet makes, or lies right in a directory that it makes (`volumes/PLUGIN/NAME`, of CSI `mount` below
/// that, and `volume-subpaths/NAME/CONTAINER/NUMBER`): whatever lies deeper is the volume, where a tenant may have put a link;
/// so is every other directory that is called like this.
fn below_kubelets_directory<'p>(path: &'p str, uid: &PodUid) -> Option<&'p str> {
    let (root, rest) = below_own_directory(path, uid)?;
    let is_known = DISTRIBUTIONS.iter().any(|distribution| distribution.kubelet_root == root);
    let is_made = match rest.split('/').collect::<Vec<_>>()[..] {
        ["volumes", "kubernetes.io~csi", _, last] => ["mount", "vol_data.json"].contains(&last),
        ["volume-subpaths", ref below @ ..] => below.len() <= 3,
        ref parts => parts.len() <= 3,
    };
    (is_known && is_made).then_some(rest)
}

fn is_the_kubelets(path: &str, uid: &PodUid) -> bool {
    below_kubelets_directory(path, uid).is_some() || is_own_cgroup(path, uid)
}

fn is_own_vol_data(path: &str, uid: &PodUid) -> bool {
    let rest = below_kubelets_directory(path, uid).and_then(|rest| rest.strip_prefix("volumes/kubernetes.io~csi/"));
    rest.is_some_and(|rest| rest.ends_with("/vol_data.json"))
}

fn is_known_endpoint(endpoint: &str) -> bool {
    let socket = endpoint.strip_prefix("unix://").unwrap_or_default();
    // `/var/run` is `/run`.
    let socket = socket.strip_prefix("/var").filter(|rest| rest.starts_with("/run/")).unwrap_or(socket);
    RUNTIMES.iter().any(|runtime| runtime.socket == socket)
}

fn is_known_log(path: &str) -> bool {
    DISTRIBUTIONS.iter().filter_map(|distribution| distribution.rancher).any(|rancher| {
        let below = path.strip_prefix(rancher.agent).and_then(|rest| rest.strip_prefix('/'));
        below.is_some_and(|below| below == rancher.runtime_log || rancher.kubelet_log == Some(below))
    })
}

fn is_in(chain: &[Link], path: &str) -> bool {
    chain.iter().any(|link| match &link.what {
        Some(Entity::Mount { path: named, .. } | Entity::Path { path: named }) => named == path,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "a710cd16-c48b-4c82-88a5-9064a1833d8a";

    /// Which of these may stand in a command that looks or unmounts, and which in one that changes something.
    fn passes(placeholder: Placeholder, value: &str) -> (bool, bool) {
        let uid = PodUid::parse(UID).unwrap();
        let value = value.replace("UID", UID).replace("U_ID", &uid.systemd_name());
        let values = Values::new().with(placeholder, &value);
        assert!(values.get(placeholder).is_some(), "{value}");
        let trusted = Trusted::new(&values, Some(&uid), &[]);
        (trusted.to_look.get(placeholder).is_some(), trusted.to_change.get(placeholder).is_some())
    }

    #[test]
    fn a_path_is_changed_where_only_the_kubelet_makes_any() {
        for (path, expected) in [
            ("/var/lib/kubelet/pods/UID/volumes/kubernetes.io~csi/v/mount", (true, true)),
            ("/var/lib/kubelet/pods/UID/volumes/kubernetes.io~nfs/v", (true, true)),
            ("/var/lib/kubelet/pods/UID/volumes/kubernetes.io~nfs/v/orders.db", (true, false)),
            ("/var/lib/kubelet/pods/UID/volumes/kubernetes.io~csi/v/mount/a", (true, false)),
            ("/var/lib/kubelet/pods/UID/volume-subpaths/v/app/0/a", (true, false)),
            ("/var/lib/k0s/kubelet/pods/UID/volume-subpaths/v/app/0", (true, true)),
            ("/sys/fs/cgroup/kubepods/besteffort/podUID", (true, true)),
            ("/sys/fs/cgroup/kubepods.slice/kubepods-podU_ID.slice", (true, true)),
            // A kubelet may have any directory configured, but then its other writers are unknown.
            ("/data/kubelet/pods/UID/volumes/kubernetes.io~csi/v/mount", (true, false)),
            ("/var/lib/kubelet/pods/UID/volumes/kubernetes.io~empty-dir/v/link/kubelet.conf", (true, false)),
            ("/proc/4111/root/pods/UID/volumes/x/v/a", (true, false)),
            ("/run/containerd/io.containerd.runtime.v2.task/k8s.io/c/rootfs/pods/UID/volumes/x/v", (true, false)),
            ("/var/lib/rancher/k3s/storage/pvc-1/pods/UID/volumes/x/v", (true, false)),
            ("/var/lib/kubelet/pods/42331e16-a9a8-4ad7-adaf-9dcadc109451/volumes/x/v/pods/UID/v/x", (false, false)),
            ("/var/lib/kubelet/pods/UID", (false, false)),
            ("/etc/podUID/x", (false, false)),
            ("/sys/fs/cgroup/kubepods", (false, false)),
        ] {
            assert_eq!(passes(Placeholder::Path, path), expected, "{path}");
        }
    }

    #[test]
    fn vol_data_is_written_where_the_kubelet_keeps_it() {
        let is_written = |path| passes(Placeholder::VolData, path).1;
        assert!(is_written("/var/lib/kubelet/pods/UID/volumes/kubernetes.io~csi/pvc-1/vol_data.json"));
        for path in [
            "/var/lib/kubelet/pods/UID/volumes/kubernetes.io~csi/pvc-1/mount/vol_data.json",
            "/var/lib/kubelet/pods/UID/volumes/kubernetes.io~empty-dir/v/vol_data.json",
            "/run/containerd/io.containerd.runtime.v2.task/k8s.io/c/rootfs/pods/UID/volumes/kubernetes.io~csi/x/vol_data.json",
            "/tmp/pods/UID/volumes/kubernetes.io~csi/pvc-1/vol_data.json",
        ] {
            assert!(!is_written(path), "{path}");
        }
    }

    #[test]
    fn a_process_is_entered_for_the_pods_own_paths_only() {
        let uid = PodUid::parse(UID).unwrap();
        let mount = Entity::Mount { path: "/data".into(), device: "0:40".into(), fs_type: "tmpfs".into() };
        let chain = [Link { subject: "mount".into(), state: String::new(), what: Some(mount), root: false }];
        let values = Values::new().with(Placeholder::Path, "/data");
        let has_path =
            |values: &Values| Trusted::new(values, Some(&uid), &chain).to_look.get(Placeholder::Path).is_some();
        assert!(has_path(&values));
        assert!(!has_path(&values.with(Placeholder::MountNamespacePid, 4111)));
    }

    #[test]
    fn units_sockets_and_logs_are_those_of_the_distributions() {
        for (placeholder, good, bad) in [
            (Placeholder::Unit, "kubepods-besteffort-podU_ID.slice", "kubepods.slice"),
            (Placeholder::KubeletUnit, "k3s-agent", "poweroff.target"),
            (Placeholder::KubeletJournal, "kubelet.service", "sshd"),
            (Placeholder::RuntimeUnit, "containerd", "sshd.service"),
            (Placeholder::RuntimeJournal, "k0sworker", "sshd"),
            (
                Placeholder::CriEndpoint,
                "unix:///var/run/crio/crio.sock",
                "unix:///var/lib/rancher/k3s/storage/pvc-1/x.sock",
            ),
            (
                Placeholder::KubeletLog,
                "/var/lib/rancher/rke2/agent/logs/kubelet.log",
                "/var/lib/rancher/rke2/agent/logs/x.log",
            ),
            (
                Placeholder::RuntimeLog,
                "/var/lib/rancher/k3s/agent/containerd/containerd.log",
                "/run/containerd/c/rootfs/tmp/x.log",
            ),
        ] {
            assert_eq!(passes(placeholder, good), (true, true), "{good}");
            assert_eq!(passes(placeholder, bad), (false, false), "{bad}");
        }
    }
}
