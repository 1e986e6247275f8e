//! What the values of placeholders look like.

use std::fmt;

use crate::{PodUid, clean, finalizer_patch};

/// `PID_MAX_LIMIT` of the kernel.
const MAX_PID: u32 = 1 << 22;
/// `PATH_MAX` of the kernel, with its NUL.
const MAX_PATH: usize = 4095;
/// A `vol_data.json` has a few hundred bytes.
const MAX_JSON: usize = 2048;
/// More of a text is not shown.
pub(super) const MAX_TEXT: usize = 200;
/// In the `PATH`, and where RKE2 has it, which puts it into no user's `PATH` (docs.rke2.io/reference/logging).
const CRICTL: [&str; 2] = ["crictl", "/var/lib/rancher/rke2/bin/crictl"];

/// What the values of a placeholder look like. None begins with `-`, `\` or `!`, and none has a second
/// line; a [`Shape::Text`] may begin with any of them, as names of processes do, and stands in no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Decimal, above 1: no step signals init, a group or every process.
    Pid,
    /// Such a pid, and when the process started ([`ProcessId`]). The pid alone may be read, never signalled.
    Process,
    /// Decimal; init's mount namespace may be entered.
    EnteredPid,
    /// Decimal.
    Number,
    /// Absolute and normal.
    Path,
    /// A path below the cgroup tree's root.
    CgroupDir,
    /// `cgroup.freeze` below the cgroup tree's root.
    CgroupFreeze,
    /// `freezer.state` below the cgroup tree's root.
    FreezerState,
    /// A file called `vol_data.json`.
    VolData,
    /// A directory right below one called `plugins`.
    PluginDir,
    /// A file whose name ends with `.log`.
    LogFile,
    /// `unix://` and the path of a socket.
    CriEndpoint,
    /// One of the few names by which crictl is run: a free choice would run any program.
    Crictl,
    /// A path below `/dev`.
    Device,
    /// A name that device-mapper takes.
    Map,
    /// A name that systemd takes.
    Unit,
    /// An id that a runtime of CRI gives.
    RuntimeId,
    Uid,
    /// A CSI driver's name.
    Driver,
    /// A label of DNS.
    Namespace,
    /// A subdomain of DNS.
    Node,
    /// A name that some kind of the API takes: RBAC's have colons.
    ApiName,
    /// `NAMESPACE/NAME:TAG`, with a registry before it.
    Image,
    /// `NAME`, `NAMESPACE/NAME` or a uid.
    Pod,
    /// Letters, digits, dots and dashes.
    Type,
    /// A name with the domain of its owner before a slash, or without.
    QualifiedName,
    /// Such a name, an equals sign and a word.
    Annotation,
    /// Two names with a slash between.
    TypedName,
    /// An object of JSON.
    Json,
    /// A JSON patch that takes one finalizer off.
    FinalizerPatch,
    /// One that takes one entry of a namespace's `spec.finalizers` off.
    SpecFinalizerPatch,
    /// An address and a prefix length.
    Cidr,
    /// Any line, for sentences.
    Text,
}

/// A process for good: a pid is given to another one when it has ended, but never with the same start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessId {
    pub pid: u32,
    /// Clock ticks after boot, field 22 of its `stat`; 0 of one that gave no answer.
    pub start_ticks: u64,
}

impl ProcessId {
    /// Whether a command may ask it for its `stat`: of one that gave no answer it would wait as well.
    pub fn may_be_asked(self) -> bool {
        self.start_ticks > 0
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.pid, self.start_ticks)
    }
}

impl Shape {
    pub(super) fn has(self, value: &str) -> bool {
        match self {
            Shape::Pid => decimal(value).is_some_and(|pid| pid > 1 && pid <= MAX_PID),
            Shape::Process => {
                let (pid, start) = value.split_once('@').unwrap_or((value, "0"));
                Shape::Pid.has(pid) && is_ticks(start)
            }
            Shape::EnteredPid => decimal(value).is_some_and(|pid| pid > 0 && pid <= MAX_PID),
            Shape::Number => decimal(value).is_some(),
            Shape::Path => is_path(value),
            Shape::CgroupDir => is_path(value) && value.starts_with("/sys/fs/cgroup/"),
            Shape::CgroupFreeze => Shape::CgroupDir.has(value) && value.ends_with("/cgroup.freeze"),
            Shape::FreezerState => Shape::CgroupDir.has(value) && value.ends_with("/freezer.state"),
            Shape::VolData => is_path(value) && value.ends_with("/vol_data.json"),
            Shape::PluginDir => is_path(value) && value.rsplit('/').nth(1) == Some("plugins"),
            Shape::LogFile => is_path(value) && value.ends_with(".log"),
            Shape::CriEndpoint => value.strip_prefix("unix://").is_some_and(is_path),
            Shape::Crictl => CRICTL.contains(&value),
            Shape::Device => is_path(value) && value.starts_with("/dev/"),
            Shape::Map => is_word(value, 127, "#+-.:=@_"),
            Shape::Unit => is_word(value, 255, ":-_.\\@"),
            Shape::RuntimeId => is_word(value, 128, "-._"),
            Shape::Uid => PodUid::parse(value).is_some(),
            Shape::Driver => is_word(value, 63, "-.") && is_between(value),
            Shape::Namespace => is_dns(value, 63) && !value.contains('.'),
            Shape::Node => is_dns(value, 253),
            Shape::ApiName => is_word(value, 253, "-._:"),
            Shape::Pod => {
                let is_pair = |(namespace, name)| Shape::Namespace.has(namespace) && Shape::Node.has(name);
                value.split_once('/').map_or_else(|| Shape::Node.has(value) || Shape::Uid.has(value), is_pair)
            }
            Shape::Image => is_word(value, 255, "-._/:") && value.contains('/'),
            Shape::Type => is_word(value, 253, "-."),
            Shape::QualifiedName => is_word(value, 317, "-._/"),
            Shape::Annotation => value
                .split_once('=')
                .is_some_and(|(name, value)| Shape::QualifiedName.has(name) && is_word(value, 63, "-")),
            Shape::TypedName => {
                value.split_once('/').is_some_and(|(kind, name)| Shape::Type.has(kind) && Shape::ApiName.has(name))
            }
            Shape::Json => value.len() <= MAX_JSON && value.starts_with('{') && is_json(value),
            Shape::SpecFinalizerPatch => finalizer_patch::is_spec_finalizer_patch(value),
            Shape::FinalizerPatch => finalizer_patch::is_finalizer_patch(value),
            Shape::Cidr => value.split_once('/').is_some_and(|(address, length)| {
                address.parse::<core::net::IpAddr>().is_ok() && decimal(length).is_some_and(|length| length <= 128)
            }),
            Shape::Text => !value.is_empty() && clean(value, MAX_TEXT) == value,
        }
    }
}

/// As the kernel writes a number: no sign, no zeros before it.
fn decimal(value: &str) -> Option<u32> {
    let number: u32 = value.parse().ok()?;
    (number.to_string() == value).then_some(number)
}

/// As the kernel writes it.
fn is_ticks(value: &str) -> bool {
    value.parse().is_ok_and(|ticks: u64| ticks.to_string() == value)
}

fn is_path(value: &str) -> bool {
    let is_normal = |part: &str| !part.is_empty() && part != "." && part != "..";
    value.len() <= MAX_PATH && value.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_normal))
}

/// Letters, digits and these, the first of them a letter or a digit.
fn is_word(value: &str, limit: usize, others: &str) -> bool {
    let is_first = value.starts_with(|c: char| c.is_ascii_alphanumeric());
    is_first && value.len() <= limit && value.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

fn is_between(value: &str) -> bool {
    value.ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// DNS-1123, as the API server checks names.
fn is_dns(value: &str, limit: usize) -> bool {
    let is_label = |label: &str| {
        is_word(label, limit, "-") && is_between(label) && !label.contains(|c: char| c.is_ascii_uppercase())
    };
    value.len() <= limit && value.split('.').all(is_label)
}

fn is_json(value: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(value).is_ok()
}
