//! The kubelet's flags and configuration file, as far as they matter here.

use serde::Deserialize;

/// The flags that are used.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct KubeletFlags {
    /// `--root-dir`; it has no counterpart in the configuration file.
    pub root_dir: Option<String>,
    pub config: Option<String>,
    /// `--config-dir`: more files, which win over that one.
    pub config_dir: Option<String>,
    /// `--container-runtime-endpoint`, also a setting of the file.
    pub runtime_endpoint: Option<String>,
    /// `--cgroup-root`, also a setting of the file.
    pub cgroup_root: Option<String>,
    /// `--cgroup-driver`, also a setting of the file.
    pub cgroup_driver: Option<String>,
    /// `--hostname-override`: the node's name.
    pub hostname_override: Option<String>,
    pub kubeconfig: Option<String>,
    /// `--port`, also a setting of the file: where it serves its metrics.
    pub port: Option<u16>,
    pub cert_dir: Option<String>,
    /// `--tls-cert-file`, also a setting of the file.
    pub tls_cert_file: Option<String>,
    /// `--healthz-port`, also a setting of the file; 0 switches it off.
    pub healthz_port: Option<u16>,
    /// `--kubelet-args-file` of kubelite, which has all of these.
    pub args_file: Option<String>,
}

/// Reads `--name=value` and `--name value`; the last one wins, as in the kubelet.
pub fn kubelet_flags(arguments: &[String]) -> KubeletFlags {
    let value = |name: &str| {
        let mut last = None;
        for (index, argument) in arguments.iter().enumerate() {
            // k3s hands its kubelet's flags through: --kubelet-arg=root-dir=/data/kubelet
            let own = argument.trim_start_matches('-');
            let own = own.strip_prefix("kubelet-arg=").unwrap_or(own);
            let Some(rest) = own.strip_prefix(name) else { continue };
            if let Some(value) = rest.strip_prefix('=') {
                last = Some(value.to_owned());
            } else if rest.is_empty() {
                last = arguments.get(index + 1).cloned();
            }
        }
        last
    };
    KubeletFlags {
        root_dir: value("root-dir"),
        config: value("config"),
        config_dir: value("config-dir"),
        runtime_endpoint: value("container-runtime-endpoint"),
        cgroup_root: value("cgroup-root"),
        cgroup_driver: value("cgroup-driver"),
        hostname_override: value("hostname-override"),
        kubeconfig: value("kubeconfig"),
        port: value("port").and_then(|port| port.parse().ok()),
        cert_dir: value("cert-dir"),
        tls_cert_file: value("tls-cert-file"),
        healthz_port: value("healthz-port").and_then(|port| port.parse().ok()),
        args_file: value("kubelet-args-file"),
    }
}

/// The arguments in `--kubelet-args-file`, as kubelite reads them (`ReadArgsFromFile` of its server): `path` is
/// `$SNAP_DATA/args/kubelet`, and `$SNAP_COMMON` lies beside `$SNAP_DATA`. What has another variable is left out.
pub fn kubelet_args_file(text: &str, path: &str) -> Vec<String> {
    let data = path.strip_suffix("/args/kubelet").unwrap_or_default();
    let common = data.rsplit_once('/').map(|(snap, _)| format!("{snap}/common")).unwrap_or_default();
    let known = [("SNAP_DATA", data), ("SNAP_COMMON", &common)].map(|(name, value)| (name, value.to_owned()));
    let mut arguments: Vec<String> = Vec::new();
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    for word in lines.flat_map(str::split_ascii_whitespace) {
        let mut argument = word.replace(['"', '\''], "");
        for (name, value) in known.iter().filter(|(_, value)| !value.is_empty()) {
            argument = argument.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value);
        }
        match argument.contains('$') {
            false => arguments.push(argument),
            // A value of its own is that of the flag before it.
            true if !argument.starts_with('-') => _ = arguments.pop(),
            true => {}
        }
    }
    arguments
}

/// The endpoint that a `crictl.yaml` names.
pub fn crictl_endpoint(text: &str) -> Result<Option<String>, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct Crictl {
        runtime_endpoint: Option<String>,
    }
    let read: Result<Crictl, _> = serde_saphyr::from_str(text);
    read.map(|crictl| crictl.runtime_endpoint).map_err(|error| findings::clean(&error.to_string(), 200))
}

/// The settings of `KubeletConfiguration` that are used.
#[derive(Clone, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KubeletConfig {
    /// `unix:///run/containerd/containerd.sock`.
    pub container_runtime_endpoint: Option<String>,
    /// The cgroup below which `kubepods` lies.
    pub cgroup_root: Option<String>,
    /// `systemd` or `cgroupfs`.
    pub cgroup_driver: Option<String>,
    /// Port of `/metrics` and all else, 10250 unless set.
    pub port: Option<u16>,
    /// Its serving certificate, where it does not make its own.
    pub tls_cert_file: Option<String>,
    /// Port of `/healthz` on 127.0.0.1, 10248 unless set; 0 switches it off.
    pub healthz_port: Option<u16>,
}

impl KubeletConfig {
    /// What a later file sets takes the place of what an earlier one has set.
    pub fn overridden_by(self, later: KubeletConfig) -> KubeletConfig {
        KubeletConfig {
            container_runtime_endpoint: later.container_runtime_endpoint.or(self.container_runtime_endpoint),
            cgroup_root: later.cgroup_root.or(self.cgroup_root),
            cgroup_driver: later.cgroup_driver.or(self.cgroup_driver),
            port: later.port.or(self.port),
            tls_cert_file: later.tls_cert_file.or(self.tls_cert_file),
            healthz_port: later.healthz_port.or(self.healthz_port),
        }
    }
}

/// Parses the configuration file, YAML or JSON.
pub fn kubelet_config(text: &str) -> Result<KubeletConfig, String> {
    serde_saphyr::from_str(text).map_err(|error| findings::clean(&error.to_string(), 200))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_both_forms_of_a_flag() {
        let line = [
            "/usr/bin/kubelet",
            "--root-dir=/data/kubelet",
            "--config",
            "/etc/k.yaml",
            "--root-dir-x=no",
            "--config-dir=/etc/kubernetes/kubelet.conf.d",
            "-v=2",
            "--config",
        ];
        let flags = kubelet_flags(&line.map(str::to_owned));
        assert_eq!(flags.root_dir.as_deref(), Some("/data/kubelet"));
        assert_eq!(flags.config.as_deref(), None, "the last --config has no value");
        assert_eq!(flags.config_dir.as_deref(), Some("/etc/kubernetes/kubelet.conf.d"));
    }

    /// What MicroK8s 1.36 has there (`microk8s-resources/default-args/kubelet`), cut down.
    #[test]
    fn reads_the_arguments_of_kubelite() {
        let line = ["/snap/microk8s/9072/kubelite", "--kubelet-args-file=/var/snap/microk8s/9072/args/kubelet"];
        let path = kubelet_flags(&line.map(str::to_owned)).args_file.unwrap();
        let text = "--kubeconfig=${SNAP_DATA}/credentials/kubelet.config\n--root-dir=${SNAP_COMMON}/var/lib/kubelet\n\
            \n# --root-dir=/no\n--container-runtime-endpoint=$SNAP_COMMON/run/containerd.sock\n\
            --eviction-hard=\"memory.available<100Mi,nodefs.available<1Gi\"\n--hostname-override $HOSTNAME\n --cert-dir /c -v=2";
        let flags = kubelet_flags(&kubelet_args_file(text, &path));
        let value = |flag: &Option<String>| flag.clone().unwrap_or_default();
        assert_eq!(value(&flags.kubeconfig), "/var/snap/microk8s/9072/credentials/kubelet.config");
        assert_eq!(value(&flags.root_dir), "/var/snap/microk8s/common/var/lib/kubelet");
        assert_eq!(value(&flags.runtime_endpoint), "/var/snap/microk8s/common/run/containerd.sock");
        assert_eq!((value(&flags.cert_dir).as_str(), flags.hostname_override), ("/c", None));
        assert!(
            kubelet_args_file("--root-dir=$SNAP_COMMON/x", "/elsewhere").is_empty(),
            "it is not known where that is"
        );
    }

    #[test]
    fn reads_the_endpoint_of_crictl() {
        let text = "runtime-endpoint: unix:///run/k3s/cri-dockerd/cri-dockerd.sock\ntimeout: 2\n";
        assert_eq!(crictl_endpoint(text).unwrap().as_deref(), Some("unix:///run/k3s/cri-dockerd/cri-dockerd.sock"));
        assert_eq!(crictl_endpoint("timeout: 2\n"), Ok(None));
        assert!(crictl_endpoint("[").is_err());
    }

    #[test]
    fn reads_yaml_and_json() {
        let yaml = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncgroupDriver: systemd\nhealthzPort: 0\nevictionHard:\n  nodefs.available: 10%\n";
        let config = kubelet_config(yaml).unwrap();
        assert_eq!((config.cgroup_driver.as_deref(), config.healthz_port), (Some("systemd"), Some(0)));
        let json = r#"{"kind":"KubeletConfiguration","containerRuntimeEndpoint":"unix:///run/crio/crio.sock"}"#;
        assert_eq!(
            kubelet_config(json).unwrap().container_runtime_endpoint.as_deref(),
            Some("unix:///run/crio/crio.sock")
        );
    }

    #[test]
    fn nonsense_is_an_error() {
        assert!(kubelet_config("cgroupDriver: [").is_err());
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,200}") {
            let _ = kubelet_config(&text);
            let _ = crictl_endpoint(&text);
            let _ = kubelet_args_file(&text, "/var/snap/microk8s/1/args/kubelet");
            let _ = kubelet_flags(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        }
    }
}
