//! A process of the host listens on a unix socket in a volume, and the name that the kernel shows of it is none of the volume.

use std::{os::unix::fs::symlink, path::Path};

use anyhow::Context as _;

use super::{Repair, Staged, support};
use crate::{Gate, Launch, Node, PodSpec, mounts};

scenarios! {
    "socket-relative",
        "a process of the host listens on a socket that it has bound in an emptyDir of the pod by a relative name", |node| {
        let launch = |launch: Launch, volume: &Path| Ok(launch.args(["--bind", NAME, "--bind-in"]).arg(volume));
        bound(node, "socket-relative", launch, "its name is relative")
    };
    "socket-linked",
        "a process of the host listens on a socket that it has bound in an emptyDir of the pod through a link", |node| {
        let link = node.layout().mnt("agentd");
        let launch = |launch: Launch, volume: &Path| {
            symlink(volume, &link).with_context(|| format!("link {}", link.display()))?;
            Ok(launch.arg("--bind").arg(link.join(NAME)))
        };
        bound(node, "socket-linked", launch, "a link leads to")
    };
    "socket-elsewhere", "as socket-relative, and the process has a mount namespace and a network namespace of its own", |node| {
        let launch =
            |launch: Launch, volume: &Path| Ok(launch.args(ELSEWHERE).args(["--bind", NAME, "--bind-in"]).arg(volume));
        bound(node, "socket-elsewhere", launch, "its name is relative")
    };
    "socket-left-network",
        "a process of the host listens on a socket in an emptyDir of the pod, and has left the network namespace of the socket",
        |node| {
        let left = ["--own-network", "--leave-network"];
        let launch = |launch: Launch, volume: &Path| Ok(launch.args(left).args(["--bind", NAME, "--bind-in"]).arg(volume));
        bound(node, "socket-left-network", launch, "a network namespace without a process")
    };
    "socket-linked-elsewhere",
        "as socket-linked, and the process has a mount namespace and a network namespace of its own", |node| {
        let link = node.layout().mnt("agentd");
        let launch = |launch: Launch, volume: &Path| {
            symlink(volume, &link).with_context(|| format!("link {}", link.display()))?;
            Ok(launch.args(ELSEWHERE).arg("--bind").arg(link.join(NAME)))
        };
        bound(node, "socket-linked-elsewhere", launch, "a link leads to")
    };
}

const ELSEWHERE: [&str; 3] = ["--namespace", "slave", "--own-network"];
const NAME: &str = "agentd.sock";

/// Whether that socket holds the volume is seen by the printed commands; what ends it, only a person knows.
fn bound(
    node: &Node,
    name: &str,
    binding: impl FnOnce(Launch, &Path) -> anyhow::Result<Launch>,
    says: &str,
) -> anyhow::Result<Staged> {
    let mut spec = PodSpec::sleeping(name);
    // Of one in memory, and a kubelet that has just started, something else is likelier.
    let volume = node.empty_dir(&mut spec, "scratch", false)?;
    mounts::bind(&volume, &volume)?;
    node.run(&spec)?;
    let holder = node.launch(binding(Launch::stand_in("agentd").args(["stand-in", "hold"]), &volume)?)?;
    support::wait_exists(&volume.join(NAME))?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    let names = vec![holder.to_string(), volume.display().to_string(), says.to_owned()];
    Ok(Staged::stuck(spec.pod, Gate::VolumesUnmounted, "VolumeHeldBySocket", names).by_hand(Repair::Holder(holder)))
}
