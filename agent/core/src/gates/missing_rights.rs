//! Rights that the agent lacks: each is reported once, with the checks it takes away and how to grant it.

use findings::{FaultKind, Unknown};

use crate::observation::{Fault, Observation, Rights, Source, Thread};

/// What is not granted.
pub struct Lacking {
    /// One entry for each right.
    pub unknown: Vec<Unknown>,
    /// Nothing of the host is seen.
    pub blind: bool,
}

/// Compares what is granted with what the checks need. Kernel stacks are among it only where the
/// kernel says nowhere else what a task waits for.
pub fn lacking(seen: &Observation) -> Lacking {
    let Some(rights) = seen.rights.get() else { return Lacking { unknown: Vec::new(), blind: false } };
    if !rights.host_pids {
        let entry = unknown(
            "hostPID",
            "/proc shows other processes than the host's; set hostPID: true in the pod",
            "everything on this node",
        );
        return Lacking { unknown: vec![entry], blind: true };
    }
    let user = (!rights.root).then(|| {
        unknown(
            "root",
            "the agent is not root, who owns the sockets; set runAsUser: 0",
            "what the container runtime and the CSI drivers say",
        )
    });
    Lacking {
        unknown: into_processes(rights)
            .into_iter()
            .chain(other_users(rights))
            .chain(into_stacks(seen, rights))
            .chain(user)
            .collect(),
        blind: false,
    }
}

fn into_processes(rights: &Rights) -> Option<Unknown> {
    if rights.sees_into_processes() {
        return None;
    }
    let why = if rights.sys_ptrace {
        "the agent has it, but a security module forbids to look into the kubelet; give the container \
         appArmorProfile type Unconfined or seLinuxOptions type spc_t"
    } else {
        "the agent lacks it; add SYS_PTRACE to the container's capabilities"
    };
    let hides = "the host's files (pod directories, cgroups, the runtime's socket) and, of every process, what it \
                 waits for, its working directory, its mappings and its mount namespace";
    Some(unknown("CAP_SYS_PTRACE", why, hides))
}

fn other_users(rights: &Rights) -> Option<Unknown> {
    (!rights.dac_read_search).then(|| {
        unknown(
            "CAP_DAC_READ_SEARCH",
            "the agent lacks it; add DAC_READ_SEARCH to the container's capabilities",
            "the open files and the system calls of processes of other users than root, and so who holds a volume or \
             serves a FUSE file system",
        )
    })
}

fn into_stacks(seen: &Observation, rights: &Rights) -> Option<Unknown> {
    let is_untold = seen.processes.iter().flat_map(|process| &process.threads).any(Thread::is_untold);
    (is_untold && !rights.sys_admin && rights.sees_into_processes()).then(|| {
        unknown(
            "CAP_SYS_ADMIN",
            "this kernel (x86 before 5.16) shows only in a task's stack what it waits for, which the agent cannot read; \
             run why-terminating-agent check on the node as root, or add SYS_ADMIN to the container's capabilities",
            "what tasks wait for: a FUSE or NFS server, a process in the same pid namespace, a device",
        )
    })
}

fn unknown(source: &str, why: &str, hides: &str) -> Unknown {
    Unknown { source: source.to_owned(), kind: None, why: why.to_owned(), hides: hides.to_owned() }
}

impl Lacking {
    /// Whether a failure only repeats, of one file, what is reported here.
    pub fn explains(&self, fault: &Fault) -> bool {
        let is_denied = fault.kind == FaultKind::Denied;
        !self.unknown.is_empty() && fault.source != Source::ApiServer && (is_denied || self.blind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_prelude::*;

    const ALL: Rights = Rights {
        root: true,
        sys_ptrace: true,
        dac_read_search: true,
        sys_admin: false,
        host_pids: true,
        sees_kubelet: Some(true),
    };

    fn sources(rights: Rights) -> Vec<String> {
        let mut seen = sample::node();
        seen.rights = Seen::Seen(rights);
        seen.faults = vec![Fault::new("/proc/1/ns/mnt", (FaultKind::Denied, "x")); 50];
        seen.faults.push(Fault::new("/proc/7/mountinfo", (FaultKind::TooLarge, "x")));
        let faults = seen.faults.len();
        let unknown = judge(&seen).unknown;
        assert!(unknown.len() < faults || rights == ALL, "the failures are not folded");
        unknown.into_iter().map(|unknown| unknown.source).filter(|source| !source.starts_with("/proc/1/")).collect()
    }

    #[test]
    fn each_missing_right_is_told_once() {
        let other = "/proc/7/mountinfo";
        assert_eq!(sources(ALL), [other]);
        assert_eq!(sources(Rights { dac_read_search: false, ..ALL }), ["CAP_DAC_READ_SEARCH", other]);
        let blind = Rights { sys_ptrace: false, sees_kubelet: Some(false), ..ALL };
        assert_eq!(sources(blind), ["CAP_SYS_PTRACE", other]);
        assert_eq!(
            sources(Rights { dac_read_search: false, ..blind }),
            ["CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", other]
        );
        assert_eq!(sources(Rights { root: false, ..ALL }), ["root", other]);
        assert_eq!(sources(Rights { host_pids: false, ..blind }), ["hostPID"]);
    }

    /// Its own pid namespace shows it as root with all capabilities, and nothing of the node.
    #[test]
    fn without_the_pids_of_the_host_nothing_else_counts() {
        let mut seen = sample::mounted("ext4");
        seen.rights = Seen::Seen(Rights { host_pids: false, ..ALL });
        let kinds = [FaultKind::Denied, FaultKind::TimedOut];
        seen.faults = kinds.map(|kind| Fault::new("/proc/1/root/var/lib/kubelet", (kind, "x"))).to_vec();
        seen.faults.push(Fault::new(Source::ApiServer, (FaultKind::TimedOut, "x")));
        let unknown = judge(&seen).unknown;
        let hidden: Vec<(&str, &str)> = unknown.iter().map(|one| (one.source.as_str(), one.hides.as_str())).collect();
        assert_eq!(hidden[0], ("hostPID", "everything on this node"));
        assert!(unknown[0].why.contains("set hostPID: true"), "{unknown:?}");
        assert_eq!(hidden.len(), 2, "what the API server does not show has another reason: {hidden:?}");
        assert!(lacking(&seen).blind && !lacking(&Observation { rights: Seen::Seen(ALL), ..seen }).blind);
    }

    /// Linux 5.10 says 0 as wchan of every task.
    #[test]
    fn stacks_are_missed_where_only_they_tell() {
        let mut seen = sample::node();
        let mut process = sample::process(50, "cat", 'D', 1);
        process.threads[0].stack = Seen::failed("/proc/50/task/50/stack", (FaultKind::Denied, "x"));
        seen.processes.push(process);
        let sources = |rights| {
            let seen = Observation { rights: Seen::Seen(rights), ..seen.clone() };
            lacking(&seen).unknown.into_iter().map(|unknown| unknown.source).collect::<Vec<_>>()
        };
        assert_eq!(sources(ALL), ["CAP_SYS_ADMIN"]);
        assert!(sources(Rights { sys_admin: true, ..ALL }).is_empty());
        seen.processes.last_mut().unwrap().threads[0].wchan = Seen::Seen("request_wait_answer".into());
        let newer = Observation { rights: Seen::Seen(ALL), ..seen };
        assert!(lacking(&newer).unknown.is_empty());
    }

    #[test]
    fn a_security_module_is_told_from_a_missing_capability() {
        let mut seen = sample::node();
        seen.rights = Seen::Seen(Rights { sees_kubelet: Some(false), ..ALL });
        assert!(judge(&seen).unknown[0].why.contains("appArmorProfile"));
    }

    /// Observations that were saved before rights were recorded.
    #[test]
    fn an_older_observation_lacks_nothing() {
        let seen = sample::node();
        let mut json = serde_json::to_value(&seen).unwrap();
        json.as_object_mut().unwrap().remove("rights");
        assert_eq!(serde_json::from_value::<Observation>(json).unwrap(), seen);
        assert!(lacking(&seen).unknown.is_empty());
    }
}
