//! How to get a shell on a node whose operating system has none, or has no login that others have.

use std::net::IpAddr;

use findings::{Finding, Step, quote_for_shell};

use crate::lister::Lister;
use crate::messages::kubelet;
use crate::report::Root;
use crate::state::{Node, known};

impl Root {
    /// Puts it before the first step that runs on the node.
    pub(super) fn add_way_to_node(&mut self, lister: &Lister) {
        let Some(node) = self.node().map(str::to_owned) else { return };
        let claimed = self.claims.iter_mut().map(|claim| &mut claim.finding);
        let all = std::iter::once(&mut self.finding).chain(&mut self.also).chain(claimed);
        let first = |finding: &Finding| finding.remedy.steps.iter().position(|step| step.on_the_node);
        let Some((finding, at)) = all.filter_map(|finding| first(finding).map(|at| (finding, at))).next() else {
            return;
        };
        let way = lister.get::<Node>(known::NODES, None, &node).seen().and_then(way);
        finding.remedy.steps.splice(at..at, way);
    }
}

/// By the name that its `/etc/os-release` gives it, as its kubelet reports it.
fn way(node: &Node) -> Option<Step> {
    let name = quote_for_shell(&node.metadata.name)?;
    let (text, command) = match node.status.node_info.os_image.split(' ').next()? {
        "Talos" => match kubelet::runs_pods(node) {
            // `umount -N` is not busybox's. What the pod has mounted keeps the file systems of other pods in use.
            true => (
                format!(
                    "Talos on {name} has no shell and no systemctl: open a shell in a privileged pod, which has the node's \
                    files below /host, and delete that pod afterwards"
                ),
                format!("kubectl -n kube-system debug node/{name} -it --profile=sysadmin --image=debian"),
            ),
            false => {
                let internal = node.status.addresses.iter().find(|address| address.kind == "InternalIP")?;
                let address: IpAddr = internal.address.parse().ok()?;
                let text = format!(
                    "Talos on {name} has no shell, and its kubelet starts no pod: see the kubelet's log \
                    (talosctl also has dmesg, restart and reboot)"
                );
                (text, format!("talosctl -n {address} logs kubelet"))
            }
        },
        "Bottlerocket" => {
            let instance = node.spec.provider_id.strip_prefix("aws:///")?.split('/').nth(1)?;
            let text = format!(
                "Bottlerocket on {name} has no shell of its own: log in, and type enter-admin-container, then sudo \
            sheltie, which opens a root shell on the node"
            );
            (text, format!("aws ssm start-session --target {}", quote_for_shell(instance)?))
        }
        "Container-Optimized" => {
            let mut place = node.spec.provider_id.strip_prefix("gce://")?.split('/');
            let [project, zone, instance] = [place.next()?, place.next()?, place.next()?].map(quote_for_shell);
            let text = format!(
                "Log in to {name} and become root (sudo -i). Its root file system is read-only; toolbox has \
            debugging tools"
            );
            (text, format!("gcloud compute ssh {} --project {} --zone {}", instance?, project?, zone?))
        }
        _ => return None,
    };
    Some(Step { text, command: Some(command), on_the_node: false, is_check: true, tested: false })
}
