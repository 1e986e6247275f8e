//! The cause registry: everything the project can diagnose.
//!
//! One entry per cause, in a file of the same name as that of its finder. `docs/causes.md` is generated from here, the remedy
//! a finding prints is a template of its entry with the names filled in, and event reasons, metric
//! labels and runbook links are fields of it.

#[macro_use]
mod entry;
mod checks;
mod circumstance;
mod cluster;
mod node;
mod page;

pub use checks::{Check, checks};
pub use circumstance::{
    Budget, Circle, Circumstance, Circumstances, Cleanup, Controller, Creation, Existence, JobManager, PodState, Reach,
    Unread, Users, Words,
};
pub use cluster::*;
pub use entry::{Advice, Area, Cause, CauseRef, ClusterArea, DO_NOT, Danger, Patience, Proven, UnknownCause, step};
pub use node::*;

/// Every cause, flat: those of the node, then those of the cluster.
pub fn all() -> impl Iterator<Item = &'static Cause> {
    node::ALL.iter().chain(cluster::ALL).flat_map(|area| area.iter().copied())
}

/// The cause with this id.
pub fn find(id: &str) -> Option<&'static Cause> {
    all().find(|cause| cause.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Placeholder;
    use std::collections::HashSet;

    #[test]
    fn ids_are_unique_and_in_camel_case() {
        let mut seen = HashSet::new();
        for cause in all() {
            assert!(seen.insert(cause.id), "{} stands twice", cause.id);
            assert!(
                cause.id.starts_with(|c: char| c.is_ascii_uppercase())
                    && cause.id.chars().all(|c| c.is_ascii_alphanumeric()),
                "{}",
                cause.id
            );
        }
    }

    /// What lives in no namespace is then named without (`Advice::fill`).
    #[test]
    fn an_object_of_any_kind_is_named_with_its_namespace() {
        for cause in all() {
            let commands = cause.safe.iter().flat_map(Advice::commands);
            for command in commands.filter(|command| command.contains("{type} {name}")) {
                let is_named = command.contains("{type} {name} -n {namespace}") || command.contains(" -n {namespace} ");
                assert!(is_named, "{}: {command}", cause.id);
            }
        }
    }

    #[test]
    fn every_text_ends_as_its_kind_does() {
        for cause in all() {
            let Cause { id, title, meaning, proof, danger, event_reason, .. } = cause;
            assert!(!title.ends_with('.') && title.len() > 8, "{id}: title");
            assert!(meaning.ends_with('.'), "{id}: meaning");
            assert!(proof.ends_with('.'), "{id}: proof");
            let forbidden = danger.action.strip_prefix(DO_NOT).unwrap_or_default();
            assert!(forbidden.starts_with(|c: char| c.is_ascii_lowercase()), "{id}: {}", danger.action);
            assert!(danger.breaks.ends_with('.'), "{id}: danger");
            assert!(event_reason.len() <= 128, "{id}: event reason");
        }
    }

    #[test]
    fn every_placeholder_is_closed() {
        for cause in all() {
            for advice in cause.safe {
                let template = advice.command.unwrap_or_default();
                assert_eq!(template.matches('{').count(), template.matches('}').count(), "{}: {template}", cause.id);
            }
        }
    }

    #[test]
    fn nobody_is_told_to_remove_recursively() {
        for cause in all() {
            for advice in cause.safe {
                let command = advice.command.unwrap_or_default();
                assert!(!command.contains("rm -r") && !command.contains("--force"), "{}: {command}", cause.id);
            }
        }
    }

    /// The screen names the node before such a command, and before no other.
    #[test]
    fn what_runs_on_the_node_says_so() {
        let is_agents = |command: &str| command.split_whitespace().any(|word| word == "why-terminating-agent");
        for cause in all().filter(|cause| matches!(cause.area, Area::Cluster(_))) {
            for advice in cause.safe {
                let is_there = advice.command.is_some_and(|command| {
                    is_agents(command) || cause.node_is_lost && command.starts_with("journalctl ")
                });
                assert_eq!(advice.on_the_node, is_there, "{}: {:?}", cause.id, advice.command);
            }
        }
    }

    /// What takes a finalizer off is the last resort, and says so before all else; but where the object shows that nothing
    /// is left to clean up.
    #[test]
    fn a_finalizer_is_taken_off_last() {
        let nothing = Circumstance::Cleanup(Cleanup::Nothing);
        for cause in all() {
            let removes =
                |advice: &Advice| advice.placeholders().any(|one| one == Placeholder::FinalizerPatch.as_str());
            let is_last_resort = |advice: &Advice| removes(advice) && !advice.when.contains(&nothing);
            let first = cause.safe.iter().position(is_last_resort).unwrap_or(cause.safe.len());
            assert!(cause.safe.iter().skip(first).all(is_last_resort), "{}: something comes after it", cause.id);
            for advice in cause.safe.iter().skip(first) {
                assert!(advice.text.starts_with(crate::finding::LAST_RESORT), "{}: {}", cause.id, advice.text);
            }
        }
    }

    /// Where a stopped controller is started, its deletion continues.
    #[test]
    fn a_note_stands_where_a_controller_is_started_again() {
        let starts =
            |advice: &Advice| advice.command.is_some_and(|one| one.contains("scale ") || one.contains("rollout"));
        let of_finalizers = |cause: &&&Cause| matches!(cause.area, Area::Cluster(ClusterArea::Finalizer));
        for cause in cluster::ALL.iter().flat_map(|area| area.iter()).filter(of_finalizers) {
            assert!(
                !cause.safe.iter().any(starts) || !cause.note.is_empty(),
                "{}: what follows is not noted",
                cause.id
            );
        }
    }

    /// What a tenant has put into its own file system is never run, least of all by root: each command is one
    /// of these programs, found in the `PATH` of who types it, and none enters anywhere to run another.
    #[test]
    fn no_command_runs_a_program_of_a_tenant() {
        const PROGRAMS: &str = "cat chattr {crictl} dmesg dmsetup dumpe2fs echo etcdctl find findmnt fsfreeze grep journalctl kill kubectl losetup \
            ls lsattr lsblk mdadm mkdir mktemp mount multipath multipathd mv nsenter printf readlink rmdir ss swapoff sysctl systemctl systemd-cgls tail test umount \
            why-terminating-agent xargs";
        const ENTERS: [&str; 4] = ["exec", "debug", "attach", "run"];
        let is_known = |program: &str| PROGRAMS.split_whitespace().any(|known| known == program);
        for cause in all() {
            let commands = cause.safe.iter().flat_map(Advice::commands).map(str::to_owned);
            for command in commands.chain(cause.safe.iter().filter_map(Advice::entered_command)) {
                for part in command.split(['|', ';', '&', '`']).flat_map(|part| part.split("$(")) {
                    let mut words = part.split_whitespace();
                    let Some(program) = words.next() else { continue };
                    assert!(is_known(program), "{}: {command} runs {program}", cause.id);
                    // The agent's own program, in an image that the release names.
                    let is_agents = part.contains(" --image={agent_image} -- /why-terminating-agent check");
                    assert!(
                        is_agents || !words.any(|word| ENTERS.contains(&word)),
                        "{}: {command} runs another",
                        cause.id
                    );
                }
                assert!(!command.contains("/root/"), "{}: {command}", cause.id);
            }
        }
    }
}
