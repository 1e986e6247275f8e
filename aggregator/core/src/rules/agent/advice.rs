//! What to do on the node. An Event brings values only: the words and commands around them are those of
//! our own registry, and a value that names a place must name one that is the pod's.

use findings::{Advice, Cause, Link, PodUid, Remedy, Shape, Step, Thing, Values, clean, quote_for_shell};

use super::claims::Claim;
use crate::state::Pod;

/// These commands look, or unmount: they may be told for a mount elsewhere that the finding names in its
/// chain, such as that of a FUSE server. All others touch only what is the pod's.
const LOOK_OR_UNMOUNT: &[&str] = &["findmnt", "grep", "ls", "lsattr", "readlink", "systemd-cgls", "umount"];

/// The one command that is always true, and what the agent says.
pub fn steps(claim: &Claim, pod: &Pod, node: &str, is_asked_now: bool) -> Remedy {
    let finding = &claim.carried.finding;
    let cause: &'static Cause = finding.cause.0;
    let mut told = finding.remedy.values.clone();
    if claim.disputed {
        told = Values::new();
    }
    let uid = PodUid::parse(&pod.metadata.uid);
    let is_the_pods = |path: &str| uid.as_ref().is_some_and(|uid| is_own(path, uid));
    let own = kept(&told, is_the_pods, uid.as_ref());
    let named = kept(&told, |path| is_the_pods(path) || is_in(&finding.chain, path), uid.as_ref());
    let filled = cause.safe.iter().filter_map(|advice| {
        let values = if looks_or_unmounts(advice) { &named } else { &own };
        advice.fill(values)
    });
    let steps = ask_the_node(pod, node, is_asked_now).into_iter().chain(filled).collect();
    let (dont, breaks) = (cause.danger.action.to_owned(), cause.danger.breaks.to_owned());
    Remedy { steps, dont, breaks, values: Values::new() }
}

/// It looks at the node itself, so no Event has a say in what it answers.
fn ask_the_node(pod: &Pod, node: &str, is_asked_now: bool) -> Option<Step> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let name = quote_for_shell(&format!("{namespace}/{}", pod.metadata.name))?;
    let node = clean(node, 253);
    let text = match is_asked_now {
        true => format!("Look for yourself, on {node}"),
        false => format!("Look for yourself: ask again with --live, if you may exec in its agent's pod, or on {node}"),
    };
    Some(Step {
        text,
        command: Some(format!("why-terminating-agent check --pod {name}")),
        on_the_node: true,
        tested: true,
    })
}

fn kept(told: &Values, is_allowed: impl Fn(&str) -> bool, uid: Option<&PodUid>) -> Values {
    let mut values = told.clone();
    values.retain(|placeholder, value| match placeholder.shape() {
        Shape::Path | Shape::CgroupDir | Shape::CgroupFreeze | Shape::FreezerState => is_allowed(value),
        Shape::VolData => uid.is_some_and(|uid| is_own_vol_data(value, uid)),
        Shape::Uid => uid.is_some_and(|uid| uid.as_str() == value),
        Shape::CriEndpoint | Shape::LogFile => is_of_root(value.strip_prefix("unix://").unwrap_or(value)),
        _ => true,
    });
    values
}

/// In a directory where runtimes and kubelets have their sockets and logs, and no tenant any file.
fn is_of_root(path: &str) -> bool {
    ["/run/", "/var/run/", "/var/lib/rancher/", "/var/snap/microk8s/common/run/"]
        .iter()
        .any(|dir| path.starts_with(dir))
}

/// Below the pod's own directory, or in its own cgroup: the kubelet and the runtime name both by its uid.
fn is_own(path: &str, uid: &PodUid) -> bool {
    let (plain, systemd) = (format!("pod{uid}"), format!("-pod{}.slice", uid.for_systemd()));
    let is_cgroup = |part: &str| part == plain || part.ends_with(&systemd);
    below_own_directory(path, uid).is_some() || (path.starts_with("/sys/fs/cgroup/") && path.split('/').any(is_cgroup))
}

/// What follows the pod's directory. That is in the kubelet's, which may be anywhere but where others than root make
/// directories: in theirs everything may be called like this.
fn below_own_directory<'p>(path: &'p str, uid: &PodUid) -> Option<&'p str> {
    const OTHERS: [&str; 6] = ["/proc/", "/tmp/", "/var/tmp/", "/dev/", "/home/", "/run/user/"];
    let (kubelets, rest) = path.split_once("/pods/")?;
    let is_others = OTHERS.iter().any(|dir| format!("{kubelets}/").starts_with(dir));
    rest.strip_prefix(uid.as_str())?.strip_prefix('/').filter(|_| !is_others)
}

/// Where the kubelet keeps it: what lies deeper is the volume, where a tenant may have put a link in its place.
fn is_own_vol_data(path: &str, uid: &PodUid) -> bool {
    let rest = below_own_directory(path, uid).and_then(|rest| rest.strip_prefix("volumes/kubernetes.io~csi/"));
    rest.and_then(|rest| rest.strip_suffix("/vol_data.json")).is_some_and(|name| !name.contains('/'))
}

fn is_in(chain: &[Link], path: &str) -> bool {
    chain.iter().any(|link| match &link.what {
        Some(Thing::Mount { path: named, .. } | Thing::Path { path: named }) => named == path,
        _ => false,
    })
}

fn looks_or_unmounts(advice: &Advice) -> bool {
    let first = advice.command.and_then(|command| command.split(' ').next());
    first.is_some_and(|first| LOOK_OR_UNMOUNT.contains(&first))
}

#[cfg(test)]
mod tests {
    use findings::Placeholder;

    use super::*;

    #[test]
    fn a_socket_is_named_where_no_tenant_can_put_one() {
        let told = |endpoint| Values::new().with(Placeholder::CriEndpoint, endpoint);
        let kept = |endpoint| kept(&told(endpoint), |_| true, None).get(Placeholder::CriEndpoint).is_some();
        for own in
            ["unix:///run/k3s/containerd/containerd.sock", "unix:///var/snap/microk8s/common/run/containerd.sock"]
        {
            assert!(kept(own), "{own}");
        }
        assert!(!kept("unix:///tmp/x.sock") && !kept("unix:///var/lib/kubelet/pods/a/volumes/b/c.sock"));
    }

    #[test]
    fn a_path_is_own_by_the_uid_alone() {
        let uid = PodUid::parse("a710cd16-c48b-4c82-88a5-9064a1833d8a").unwrap();
        let own = |path: &str| is_own(&path.replace("UID", uid.as_str()).replace("U_ID", &uid.for_systemd()), &uid);
        assert!(own("/var/lib/kubelet/pods/UID/volumes/kubernetes.io~empty-dir/scratch"));
        assert!(own("/sys/fs/cgroup/kubepods/besteffort/podUID/cgroup.freeze"));
        assert!(own("/sys/fs/cgroup/kubepods.slice/kubepods-podU_ID.slice/cgroup.freeze"));
        assert!(!own("/var/lib/kubelet/pods/UID"), "the directory itself is the kubelet's");
        assert!(!own("/var/lib/kubelet/pods/42331e16-a9a8-4ad7-adaf-9dcadc109451/volumes/x"));
        assert!(!own("/etc/shadow") && !own("/etc/podUID/x") && !own("/sys/fs/cgroup/kubepods/cgroup.freeze"));
        for anybodys in [
            "/proc/4111/root/pods/UID/volumes/x",
            "/tmp/pods/UID/volumes/x",
            "/var/lib/kubelet/pods/42331e16-a9a8-4ad7-adaf-9dcadc109451/volumes/x/v/pods/UID/volumes/x",
        ] {
            assert!(!own(anybodys), "{anybodys}");
        }
    }

    #[test]
    fn nothing_is_written_into_a_volume() {
        let uid = PodUid::parse("a710cd16-c48b-4c82-88a5-9064a1833d8a").unwrap();
        let own = |path: &str| is_own_vol_data(&path.replace("UID", uid.as_str()), &uid);
        assert!(own("/var/lib/kubelet/pods/UID/volumes/kubernetes.io~csi/pvc-1/vol_data.json"));
        assert!(!own("/var/lib/kubelet/pods/UID/volumes/kubernetes.io~csi/pvc-1/mount/vol_data.json"));
        assert!(!own("/var/lib/kubelet/pods/UID/volumes/kubernetes.io~empty-dir/scratch/vol_data.json"));
        assert!(!own("/proc/4111/root/pods/UID/volumes/kubernetes.io~csi/pvc-1/vol_data.json"));
    }
}
