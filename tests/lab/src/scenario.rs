//! The ways in which a pod gets stuck.

/// Declares the scenarios of a file: the name on the command line, what is staged, and what stages it.
macro_rules! scenarios {
    ($($name:literal, $about:literal, $stage:expr;)*) => {
        pub const ALL: &[super::Scenario] =
            &[$(super::Scenario { name: $name, about: $about, stage: $stage }),*];
    };
}

mod cgroups;
mod csi;
mod damaged;
mod device;
mod frozen;
mod fuse;
mod holders;
mod leftovers;
mod lifecycle;
pub(crate) mod machine;
mod mapper;
mod namespaces;
mod nested;
mod network;
mod nfs;
mod note;
mod odd;
pub mod pair;
mod pid_namespace;
mod remote;
mod repair;
mod repeated;
mod runtime;
mod sockets;
mod support;
mod swap;
mod xfs;

pub use note::Note;
pub use odd::ALL as ODD;
pub use repair::Repair;
pub use repeated::{REPEATED, Repeated, provide};

pub(crate) use network::provide_network;
pub(crate) use support::shell;

use crate::{Gate, Node, PodRef, cgroup, node};

/// One way to get stuck (or, to be compared with, not to).
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is staged, in one line.
    pub about: &'static str,
    /// Makes it so, and returns only when it is so.
    pub stage: fn(&Node) -> anyhow::Result<Staged>,
}

/// On version 2 SIGKILL reaches a frozen task, so there they do not hold a pod.
const WITH_V1_FREEZER: [&str; 2] = ["frozen-v1", "nested-cgroup"];

impl Scenario {
    /// Why this machine cannot stage it, if it cannot.
    pub fn obstacle(&self) -> Option<&'static str> {
        if self.name.starts_with("vm-") && !has_own_machine() {
            return Some("it needs a machine of its own, since its tasks may never end: `make test-vm`");
        }
        let needs_v1 = WITH_V1_FREEZER.contains(&self.name);
        if needs_v1 && cgroup::is_unified() {
            return Some("it needs the freezer of cgroup v1, and this machine has v2 only");
        }
        if self.name == "registered-file" && !has_io_uring() {
            return Some("io_uring is switched off on this machine, or its kernel is older than 6.6");
        }
        let is_given = self.name == "fuse-without-fusectl" && node::fusectl_is_mounted();
        is_given.then_some("fusectl is mounted on this machine, and the lab does not unmount what is not its own")
    }
}

/// What was staged.
#[derive(Debug)]
pub struct Staged {
    /// The pods it is about.
    pub pods: Vec<PodRef>,
    /// What a right diagnosis says; empty when there is nothing to say.
    pub expect: Vec<Expect>,
    /// What makes it go on.
    pub cure: Cure,
    /// Command lines that the lab knows to be a cure, whatever a diagnosis prints: with them the
    /// lab tests itself.
    pub known_good: Vec<String>,
    /// Whether the pods go away, after the cure or without one.
    pub ends: bool,
}

/// What a right diagnosis says about one pod, or about the node.
#[derive(Clone, Debug)]
pub struct Expect {
    /// The pod; nothing for a finding about the node.
    pub pod_uid: Option<String>,
    /// `Stuck`, `Progressing` or `CannotTell`.
    pub verdict: &'static str,
    /// The gate that is not passed.
    pub gate: Option<&'static str>,
    /// The cause's id.
    pub cause: Option<&'static str>,
    /// Pids, paths, devices and cgroups that the finding must name.
    pub names: Vec<String>,
}

/// What makes the kubelet go on.
#[derive(Clone, Copy, Debug)]
pub enum Cure {
    /// The command lines that the diagnosis prints.
    Printed,
    /// Something that is no command line.
    ByHand(Repair),
    /// Nothing is stuck.
    None,
}

impl Staged {
    /// A pod that is stuck at `gate` because of `cause`.
    pub(crate) fn stuck(pod: PodRef, gate: Gate, cause: &'static str, names: Vec<String>) -> Self {
        let expect = Expect {
            pod_uid: Some(pod.uid.clone()),
            verdict: "Stuck",
            gate: Some(gate.name()),
            cause: Some(cause),
            names,
        };
        Self { pods: vec![pod], expect: vec![expect], cure: Cure::Printed, known_good: Vec::new(), ends: true }
    }

    /// Pods of which nothing is to be said.
    pub(crate) fn fine(pods: Vec<PodRef>) -> Self {
        Self { pods, expect: Vec::new(), cure: Cure::None, known_good: Vec::new(), ends: false }
    }

    /// Something of the node.
    pub(crate) fn node(cause: &'static str, names: Vec<String>) -> Self {
        let expect = Expect { pod_uid: None, verdict: "Stuck", gate: None, cause: Some(cause), names };
        Self { pods: Vec::new(), expect: vec![expect], cure: Cure::Printed, known_good: Vec::new(), ends: true }
    }

    /// Adds a command line that is known to be a cure.
    pub(crate) fn cured_by(mut self, command: impl Into<String>) -> Self {
        self.known_good.push(command.into());
        self
    }

    /// No command line is the cure, but this is.
    pub(crate) fn by_hand(mut self, repair: Repair) -> Self {
        self.cure = Cure::ByHand(repair);
        self
    }
}

/// All scenarios.
pub fn all() -> impl Iterator<Item = &'static Scenario> {
    let files = [
        lifecycle::ALL,
        fuse::ALL,
        pid_namespace::ALL,
        device::ALL,
        runtime::ALL,
        frozen::ALL,
        network::ALL,
        holders::ALL,
        sockets::ALL,
        swap::ALL,
        nested::ALL,
        namespaces::ALL,
        csi::ALL,
        leftovers::ALL,
        damaged::ALL,
        cgroups::ALL,
        nfs::ALL,
        mapper::ALL,
        xfs::ALL,
        remote::ALL,
    ];
    files.into_iter().flatten()
}

/// Whether this is the virtual machine of `make test-vm`, which ends with the tests.
pub fn has_own_machine() -> bool {
    std::env::var_os("WHY_TERMINATING_LAB_VM").is_some()
}

fn has_io_uring() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").is_ok_and(|mode| mode.trim() == "0")
}

/// The scenario of that name.
pub fn find(name: &str) -> Option<&'static Scenario> {
    all().chain(ODD).find(|scenario| scenario.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = all().chain(ODD).map(|scenario| scenario.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().count() + ODD.len());
    }
}
