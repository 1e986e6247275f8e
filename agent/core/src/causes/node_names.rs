//! What steps call the kubelet and the runtime of this node: their units, where they log, and by what crictl reaches the
//! runtime.

use findings::kubernetes_distribution::{DEFAULT_RUNTIME, Distribution, Rancher, Runtime};

use super::prelude::*;

/// The finding with these names, as far as they are known.
pub(super) fn given(draft: FindingBuilder, seen: &Observation) -> FindingBuilder {
    let node = &seen.node;
    let socket = node.cri_socket.get().and_then(HostPath::as_str);
    let of_kubelet = node.kubelet.get();
    let unit = of_kubelet.and_then(|kubelet| kubelet.unit.as_deref());
    let distribution = Distribution::find(of_kubelet.map(|kubelet| kubelet.comm.as_str()), unit, socket);
    let kubelet = kubelet_unit(node, distribution);
    let runtime = runtime_unit(node, kubelet);
    // What writes a file writes nothing into the journal of its unit, even where that file is not found.
    let rancher = distribution.rancher;
    let is_file = rancher.is_some_and(|rancher| rancher.kubelet_log.is_some());
    let is_brought_along = rancher.is_some() && runtime == kubelet;
    let crictl = rancher.and_then(|rancher| own_crictl(node, rancher)).unwrap_or("crictl");
    let endpoint = socket.map(|socket| format!("unix://{socket}"));
    let file = |log: &Option<HostPath>| log.as_ref().and_then(HostPath::as_str).map(str::to_owned);
    let unit = |unit: Option<&str>| unit.map(|unit| short(unit).to_owned());
    let names = [
        (Placeholder::KubeletUnit, unit(kubelet)),
        (Placeholder::KubeletJournal, unit(kubelet.filter(|_| !is_file))),
        (Placeholder::KubeletLog, file(&node.kubelet_log)),
        (Placeholder::RuntimeUnit, unit(runtime)),
        (Placeholder::RuntimeJournal, unit(runtime.filter(|_| !is_brought_along))),
        (Placeholder::RuntimeLog, file(&node.runtime_log)),
        (Placeholder::Crictl, Some(crictl.to_owned())),
        (Placeholder::CriEndpoint, endpoint),
    ];
    // They travel in Events, each of which has little room.
    let cause = draft.cause;
    let needed = names.into_iter().filter(|(name, _)| cause.takes(*name));
    needed.fold(draft, |draft, (name, value)| draft.name_if(name, value))
}

/// The unit the kernel says it runs in; of one that does not run that of its distribution.
fn kubelet_unit<'a>(node: &'a NodeFacts, distribution: &Distribution) -> Option<&'a str> {
    let usual = |comm| distribution.kubelet_unit(comm);
    match node.kubelet.get() {
        None => usual(None),
        // An observation of an older version shows neither when it started nor its unit.
        Some(kubelet) if kubelet.start_ticks.is_none() => kubelet.unit.as_deref().or(usual(Some(&kubelet.comm))),
        Some(kubelet) => kubelet.unit.as_deref(),
    }
}

/// The same of the runtime: its distribution is known by its socket.
fn runtime_unit<'a>(node: &'a NodeFacts, kubelet_unit: Option<&'a str>) -> Option<&'a str> {
    let unit = node.runtime_process.get().and_then(|process| process.unit.as_deref());
    // Where the kubelet runs in no unit there may be no systemd.
    let is_usual = kubelet_unit.is_some() || node.kubelet.get().is_none();
    unit.or_else(|| {
        let socket = node.cri_socket.get().and_then(HostPath::as_str);
        let runtime = socket.and_then(Runtime::find).unwrap_or(DEFAULT_RUNTIME);
        runtime.unit.or(kubelet_unit).filter(|_| is_usual)
    })
}

/// Where it is not in the `PATH`, as far as the data directory is the usual one.
fn own_crictl(node: &NodeFacts, rancher: &Rancher) -> Option<&'static str> {
    let is_usual = node.runtime_log.as_ref().is_some_and(|log| log.is_within(&rancher.agent.into()));
    rancher.crictl.filter(|_| is_usual)
}

/// As people write it.
fn short(unit: &str) -> &str {
    unit.strip_suffix(".service").unwrap_or(unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use findings::cause;

    /// What these steps type: about the kubelet's log, about the runtime's, and crictl.
    fn typed(comm: &str, unit: Option<&str>, socket: &str, logs: [Option<&str>; 2]) -> Vec<String> {
        let mut seen = sample::node();
        let kubelet = seen.node.kubelet.get_mut().unwrap();
        (kubelet.comm, kubelet.unit) = (comm.to_owned(), unit.map(str::to_owned));
        seen.node.cri_socket = Seen::Seen(HostPath::from(socket));
        [seen.node.kubelet_log, seen.node.runtime_log] = logs.map(|log| log.map(HostPath::from));
        let begun = |cause| given(FindingBuilder::new(cause), &seen).name(Placeholder::Uid, sample::UID);
        let causes = [&cause::VOLUME_MOUNTED_NO_HOLDER, &cause::RUNTIME_NOT_RESPONDING, &cause::PLEG_STALLED];
        let steps = causes.into_iter().flat_map(|cause| begun(cause).finish().remedy.steps);
        let commands = steps.filter_map(|step| step.command);
        commands
            .map(|command| command.replace(sample::UID, "UID"))
            .filter(|command| !command.starts_with("systemctl"))
            .collect()
    }

    #[test]
    fn the_kubelet_of_kubeadm_has_a_journal() {
        assert_eq!(
            typed("kubelet", Some("kubelet.service"), "/run/containerd/containerd.sock", [None; 2]),
            [
                "journalctl -u kubelet --since -15min --no-pager --grep UID",
                "journalctl -u containerd --since -1h --no-pager",
                "crictl --runtime-endpoint unix:///run/containerd/containerd.sock ps -a",
            ]
        );
    }

    #[test]
    fn rke2_has_files_and_a_crictl_of_its_own() {
        let logs =
            ["/var/lib/rancher/rke2/agent/logs/kubelet.log", "/var/lib/rancher/rke2/agent/containerd/containerd.log"];
        let socket = "/run/k3s/containerd/containerd.sock";
        assert_eq!(
            typed("kubelet", Some("rke2-agent.service"), socket, logs.map(Some)),
            [
                "grep -F -e UID /var/lib/rancher/rke2/agent/logs/kubelet.log | tail -n 50",
                "tail -n 200 /var/lib/rancher/rke2/agent/containerd/containerd.log",
                "/var/lib/rancher/rke2/bin/crictl --runtime-endpoint unix:///run/k3s/containerd/containerd.sock ps -a",
            ]
        );
        // The journal of the unit has nothing of either.
        assert_eq!(
            typed("kubelet", Some("rke2-agent.service"), socket, [None; 2]),
            ["crictl --runtime-endpoint unix:///run/k3s/containerd/containerd.sock ps -a"]
        );
    }

    #[test]
    fn of_k3s_only_the_runtime_has_a_file() {
        let log = "/var/lib/rancher/k3s/agent/containerd/containerd.log";
        assert_eq!(
            typed("k3s-server", Some("k3s.service"), "/run/k3s/containerd/containerd.sock", [None, Some(log)]),
            [
                "journalctl -u k3s --since -15min --no-pager --grep UID",
                "tail -n 200 /var/lib/rancher/k3s/agent/containerd/containerd.log",
                "crictl --runtime-endpoint unix:///run/k3s/containerd/containerd.sock ps -a",
            ]
        );
        assert_eq!(
            typed("k3s-server", Some("k3s.service"), "/run/crio/crio.sock", [None; 2])[1],
            "journalctl -u crio --since -1h --no-pager"
        );
    }

    #[test]
    fn k0s_and_microk8s_have_journals() {
        assert_eq!(
            typed("kubelet", Some("k0sworker.service"), "/run/k0s/containerd.sock", [None; 2]),
            [
                "journalctl -u k0sworker --since -15min --no-pager --grep UID",
                "journalctl -u k0sworker --since -1h --no-pager",
                "crictl --runtime-endpoint unix:///run/k0s/containerd.sock ps -a",
            ]
        );
        let unit = Some("snap.microk8s.daemon-kubelite.service");
        assert_eq!(
            typed("kubelite", unit, "/var/snap/microk8s/common/run/containerd.sock", [None; 2])[..2],
            [
                "journalctl -u snap.microk8s.daemon-kubelite --since -15min --no-pager --grep UID",
                "journalctl -u snap.microk8s.daemon-containerd --since -1h --no-pager",
            ]
        );
    }

    /// As on Talos, which has no systemd, or below OpenRC.
    #[test]
    fn what_runs_in_no_unit_has_no_journal() {
        assert_eq!(
            typed("kubelet", None, "/run/containerd/containerd.sock", [None; 2]),
            ["crictl --runtime-endpoint unix:///run/containerd/containerd.sock ps -a"]
        );
    }
}
