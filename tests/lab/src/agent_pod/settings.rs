//! From a pod's spec to what a kubelet asks of the runtime.

use anyhow::Context as _;
use k8s_openapi::api::core::v1::{Container, EnvVar, PodSpec, SecurityContext, VolumeMount};

use crate::cri_write::{self, NamespaceMode, ProfileType};
use crate::node::NODE_NAME;

/// The paths a kubelet has the runtime hide from a container (`pkg/securitycontext`).
const MASKED: [&str; 10] = [
    "/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
    "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware",
];
/// The paths that a container may only read.
const READ_ONLY: [&str; 5] = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];
/// What a kubelet gives a pod of priority system-node-critical (`pkg/kubelet/qos`).
const CRITICAL: i64 = -997;
/// The port of the API server inside the pod's network.
pub const API_PORT: u16 = 6443;

/// How the agent's container runs.
#[derive(Clone, Debug)]
pub struct Settings {
    host_pid: bool,
    pod_seccomp: Option<cri_write::SecurityProfile>,
    security: cri_write::LinuxContainerSecurityContext,
    resources: cri_write::LinuxContainerResources,
    args: Vec<String>,
    env: Vec<cri_write::KeyValue>,
    volumes: Vec<Volume>,
}

/// A volume, and where it is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Volume {
    pub kind: VolumeKind,
    pub path: String,
    pub readonly: bool,
}

/// The kinds of volumes that the lab plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum VolumeKind {
    /// The service account's files.
    ServiceAccount,
    /// A directory of the pod's own.
    EmptyDir(String),
}

impl Settings {
    /// Takes them from the pod's spec, and refuses what is not known here.
    pub(super) fn new(pod: &PodSpec, container: &Container) -> anyhow::Result<Self> {
        let foreign = pod.automount_service_account_token != Some(false)
            || container.command.is_some()
            || container.env_from.is_some()
            || pod.host_network.is_some()
            || pod.host_ipc.is_some()
            || pod.host_users.is_some()
            || pod.share_process_namespace.is_some();
        anyhow::ensure!(!foreign, "the pod has a token of its own, a command or namespaces that the lab does not play");
        let of_pod = pod.security_context.as_ref().and_then(|security| security.seccomp_profile.as_ref());
        let pod_seccomp = of_pod.map(|profile| self::profile(&profile.type_)).transpose()?;
        let security = container.security_context.clone().context("the container has no security context")?;
        let critical = pod.priority_class_name.as_deref() == Some("system-node-critical");
        Ok(Self {
            host_pid: pod.host_pid == Some(true),
            security: self::security(security, pod_seccomp)?,
            pod_seccomp,
            resources: resources(container, critical)?,
            args: container.args.clone().unwrap_or_default(),
            env: environment(container.env.as_deref().unwrap_or_default())?,
            volumes: volumes(pod, container)?,
        })
    }

    /// The same with other added capabilities.
    pub fn with_capabilities(mut self, names: &[&str]) -> Self {
        let drop = vec!["ALL".to_owned()];
        let add = names.iter().map(|&name| name.to_owned()).collect();
        self.security.capabilities = Some(cri_write::Capability { add, drop });
        self
    }

    /// The same with the service account's token and the node's name: one container for both roles.
    pub fn as_one(mut self) -> Self {
        self.env.push(cri_write::KeyValue { key: "NODE_NAME".to_owned(), value: NODE_NAME.to_owned() });
        self.volumes.push(Volume {
            kind: VolumeKind::ServiceAccount,
            path: SERVICE_ACCOUNT.to_owned(),
            readonly: true,
        });
        self
    }

    /// What is mounted in the container.
    pub(super) fn volumes(&self) -> &[Volume] {
        &self.volumes
    }

    /// The same without the host's pid namespace.
    pub fn without_host_pid(mut self) -> Self {
        self.host_pid = false;
        self
    }

    /// The same as another user.
    pub fn with_user(mut self, id: i64) -> Self {
        self.security.run_as_user = Some(cri_write::Int64Value { value: id });
        self
    }

    /// Puts the pod's part into its sandbox.
    pub(super) fn sandbox(&self, mut sandbox: cri_write::PodSandboxConfig) -> cri_write::PodSandboxConfig {
        if let Some(linux) = &mut sandbox.linux {
            linux.security_context = Some(cri_write::LinuxSandboxSecurityContext {
                namespace_options: Some(self.namespaces()),
                seccomp: self.pod_seccomp,
            });
        }
        sandbox
    }

    /// The container's part.
    pub(super) fn container(&self) -> anyhow::Result<cri_write::ContainerConfig> {
        let mut security = self.security.clone();
        security.namespace_options = Some(self.namespaces());
        let linux =
            cri_write::LinuxContainerConfig { resources: Some(self.resources), security_context: Some(security) };
        Ok(cri_write::ContainerConfig {
            args: self.args.clone(),
            envs: self.env.clone(),
            linux: Some(linux),
            ..Default::default()
        })
    }

    fn namespaces(&self) -> cri_write::NamespaceOption {
        let pid = if self.host_pid { NamespaceMode::Node } else { NamespaceMode::Container };
        cri_write::NamespaceOption {
            network: i32::from(NamespaceMode::Pod),
            pid: i32::from(pid),
            ipc: i32::from(NamespaceMode::Pod),
        }
    }
}

/// Where every container finds its service account.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

fn volumes(pod: &PodSpec, container: &Container) -> anyhow::Result<Vec<Volume>> {
    let volume = |mount: &VolumeMount| {
        let source = pod.volumes.iter().flatten().find(|volume| volume.name == mount.name);
        let source = source.with_context(|| format!("there is no volume {}", mount.name))?;
        let kind = match (&source.empty_dir, &source.projected) {
            (Some(_), None) => VolumeKind::EmptyDir(source.name.clone()),
            (None, Some(_)) => VolumeKind::ServiceAccount,
            _ => anyhow::bail!("the lab does not play the volume {}", mount.name),
        };
        Ok(Volume { kind, path: mount.mount_path.clone(), readonly: mount.read_only == Some(true) })
    };
    container.volume_mounts.iter().flatten().map(volume).collect()
}

fn security(
    context: SecurityContext,
    pod_seccomp: Option<cri_write::SecurityProfile>,
) -> anyhow::Result<cri_write::LinuxContainerSecurityContext> {
    // Taken apart, so that a field that is added to the type is thought of here.
    let SecurityContext {
        allow_privilege_escalation,
        app_armor_profile,
        capabilities,
        privileged,
        proc_mount,
        read_only_root_filesystem,
        run_as_group,
        run_as_non_root,
        run_as_user,
        se_linux_options,
        seccomp_profile,
        windows_options: _,
    } = context;
    let is_root = run_as_user.unwrap_or(0) == 0;
    let foreign = privileged.is_some() || proc_mount.is_some() || (run_as_non_root == Some(true) && is_root);
    anyhow::ensure!(!foreign, "the container's security context has fields that the lab does not play");
    let capabilities = capabilities.unwrap_or_default();
    let id = |value: i64| cri_write::Int64Value { value };
    Ok(cri_write::LinuxContainerSecurityContext {
        capabilities: Some(cri_write::Capability {
            add: capabilities.add.unwrap_or_default(),
            drop: capabilities.drop.unwrap_or_default(),
        }),
        namespace_options: None,
        selinux_options: se_linux_options
            .map(|options| cri_write::SeLinuxOption { r#type: options.type_.unwrap_or_default() }),
        run_as_user: run_as_user.map(id),
        run_as_group: run_as_group.map(id),
        readonly_rootfs: read_only_root_filesystem == Some(true),
        no_new_privs: allow_privilege_escalation == Some(false),
        masked_paths: MASKED.map(str::to_owned).to_vec(),
        readonly_paths: READ_ONLY.map(str::to_owned).to_vec(),
        seccomp: seccomp_profile.map(|profile| self::profile(&profile.type_)).transpose()?.or(pod_seccomp),
        apparmor: app_armor_profile.map(|profile| self::profile(&profile.type_)).transpose()?,
    })
}

fn profile(kind: &str) -> anyhow::Result<cri_write::SecurityProfile> {
    let kind = match kind {
        "RuntimeDefault" => ProfileType::RuntimeDefault,
        "Unconfined" => ProfileType::Unconfined,
        other => anyhow::bail!("the lab does not know profiles of type {other}"),
    };
    Ok(cri_write::SecurityProfile { profile_type: i32::from(kind) })
}

fn resources(container: &Container, critical: bool) -> anyhow::Result<cri_write::LinuxContainerResources> {
    let resources = container.resources.clone().unwrap_or_default();
    let limits = resources.limits.unwrap_or_default();
    anyhow::ensure!(!limits.contains_key("cpu"), "the lab does not play limits of cpu");
    let quantity = |of: &std::collections::BTreeMap<String, _>, key: &str, unit: &str, size: i64| {
        let text: Option<&k8s_openapi::apimachinery::pkg::api::resource::Quantity> = of.get(key);
        let number = text.and_then(|text| text.0.strip_suffix(unit)?.parse::<i64>().ok());
        number.map(|number| number * size).with_context(|| format!("no {key} is given in {unit}"))
    };
    let cpu = quantity(&resources.requests.unwrap_or_default(), "cpu", "m", 1)?;
    Ok(cri_write::LinuxContainerResources {
        // As the kubelet's MilliCPUToShares.
        cpu_shares: (cpu * 1024 / 1000).max(2),
        memory_limit_in_bytes: quantity(&limits, "memory", "Mi", 1 << 20)?,
        oom_score_adj: if critical { CRITICAL } else { anyhow::bail!("the lab plays critical pods only") },
    })
}

/// The variables with what the kubelet fills in, and those every pod gets.
fn environment(variables: &[EnvVar]) -> anyhow::Result<Vec<cri_write::KeyValue>> {
    let mut known = vec![
        ("KUBERNETES_SERVICE_HOST".to_owned(), "127.0.0.1".to_owned()),
        ("KUBERNETES_SERVICE_PORT".to_owned(), API_PORT.to_string()),
    ];
    for variable in variables {
        let field = variable.value_from.as_ref().and_then(|from| from.field_ref.as_ref());
        let value = match (&variable.value, field.map(|field| field.field_path.as_str())) {
            (Some(text), None) => {
                known.iter().fold(text.clone(), |text, (name, value)| text.replace(&format!("$({name})"), value))
            }
            (None, Some("spec.nodeName")) => NODE_NAME.to_owned(),
            // The lab's network gives pods no address but their own loopback.
            (None, Some("status.podIP")) => "127.0.0.1".to_owned(),
            _ => anyhow::bail!("the lab does not know where the variable {} comes from", variable.name),
        };
        known.push((variable.name.clone(), value));
    }
    Ok(known.into_iter().map(|(key, value)| cri_write::KeyValue { key, value }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_pod::Deployment;

    #[test]
    fn the_deployment_as_the_runtime_gets_it() {
        let settings = Deployment::read().unwrap().reader().unwrap();
        let config = settings.container().unwrap();
        let linux = config.linux.unwrap();
        let (security, resources) = (linux.security_context.unwrap(), linux.resources.unwrap());
        assert_eq!(security.capabilities.unwrap().add, ["SYS_PTRACE", "DAC_READ_SEARCH"]);
        assert!(security.readonly_rootfs && security.no_new_privs);
        assert_eq!(security.seccomp.unwrap().profile_type(), ProfileType::RuntimeDefault);
        assert_eq!(security.namespace_options.unwrap().pid(), NamespaceMode::Node);
        assert_eq!(resources.memory_limit_in_bytes, 64 << 20);
        let config = Deployment::read().unwrap().talker().unwrap().container().unwrap();
        let security = config.linux.unwrap().security_context.unwrap();
        assert_eq!((security.capabilities.unwrap().add, security.run_as_user.unwrap().value), (vec![], 65532));
        let listen = config.envs.iter().find(|variable| variable.key == "LISTEN").unwrap();
        assert_eq!(listen.value, "127.0.0.1:9753");
    }
}
