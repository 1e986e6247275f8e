//! A volume without a known holder, and a socket that may be bound in it: its name is relative, leads through links, or is not
//! visible.

use findings::Evidence;

use super::prelude::*;

/// More are not named beside another cause.
const MAX_EVIDENCE: usize = 3;

/// Who has such a socket. None is to be ended: anybody may bind any name.
pub fn find(view: &PodView, mount: &Mount, head: &[Link]) -> Option<Finding> {
    together(view, mount, sockets(view, mount), head)
}

/// Who has one whose name leads into the volume by now.
pub fn find_linked(view: &PodView, mount: &Mount, head: &[Link]) -> Option<Finding> {
    together(view, mount, sockets(view, mount).filter(|socket| socket.leads_to.is_some()), head)
}

fn sockets<'a>(view: &PodView<'a>, mount: &Mount) -> impl Iterator<Item = &'a SocketCandidate> {
    view.holders(&mount.mount_point).into_iter().flat_map(|search| &search.socket_candidates)
}

fn together<'a>(
    view: &PodView,
    mount: &Mount,
    sockets: impl Iterator<Item = &'a SocketCandidate>,
    head: &[Link],
) -> Option<Finding> {
    let sockets: Vec<_> = sockets.collect();
    Finding::together(sockets.iter().map(|socket| finding(view, mount, socket, sockets.len(), head)).collect())
}

/// Names them beside another cause, which may be an effect of such a socket: a driver whose `umount` says busy.
pub fn add_evidence(view: &PodView, mount: &Mount, mut finding: Finding) -> Finding {
    finding.evidence.extend(sockets(view, mount).take(MAX_EVIDENCE).map(|socket| {
        let comm = findings::clean(&socket.comm, 32);
        Evidence::new(source(socket), format!("{comm} has {}: {}", shown(socket), where_to(socket)))
    }));
    finding
}

/// `a socket bound to run/s`
fn shown(socket: &SocketCandidate) -> String {
    match &socket.name {
        Some(name) => {
            format!("a socket bound to {}", findings::clean(&String::from_utf8_lossy(name.as_bytes()), 108))
        }
        None => "a socket of a network namespace without a process".to_owned(),
    }
}

fn where_to(socket: &SocketCandidate) -> String {
    match (&socket.leads_to, &socket.name) {
        (Some(path), _) => format!("a link leads to {}", path.show()),
        (None, Some(_)) => "in which directory is unknown".to_owned(),
        (None, None) => "what it is bound to is not searched".to_owned(),
    }
}

fn source(socket: &SocketCandidate) -> String {
    match socket.left_network {
        true => format!("/proc/{}/fdinfo/{}", socket.pid, socket.fd),
        false => format!("/proc/{}/net/unix", socket.pid),
    }
}

/// Whether one may hold a volume beside whatever was found.
pub fn may_hold(seen: &Observation) -> bool {
    seen.holders.iter().any(|search| !search.socket_candidates.is_empty())
}

fn finding(view: &PodView, mount: &Mount, socket: &SocketCandidate, count: usize, head: &[Link]) -> Finding {
    let one_of = if count > 1 { format!("perhaps, one of these {count}: ") } else { "perhaps: ".to_owned() };
    let unknown = match (&socket.leads_to, &socket.name) {
        (Some(_), _) => "whether the link led there when the socket was bound",
        (None, Some(name)) if name.as_bytes().starts_with(b"/") => {
            "in which directory the socket was bound: that of its name is gone, or is not looked into"
        }
        (None, Some(_)) => "in which directory the socket was bound: its name is relative",
        (None, None) => "whether the socket is bound: only processes in its network namespace can list it",
    };
    let through = if socket.leads_to.is_some() { ", through a link into the volume" } else { "" };
    pod_finding(view, &cause::VOLUME_HELD_BY_SOCKET, VOLUMES, head)
        .probable(unknown)
        .link(describe::mount(mount), "mounted, and no process is seen to hold it")
        .blame(
            describe::pid(socket.pid, &socket.comm, socket.state),
            format!(
                "{one_of}has {}{through} (descriptor {}); {}",
                shown(socket),
                socket.fd,
                describe::owner(&socket.owner)
            ),
        )
        .evidence(source(socket), format!("{}: {}", shown(socket), where_to(socket)))
        .name_if(Placeholder::Pid, (!socket.left_network).then(|| socket.id()))
        .name(Placeholder::Comm, &socket.comm)
        .name_if(Placeholder::Path, mount.mount_point.as_str())
        .root(format!("{}:{}", socket.pid, socket.start_ticks))
        .finish()
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    fn socket(pid: u32) -> SocketCandidate {
        let (comm, name, owner) = ("agentd".into(), Some("run/s".into()), Owner::Host);
        let (leads_to, left_network) = (None, false);
        SocketCandidate { pid, start_ticks: 1, comm, state: 'S', fd: 4, name, left_network, leads_to, owner }
    }

    /// Whatever the driver says of its volume is an effect of it.
    #[test]
    fn a_socket_whose_name_leads_into_the_volume_comes_before_what_is_known() {
        let mut seen = sample::mounted("ext4");
        let volume = seen.holders[0].mount_point.join("s");
        let linked = SocketCandidate { name: Some("/run/agentd/s".into()), leads_to: Some(volume), ..socket(700) };
        seen.holders[0].socket_candidates = vec![socket(701), linked];
        assert_eq!(causes(&seen), ["VolumeHeldBySocket"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.confidence, Confidence::Probable);
        assert_eq!(finding.roots().count(), 1);
        assert!(finding.missing.iter().any(|missing| missing.contains("whether the link led there")), "{finding:?}");
        assert!(
            finding.evidence.iter().any(|one| one.says.contains("/run/agentd/s: a link leads to /")),
            "{finding:?}"
        );
        let steps = finding.remedy.steps.iter();
        assert!(steps.filter_map(|step| step.command.as_deref()).all(|command| !command.contains("kill")));
    }

    #[test]
    fn a_socket_with_a_relative_name_is_a_candidate_and_nobody_is_killed_for_it() {
        let mut seen = sample::mounted("ext4");
        volume(&mut seen).vol_data = VolData::NotCsi;
        seen.holders[0].socket_candidates = vec![socket(700), socket(701)];
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

    /// Postfix binds such names on the host, where each volume of the node is in sight.
    #[test]
    fn a_socket_of_the_host_hides_no_cause_that_is_known() {
        let mut seen = sample::mounted("ext4");
        seen.holders[0].socket_candidates = vec![socket(700)];
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.confidence, Confidence::Probable);
        let named = finding.evidence.iter().find(|one| one.source == "/proc/700/net/unix");
        assert!(named.is_some_and(|one| one.says.contains("bound to run/s")), "{:?}", finding.evidence);
        seen.in_flight = vec![sample::in_flight()];
        assert_eq!(causes(&seen), ["VolumeHeldInFlight"]);
    }

    /// `ss` in the network namespace of its process does not show it.
    #[test]
    fn a_socket_that_no_process_can_list_is_named_and_not_searched() {
        let mut seen = sample::mounted("ext4");
        volume(&mut seen).vol_data = VolData::NotCsi;
        seen.holders[0].socket_candidates = vec![SocketCandidate { name: None, left_network: true, ..socket(700) }];
        assert_eq!(causes(&seen), ["VolumeHeldBySocket"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        let root = finding.roots().next().unwrap();
        assert!(root.subject.contains("pid 700"), "{root:?}");
        assert!(root.state.contains("a socket of a network namespace without a process (descriptor 4)"), "{root:?}");
        assert!(finding.evidence.iter().any(|one| one.says.contains("is not searched")), "{:?}", finding.evidence);
        let commands: Vec<&str> = finding.remedy.steps.iter().filter_map(|step| step.command.as_deref()).collect();
        assert!(commands.iter().all(|command| !command.contains("nsenter")), "{commands:?}");
    }

    #[test]
    fn beside_another_holder_nothing_is_called_enough() {
        let mut seen = sample::mounted("ext4");
        seen.holders[0].holders.push(sample::holder());
        let enough = |seen: &Observation| judge(seen).pods[0].findings[0].must_end_too.clone();
        assert_eq!(enough(&seen), Some(Vec::new()));
        seen.holders[0].socket_candidates = vec![socket(701)];
        assert_eq!(causes(&seen), ["VolumeHeldByProcess"]);
        assert_eq!(enough(&seen), None);
    }
}
