//! A volume without a known holder, and a socket that may be bound in it: its name is relative, and to what is unknown.

use findings::{Finding, Link, Placeholder, ProcessId, cause};

use super::{
    describe,
    finding_builder::{VOLUMES, pod_finding},
};
use crate::{
    observation::{Mount, Observation, RelativeSocket},
    view::PodView,
};

/// Who has such a socket. None is to be ended: anybody may bind any name.
pub fn find(view: &PodView, mount: &Mount, head: &[Link]) -> Option<Finding> {
    let sockets = &view.holders(&mount.mount_point)?.relative_sockets;
    Finding::together(sockets.iter().map(|socket| finding(view, mount, socket, sockets.len(), head)).collect())
}

/// Whether one may hold a volume beside whatever was found.
pub fn may_hold(seen: &Observation) -> bool {
    seen.holders.iter().any(|search| !search.relative_sockets.is_empty())
}

fn finding(view: &PodView, mount: &Mount, socket: &RelativeSocket, count: usize, head: &[Link]) -> Finding {
    let one_of = if count > 1 { format!("perhaps, one of these {count}: ") } else { "perhaps: ".to_owned() };
    let id = ProcessId { pid: socket.pid, start_ticks: socket.start_ticks };
    let name = findings::clean(&String::from_utf8_lossy(socket.name.as_bytes()), 108);
    pod_finding(view, &cause::VOLUME_HELD_BY_SOCKET, VOLUMES, head)
        .probable("in which directory the socket was bound: its name is relative")
        .link(describe::mount(mount), "mounted, and no process is seen to hold it")
        .blame(
            describe::pid(socket.pid, &socket.comm, socket.state),
            format!(
                "{one_of}has a socket bound to {name} (descriptor {}); {}",
                socket.fd,
                describe::owner(&socket.owner)
            ),
        )
        .evidence(format!("/proc/{}/net/unix", socket.pid), name)
        .name(Placeholder::Pid, id)
        .name(Placeholder::Comm, &socket.comm)
        .name_if(Placeholder::Path, mount.mount_point.as_str())
        .root(format!("{}:{}", socket.pid, socket.start_ticks))
        .finish()
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    fn socket(pid: u32) -> RelativeSocket {
        let name = HostPath::from("run/s");
        RelativeSocket { pid, start_ticks: 1, comm: "agentd".into(), state: 'S', fd: 4, name, owner: Owner::Host }
    }

    #[test]
    fn a_socket_with_a_relative_name_is_a_candidate_and_nobody_is_killed_for_it() {
        let mut seen = sample::mounted("ext4");
        seen.holders[0].relative_sockets = vec![socket(700), socket(701)];
        // Somebody who has nothing to do with it.
        seen.in_flight = vec![sample::in_flight()];
        assert_eq!(causes(&seen), ["VolumeHeldBySocket"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.confidence, Confidence::Probable);
        assert!(
            finding.roots().all(|root| root.state.starts_with("perhaps, one of these 2: has a socket bound to run/s"))
        );
        let commands: Vec<&str> = finding.remedy.steps.iter().filter_map(|step| step.command.as_deref()).collect();
        assert!(commands.contains(&"nsenter -t 700 -n ss -xlpe") && commands.contains(&"nsenter -t 701 -n ss -xlpe"));
        assert!(commands.iter().all(|command| !command.contains("kill")), "{commands:?}");
    }

    #[test]
    fn beside_another_holder_nothing_is_called_enough() {
        let mut seen = sample::mounted("ext4");
        seen.holders[0].holders.push(sample::holder());
        let enough = |seen: &Observation| judge(seen).pods[0].findings[0].must_end_too.clone();
        assert_eq!(enough(&seen), Some(Vec::new()));
        seen.holders[0].relative_sockets = vec![socket(701)];
        assert_eq!(causes(&seen), ["VolumeHeldByProcess"]);
        assert_eq!(enough(&seen), None);
    }
}
