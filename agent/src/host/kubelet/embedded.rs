//! The settings that a kubelet has from the program it runs in, whose command line has none of its flags.

use crate::host::HostRoot;
use crate::kubernetes_distribution::Distribution;
use crate::observation::{Fault, FaultKind, HostPath, Reason};
use crate::parse::{self, KubeletFlags};
use crate::sys;

use super::{MAX_CONFIG_BYTES, read_own};

/// The flags in the file that the command line of kubelite names, and what k3s always sets.
pub(super) fn flags(
    flags: KubeletFlags,
    distribution: &Distribution,
    host: &HostRoot,
    faults: &mut Vec<Fault>,
) -> KubeletFlags {
    let mut flags = match flags.args_file.clone() {
        Some(path) => match read_own(host, &HostPath::from(path.as_str()), MAX_CONFIG_BYTES) {
            Ok(text) => parse::kubelet_flags(&parse::kubelet_args_file(&text, &path)),
            Err(error) => {
                faults.push(Fault::new(format!("kubelet arguments {path}"), error));
                flags
            }
        },
        None => flags,
    };
    if let Some(rancher) = distribution.rancher {
        // `KubeConfigKubelet` and `KubeletConfigDir` in pkg/agent/config/config.go of k3s; the second since 1.32.
        let there = |name: &str| is_there(host, &format!("{}/{name}", rancher.agent));
        flags.kubeconfig = flags.kubeconfig.or_else(|| there("kubelet.kubeconfig"));
        flags.config_dir = flags.config_dir.or_else(|| there("etc/kubelet.conf.d"));
    }
    flags
}

/// Where k3s and RKE2 keep what belongs to the node.
pub(super) fn agent_dir(flags: &KubeletFlags, distribution: &Distribution) -> Option<HostPath> {
    let rancher = distribution.rancher?;
    let dir = flags.kubeconfig.as_deref().and_then(|path| path.strip_suffix("/kubelet.kubeconfig"));
    Some(HostPath::from(dir.unwrap_or(rancher.agent)))
}

/// The endpoint that k3s, whichever runtime it has, writes down for crictl (`setupCriCtlConfig` in its pkg/agent).
pub(super) fn endpoint(agent: &HostPath, host: &HostRoot, faults: &mut Vec<Fault>) -> Option<String> {
    let path = agent.join("etc/crictl.yaml");
    let text = match read_own(host, &path, MAX_CONFIG_BYTES) {
        Ok(text) => text,
        Err(error) if sys::is_gone(&error) => return None,
        Err(error) => {
            faults.push(Fault::new(path, error));
            return None;
        }
    };
    parse::crictl_endpoint(&text).unwrap_or_else(|why| {
        faults.push(Fault::new(path, Reason::new(FaultKind::Malformed, why)));
        None
    })
}

fn is_there(host: &HostRoot, path: &str) -> Option<String> {
    let real = host.without_links(HostPath::from(path));
    sys::file_facts(&host.at(&real)).is_ok().then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::kubelet::{KubeletProcess, Settings};

    fn write(dir: &tempfile::TempDir, path: &str, text: &str) {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The settings of such a process, whose command line is `line`.
    fn settings(dir: &tempfile::TempDir, comm: &str, line: &[&str]) -> (Settings, Vec<Fault>) {
        let process = KubeletProcess {
            // Its sockets are asked for: this one has none of a kubelet's.
            pid: 2,
            start_ticks: 1,
            comm: comm.to_owned(),
            unit: None,
            state: 'S',
            age_ms: 0,
        };
        let line = line.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>();
        let mut faults = Vec::new();
        let settings = super::super::settings_of(&process, Some(&line), &HostRoot::new(dir.path()), &mut faults);
        (settings, faults)
    }

    #[test]
    fn microk8s_has_the_flags_in_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let line = ["/snap/microk8s/9072/kubelite", "--kubelet-args-file=/var/snap/microk8s/9072/args/kubelet"];
        let (unknown, faults) = settings(&dir, "kubelite", &line);
        assert_eq!((unknown.runtime_socket(), faults.len()), (None, 1));
        write(
            &dir,
            "var/snap/microk8s/9072/args/kubelet",
            "--root-dir=${SNAP_COMMON}/elsewhere/kubelet\n--container-runtime-endpoint=${SNAP_COMMON}/run/containerd.sock\n",
        );
        let (told, faults) = settings(&dir, "kubelite", &line);
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(told.root_dir(), HostPath::from("/var/snap/microk8s/common/elsewhere/kubelet"));
        let socket = HostPath::from("/var/snap/microk8s/common/run/containerd.sock");
        assert_eq!(told.runtime_socket(), Some(socket));
    }

    #[test]
    fn k3s_writes_down_what_it_tells() {
        let dir = tempfile::tempdir().unwrap();
        // What is left of `k3s server --docker --kubelet-arg=…`.
        let line = ["/usr/local/bin/k3s server"];
        let (untold, faults) = settings(&dir, "k3s-server", &line);
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!((untold.runtime_socket(), untold.flags.kubeconfig), (None, None));
        let agent = "var/lib/rancher/k3s/agent";
        write(
            &dir,
            &format!("{agent}/etc/crictl.yaml"),
            "runtime-endpoint: unix:///run/k3s/cri-dockerd/cri-dockerd.sock\n",
        );
        write(&dir, &format!("{agent}/kubelet.kubeconfig"), "");
        let (told, _) = settings(&dir, "k3s-server", &line);
        let kubeconfig = "/var/lib/rancher/k3s/agent/kubelet.kubeconfig";
        assert_eq!(told.runtime_socket(), Some(HostPath::from("/run/k3s/cri-dockerd/cri-dockerd.sock")));
        assert_eq!(told.flags.kubeconfig.as_deref(), Some(kubeconfig));
        write(
            &dir,
            &format!("{agent}/etc/kubelet.conf.d/00-k3s-defaults.conf"),
            "containerRuntimeEndpoint: unix:///run/k3s/containerd/containerd.sock\ncgroupDriver: systemd\n",
        );
        let (told, _) = settings(&dir, "k3s-server", &line);
        assert_eq!(told.runtime_socket(), Some(HostPath::from("/run/k3s/containerd/containerd.sock")));
        assert_eq!(told.config.cgroup_driver.as_deref(), Some("systemd"));
    }

    #[test]
    fn what_was_told_is_whole_when_all_of_it_was_read() {
        let dir = tempfile::tempdir().unwrap();
        let is_whole = |comm: &str, line: &[&str]| settings(&dir, comm, line).0.is_whole;
        assert!(is_whole("kubelet", &["kubelet"]));
        assert!(!is_whole("kubelet", &["kubelet", "--config=/var/lib/kubelet/config.yaml"]), "which is not there");
        assert!(!is_whole("k3s-agent", &["/usr/local/bin/k3s agent"]), "its flags are hidden");
        write(&dir, "var/lib/kubelet/config.yaml", "cgroupDriver: systemd\n");
        assert!(is_whole("kubelet", &["kubelet", "--config=/var/lib/kubelet/config.yaml"]));
    }

    #[test]
    fn another_data_directory_is_told_by_the_kubeconfig() {
        let line = ["/data/rke2/data/v1/bin/kubelet", "--kubeconfig=/data/rke2/agent/kubelet.kubeconfig"];
        let dir = |unit: &str| {
            let distribution = Distribution::find(Some("kubelet"), Some(unit), None);
            agent_dir(&parse::kubelet_flags(&line.map(str::to_owned)), distribution)
        };
        assert_eq!(dir("rke2-server.service"), Some(HostPath::from("/data/rke2/agent")));
        assert_eq!(dir("kubelet.service"), None);
    }
}
