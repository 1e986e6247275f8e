//! What the distributions of Kubernetes call their kubelet and its runtime, and where they keep them.
//!
//! kubeadm, OpenShift and the clouds run the plain kubelet, and so does kind, within a container.

#[derive(Debug, PartialEq, Eq)]
pub struct Distribution {
    /// The processes that are or contain its kubelet.
    pub kubelets: &'static [Kubelet],
    /// The kubelet's directory by default.
    pub kubelet_root: &'static str,
    /// The runtime it brings along.
    pub runtime: Option<&'static Runtime>,
    /// What k3s and RKE2, which is made of it, have beside that.
    pub rancher: Option<&'static Rancher>,
}

/// Where k3s and RKE2 keep the settings of their kubelet and crictl, and the logs of the kubelet and the runtime. None of it
/// is where others have it, and k3s hides its command line (`proctitle.SetProcTitle` in its pkg/cli/agent).
#[derive(Debug, PartialEq, Eq)]
pub struct Rancher {
    /// `agent` in their data directory, by default.
    pub agent: &'static str,
    /// Below it, the kubelet's log; that of k3s is in the journal of its unit.
    pub kubelet_log: Option<&'static str>,
    /// Below it, the log of the runtime that they bring along.
    pub runtime_log: &'static str,
    /// Their crictl, where no `PATH` has it.
    pub crictl: Option<&'static str>,
}

/// A process that is or contains a kubelet.
#[derive(Debug, PartialEq, Eq)]
pub struct Kubelet {
    /// Its name, as `/proc/<pid>/comm` has it.
    pub comm: &'static str,
    /// The systemd unit it runs in.
    pub unit: &'static str,
    /// Whether the node's API server runs in that unit too.
    pub has_api_server: bool,
}

/// A container runtime.
#[derive(Debug, PartialEq, Eq)]
pub struct Runtime {
    /// Where it listens by default.
    pub socket: &'static str,
    /// The systemd unit it runs in; `None` where the kubelet's unit contains it.
    pub unit: Option<&'static str>,
}

/// The kubelet's directory as upstream has it.
pub const DEFAULT_ROOT: &str = "/var/lib/kubelet";

/// The runtimes in the order in which their sockets are tried: containerd, CRI-O, cri-dockerd, that of k3s and
/// RKE2, that of microk8s, that of k0s, that of k3s with Docker.
pub static RUNTIMES: [Runtime; 7] = [
    Runtime { socket: "/run/containerd/containerd.sock", unit: Some("containerd.service") },
    Runtime { socket: "/run/crio/crio.sock", unit: Some("crio.service") },
    Runtime { socket: "/run/cri-dockerd.sock", unit: Some("cri-docker.service") },
    Runtime { socket: "/run/k3s/containerd/containerd.sock", unit: None },
    Runtime {
        socket: "/var/snap/microk8s/common/run/containerd.sock",
        unit: Some("snap.microk8s.daemon-containerd.service"),
    },
    Runtime { socket: "/run/k0s/containerd.sock", unit: None },
    Runtime { socket: "/run/k3s/cri-dockerd/cri-dockerd.sock", unit: None },
];

/// The runtime of a kubelet without a configured one, since Kubernetes 1.24.
pub const DEFAULT_RUNTIME: &Runtime = &RUNTIMES[0];
const CRIO: &Runtime = &RUNTIMES[1];
const OF_K3S: &Runtime = &RUNTIMES[3];
const OF_MICROK8S: &Runtime = &RUNTIMES[4];
const OF_K0S: &Runtime = &RUNTIMES[5];

/// All of them, the plain kubelet first.
pub static DISTRIBUTIONS: [Distribution; 7] = [
    Distribution {
        kubelets: &[
            Kubelet { comm: "kubelet", unit: "kubelet.service", has_api_server: false },
            Kubelet { comm: "hyperkube", unit: "kubelet.service", has_api_server: false },
        ],
        kubelet_root: DEFAULT_ROOT,
        runtime: None,
        rancher: None,
    },
    // k3s
    Distribution {
        kubelets: &[
            Kubelet { comm: "k3s-server", unit: "k3s.service", has_api_server: true },
            Kubelet { comm: "k3s-agent", unit: "k3s-agent.service", has_api_server: false },
        ],
        kubelet_root: DEFAULT_ROOT,
        runtime: Some(OF_K3S),
        // pkg/agent/config/config.go
        rancher: Some(&Rancher {
            agent: "/var/lib/rancher/k3s/agent",
            kubelet_log: None,
            runtime_log: "containerd/containerd.log",
            crictl: None,
        }),
    },
    // RKE2: a kubelet of its own process, below the supervisor.
    Distribution {
        kubelets: &[
            Kubelet { comm: "kubelet", unit: "rke2-server.service", has_api_server: false },
            Kubelet { comm: "kubelet", unit: "rke2-agent.service", has_api_server: false },
        ],
        kubelet_root: DEFAULT_ROOT,
        runtime: Some(OF_K3S),
        // docs.rke2.io/reference/logging; its pkg/cli/defaults/defaults.go
        rancher: Some(&Rancher {
            agent: "/var/lib/rancher/rke2/agent",
            kubelet_log: Some("logs/kubelet.log"),
            runtime_log: "containerd/containerd.log",
            crictl: Some("/var/lib/rancher/rke2/bin/crictl"),
        }),
    },
    // microk8s
    Distribution {
        kubelets: &[Kubelet { comm: "kubelite", unit: "snap.microk8s.daemon-kubelite.service", has_api_server: true }],
        kubelet_root: "/var/snap/microk8s/common/var/lib/kubelet",
        runtime: Some(OF_MICROK8S),
        rancher: None,
    },
    // k0s: a kubelet of its own process, below the supervisor.
    Distribution {
        kubelets: &[
            Kubelet { comm: "kubelet", unit: "k0scontroller.service", has_api_server: true },
            Kubelet { comm: "kubelet", unit: "k0sworker.service", has_api_server: false },
        ],
        kubelet_root: "/var/lib/k0s/kubelet",
        runtime: Some(OF_K0S),
        rancher: None,
    },
    // MicroShift
    Distribution {
        kubelets: &[Kubelet { comm: "microshift", unit: "microshift.service", has_api_server: true }],
        kubelet_root: DEFAULT_ROOT,
        runtime: Some(CRIO),
        rancher: None,
    },
    // KubeEdge
    Distribution {
        kubelets: &[Kubelet { comm: "edgecore", unit: "edgecore.service", has_api_server: false }],
        kubelet_root: DEFAULT_ROOT,
        runtime: None,
        rancher: None,
    },
];

/// The processes that are or contain a kubelet, of all distributions.
pub fn kubelets() -> impl Iterator<Item = &'static Kubelet> {
    DISTRIBUTIONS.iter().flat_map(|distribution| distribution.kubelets)
}

/// Whether a process of this name may be a kubelet. Names are free to choose.
pub fn is_kubelet(comm: &str) -> bool {
    kubelets().any(|kubelet| kubelet.comm == comm)
}

/// Whether this is the name of the unit, with or without what systemd adds.
pub fn is_unit(name: &str, unit: &str) -> bool {
    name == unit || unit.strip_suffix(".service") == Some(name)
}

/// What k3s and RKE2 append to their name in what they set (k3s: `GetUserAgent` in its pkg/util, pkg/server/context.go).
const CONTROLLERS: [&str; 2] = ["-supervisor", "-cloud-controller-manager"];

/// Whether this is the program of a distribution that has controllers of its own beside kubelet and API server, as it calls
/// itself: `k3s`, `k3s-supervisor@NODE`.
pub fn has_own_controllers(program: &str) -> bool {
    let program = program.split_once('@').map_or(program, |(program, _)| program);
    let program = CONTROLLERS.iter().find_map(|part| program.strip_suffix(part)).unwrap_or(program);
    let is_it = |kubelet: &Kubelet| {
        is_unit(program, kubelet.unit) || is_unit(&format!("{program}-server"), kubelet.unit) || kubelet.comm == program
    };
    DISTRIBUTIONS.iter().filter(|one| one.rancher.is_some()).flat_map(|one| one.kubelets).any(is_it)
        && program != "kubelet"
}

/// Whether this unit of a kubelet contains an API server.
pub fn has_api_server(name: &str) -> bool {
    kubelets().any(|kubelet| kubelet.has_api_server && is_unit(name, kubelet.unit))
}

impl Distribution {
    /// The one that fits what is known of the kubelet and the runtime's socket. A unit that none has is of no
    /// account; where several fit it is the one that brings the runtime along, else the first.
    pub fn find(comm: Option<&str>, unit: Option<&str>, socket: Option<&str>) -> &'static Distribution {
        let unit = unit.filter(|unit| kubelets().any(|kubelet| kubelet.unit == *unit));
        let is = |kubelet: &Kubelet| {
            comm.is_none_or(|comm| kubelet.comm == comm) && unit.is_none_or(|unit| kubelet.unit == unit)
        };
        let runtime = socket.and_then(Runtime::find);
        let mut fitting = DISTRIBUTIONS.iter().filter(|distribution| distribution.kubelets.iter().any(is));
        let first = fitting.clone().next().unwrap_or(&DISTRIBUTIONS[0]);
        fitting.find(|distribution| runtime.is_some() && distribution.runtime == runtime).unwrap_or(first)
    }

    /// The unit in which a kubelet of this name runs, unless there are several.
    pub fn kubelet_unit(&self, comm: Option<&str>) -> Option<&'static str> {
        let mut units = self.kubelets.iter().filter(|kubelet| comm.is_none_or(|comm| kubelet.comm == comm));
        let first = units.next()?.unit;
        units.all(|kubelet| kubelet.unit == first).then_some(first)
    }
}

impl Runtime {
    /// The one that listens at `socket`, else the first whose socket has the same name.
    pub fn find(socket: &str) -> Option<&'static Runtime> {
        // `/var/run` is `/run`.
        let socket = socket.strip_prefix("/var").filter(|rest| rest.starts_with("/run/")).unwrap_or(socket);
        let name = |socket: &str| socket.rsplit('/').next().map(str::to_owned);
        let same = RUNTIMES.iter().find(|runtime| runtime.socket == socket);
        same.or_else(|| RUNTIMES.iter().find(|runtime| name(runtime.socket) == name(socket)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(comm: &str, socket: &str) -> Option<&'static str> {
        Distribution::find(Some(comm), None, Some(socket)).kubelet_unit(Some(comm))
    }

    #[test]
    fn the_units_of_the_usual_kubelets() {
        assert_eq!(unit("kubelet", "/run/containerd/containerd.sock"), Some("kubelet.service"));
        assert_eq!(unit("kubelet", "/run/crio/crio.sock"), Some("kubelet.service"));
        assert_eq!(unit("k3s-agent", "/run/containerd/containerd.sock"), Some("k3s-agent.service"));
        assert_eq!(unit("kubelite", "/anything"), Some("snap.microk8s.daemon-kubelite.service"));
        assert_eq!(unit("unheard-of", "/anything"), None);
    }

    #[test]
    fn a_unit_that_may_be_one_of_two_is_not_named() {
        assert_eq!(unit("kubelet", "/run/k3s/containerd/containerd.sock"), None, "RKE2 has a server and an agent");
        assert_eq!(unit("kubelet", "/run/k0s/containerd.sock"), None);
        assert_eq!(Distribution::find(None, None, Some("/run/k0s/containerd.sock")).kubelet_unit(None), None);
    }

    #[test]
    fn the_unit_tells_the_distribution() {
        let distribution = |unit| Distribution::find(Some("kubelet"), Some(unit), None);
        assert_eq!(distribution("rke2-agent.service").runtime, Some(OF_K3S));
        assert_eq!(distribution("k0sworker.service").kubelet_root, "/var/lib/k0s/kubelet");
        assert_eq!(distribution("ours.service"), &DISTRIBUTIONS[0]);
    }

    #[test]
    fn runtimes_by_their_sockets() {
        assert_eq!(Runtime::find("/var/run/crio/crio.sock"), Some(CRIO));
        assert_eq!(Runtime::find("/tmp/elsewhere/crio.sock"), Some(CRIO));
        assert_eq!(Runtime::find("/var/snap/microk8s/common/run/containerd.sock"), Some(OF_MICROK8S));
        assert_eq!(Runtime::find("/run/k3s/cri-dockerd/cri-dockerd.sock").and_then(|runtime| runtime.unit), None);
        assert_eq!(Runtime::find("/run/isulad.sock"), None);
    }
}
