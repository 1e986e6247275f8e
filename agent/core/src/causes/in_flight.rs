//! A volume that nobody holds, and descriptors that are on their way between processes: one of them may hold it.

use findings::{Finding, Link, Placeholder, cause};

use super::{
    finding_builder::{VOLUMES, of_pod},
    kill, words,
};
use crate::{
    observation::{Mount, Question},
    view::PodView,
};

/// Who was sent descriptors and has not received them. Only when nobody else holds the mount.
pub fn find(view: &PodView, mount: &Mount, head: &[Link]) -> Option<Finding> {
    view.seen.is_settled(Question::InFlight);
    let each = view.seen.in_flight.iter().map(|owner| {
        let id = findings::ProcessId { pid: owner.pid, start_ticks: owner.start_ticks };
        let sent = words::count(owner.count as usize, "descriptor", "descriptors");
        of_pod(view, &cause::VOLUME_HELD_IN_FLIGHT, VOLUMES, head)
            // Which files they are, nobody tells.
            .probable("which files the descriptors on their way are")
            .link(words::mount(mount), "mounted, and no process holds it")
            .blame(
                words::pid(owner.pid, &owner.comm, owner.state),
                format!(
                    "{sent} sent to its socket (descriptor {}) and not received; {}",
                    owner.fd,
                    words::owner(&owner.owner)
                ),
            )
            .evidence(format!("/proc/{}/fdinfo/{}", owner.pid, owner.fd), format!("scm_fds: {}", owner.count))
            .name_if(Placeholder::Pid, kill::may_be_killed(view, id, &owner.comm))
            .name(Placeholder::Comm, &owner.comm)
            .name_if(Placeholder::Owner, words::stoppable_owner(&owner.owner))
            .root(format!("{}:{}", owner.pid, owner.start_ticks))
            .finish()
    });
    Finding::together(each.collect())
}

#[cfg(test)]
mod tests {
    use findings::Confidence;

    use crate::{
        gates::judge,
        observation::{
            sample::{self, causes},
            *,
        },
    };

    #[test]
    fn the_owner_of_the_socket_is_named_before_nobody_is() {
        let mut seen = sample::mounted("ext4");
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
        seen.in_flight = vec![InFlight {
            pid: 700,
            start_ticks: 1,
            comm: "broker".into(),
            state: 'S',
            fd: 4,
            count: 1,
            owner: Owner::Host,
        }];
        assert_eq!(causes(&seen), ["VolumeHeldInFlight"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.confidence, Confidence::Probable);
        assert!(finding.roots().next().unwrap().subject.contains("pid 700 broker"), "{finding:?}");
        seen.holders[0].holders.push(Holder { pid: 701, comm: "du".into(), ..sample::holder() });
        assert_eq!(causes(&seen), ["VolumeHeldByProcess"], "a holder that is known explains it");
    }
}
