//! FUSE servers that do not answer, and mounts whose server is gone.

use std::collections::BTreeSet;

use findings::clean;

use super::blocked_task::{BlockedTask, host_mount, root_of, server_finding};
use super::prelude::*;

/// Where the kernel counts and ends the requests of each connection, once fusectl is mounted.
const FUSECTL: &str = "/sys/fs/fuse/connections";

/// Functions of the kernel's FUSE client in which a task waits for the server.
pub fn is_fuse_function(function: &str) -> bool {
    function == "request_wait_answer" || function.starts_with("fuse_") || function.starts_with("__fuse_")
}

/// A task waits for an answer of one of these mounts' servers.
pub fn not_responding(view: &PodView, waiting: &BlockedTask, mounts: &[&Mount]) -> FindingBuilder {
    let draft = server_finding(view, &cause::FUSE_SERVER_NOT_RESPONDING, waiting);
    match mounts {
        [mount] if let Some(number) = mount.fuse_connection() => describe_connection(view, draft, mount, number),
        [] => draft
            .probable("which FUSE mount the task waits for")
            .blame("a FUSE server", nowhere(view, waiting))
            .root(format!("unknown:{}", waiting.process.pid)),
        several => {
            let of = |mount: &Mount| mount.fuse_connection().and_then(|number| view.fuse(number));
            let one_of =
                |draft: FindingBuilder, mount: &&Mount| draft.link(describe::mount(mount), served_by(of(mount), mount));
            let lacks_fusectl = several.iter().filter_map(|mount| of(mount)).any(FuseConnection::lacks_fusectl);
            several
                .iter()
                .fold(draft.probable("which of these FUSE mounts the task waits for"), one_of)
                .blame("a FUSE server", "one of these does not answer; which one is unknown")
                .name_if(Placeholder::Fusectl, lacks_fusectl.then_some(FUSECTL))
                .root(root_of(several))
        }
    }
}

/// A volume is a FUSE mount whose server has requests waiting.
pub fn silent_volume(view: &PodView, mount: &Mount, head: &[Link], gate: Option<Gate>) -> Option<Finding> {
    let number = mount.fuse_connection()?;
    let connection = view.fuse(number)?;
    let stopped = connection.exact && connection.servers.iter().any(|server| matches!(server.state, 'T' | 't'));
    let silent = probe(view, connection, mount) == Some(FuseProbe::Silent);
    if !stopped && !silent {
        return None;
    }
    let draft = pod_finding(view, &cause::FUSE_SERVER_NOT_RESPONDING, gate, head);
    let draft =
        if silent { draft.evidence(format!("stat {}", mount.mount_point.show()), "no answer in time") } else { draft };
    Some(describe_connection(view, draft, mount, number).finish())
}

/// A volume is a FUSE mount whose server is gone.
pub fn gone(view: &PodView, mount: &Mount, head: &[Link], gate: Option<Gate>) -> Option<Finding> {
    let number = mount.fuse_connection()?;
    let connection = view.fuse(number)?;
    let nobody = connection.exact && connection.servers.is_empty();
    let dead = probe(view, connection, mount) == Some(FuseProbe::Dead);
    if !nobody && !dead {
        return None;
    }
    let proof = if dead { "stat says ENOTCONN" } else { "no process has /dev/fuse open for this connection" };
    // Without the file system's own answer a search that found no server only makes it likely.
    Some(server_gone(view, mount, number, proof, head, gate).probable_unless(dead, NOT_ASKED).finish())
}

/// Nothing else explains the mount, and its server was not found, although not every process could be read.
pub fn not_found(view: &PodView, mount: &Mount, head: &[Link], gate: Option<Gate>) -> Option<Finding> {
    let number = mount.fuse_connection()?;
    let connection = view.fuse(number)?;
    if !connection.servers.is_empty() || connection.probe.get() == Some(&FuseProbe::Answers) {
        return None;
    }
    let proof = "no process that could be looked at has /dev/fuse open for it";
    Some(server_gone(view, mount, number, proof, head, gate).probable(NOT_ASKED).finish())
}

const NOT_ASKED: &str = "the file system's own answer: it was not asked, or did not give one in time";

fn server_gone(
    view: &PodView,
    mount: &Mount,
    number: u32,
    proof: &str,
    head: &[Link],
    gate: Option<Gate>,
) -> FindingBuilder {
    pod_finding(view, &cause::FUSE_SERVER_GONE, gate, head)
        .blame(describe::mount(mount), "its server has died")
        .evidence(format!("FUSE connection {number}"), proof)
        .name(Placeholder::Connection, number)
        .name_if(Placeholder::Mount, mount.mount_point.as_str())
        .mounted(view.seen, Placeholder::Path, &mount.mount_point)
        .root(number)
}

/// How the file system answers. Requests that wait, and a server that cannot be found, prove nothing: a busy
/// file system always has some waiting. Then only the file system itself can say.
fn probe(view: &PodView, connection: &FuseConnection, mount: &Mount) -> Option<FuseProbe> {
    if !connection.exact || connection.servers.is_empty() || connection.waiting.get() != Some(&0) {
        let mount_point = mount.mount_point.clone();
        view.seen.is_settled(Question::FuseAnswer { connection: connection.number, mount_point });
    }
    connection.probe.get().copied()
}

fn describe_connection(view: &PodView, draft: FindingBuilder, mount: &Mount, number: u32) -> FindingBuilder {
    let connection = view.fuse(number);
    // The mount in the kubelet's namespace rather than the container's copy.
    let shown = host_mount(view, mount).unwrap_or(mount);
    let waiting = connection.and_then(|c| c.waiting.get().copied());
    let state = waiting.map_or("its requests could not be counted".to_owned(), |n| {
        format!("{n} {} waiting", if n == 1 { "request" } else { "requests" })
    });
    let draft = draft
        .link(describe::mount(shown).called("fuse "), state)
        .evidence(
            format!("/sys/fs/fuse/connections/{number}/waiting"),
            waiting.map_or("could not be read".to_owned(), |n| n.to_string()),
        )
        .evidence("mountinfo of the kubelet", other_mounts(view, mount))
        .name(Placeholder::Connection, number)
        .name_if(Placeholder::Mount, shown.mount_point.as_str())
        .name_if(Placeholder::Path, shown.mount_point.as_str())
        .root(number)
        .probable_unless(waiting.is_some(), "how many requests wait: fusectl could not be read")
        .name_if(Placeholder::Fusectl, connection.filter(|c| c.lacks_fusectl()).map(|_| FUSECTL));
    match connection.map(|connection| servers(connection, mount)) {
        // That the server of this mount does not answer is known all the same.
        Some(Servers::Likely(server)) => draft
            .blame(
                describe::pid(server.pid, &server.comm, server.state),
                format!("likely its server: {}", server_state(server)),
            )
            .evidence(
                format!("/proc/{}/fd", server.pid),
                "holds /dev/fuse; its connection is not shown, no other process fits",
            )
            .name(Placeholder::Server, &server.comm)
            .name_if(Placeholder::Owner, describe::stoppable_owner(&server.owner)),
        Some(Servers::One(server)) => draft
            .blame(describe::pid(server.pid, &server.comm, server.state), server_state(server))
            .evidence(format!("/proc/{}/fdinfo", server.pid), format!("holds /dev/fuse for connection {number}"))
            // Only a stopped server gets a SIGCONT.
            .name_if(Placeholder::ServerPid, server.id().filter(|_| matches!(server.state, 'T' | 't')))
            .name(Placeholder::Server, &server.comm)
            .name_if(Placeholder::Owner, describe::stoppable_owner(&server.owner)),
        Some(Servers::Several(servers)) => {
            let pids: Vec<String> =
                servers.iter().take(8).map(|s| format!("{} {}", s.pid, clean(&s.comm, 32))).collect();
            draft.blame("FUSE server", format!("one of pid {}; this kernel does not show which", pids.join(", ")))
        }
        _ => draft.blame("FUSE server", "no process was found that serves it"),
    }
}

/// Who else would feel an abort.
fn other_mounts(view: &PodView, mount: &Mount) -> String {
    let same = view.kubelet_mounts().iter().filter(|other| other.dev == mount.dev);
    let same = same.map(|other| &other.mount_point).collect::<BTreeSet<_>>().len();
    format!(
        "{} shows {}, mounted in {}; an abort ends it in all",
        mount.mount_point.show(),
        mount.dev,
        describe::count(same, "place", "places")
    )
}

enum Servers<'a> {
    None,
    One(&'a FuseServer),
    /// The kernel does not show the connection, and no other fits.
    Likely(&'a FuseServer),
    Several(Vec<&'a FuseServer>),
}

/// The server's processes: forked helpers share the descriptor, so the oldest stands for them when the kernel shows the
/// connection.
fn servers<'a>(connection: &'a FuseConnection, mount: &Mount) -> Servers<'a> {
    match connection.servers.as_slice() {
        [] => Servers::None,
        many if connection.exact => many.iter().max_by_key(|server| server.age_ms).map_or(Servers::None, Servers::One),
        [one] => Servers::Likely(one),
        many => {
            // Servers are called as their file system is: s3fs of fuse.s3fs.
            let subtype = mount.fs_type.strip_prefix("fuse.").unwrap_or_default();
            let named: Vec<&FuseServer> = many.iter().filter(|server| server.comm == subtype).collect();
            match named.as_slice() {
                [one] => Servers::Likely(one),
                _ => Servers::Several(many.iter().collect()),
            }
        }
    }
}

/// Said of one of several mounts of which one does not answer.
fn served_by(connection: Option<&FuseConnection>, mount: &Mount) -> String {
    let server = match connection.map(|connection| servers(connection, mount)) {
        Some(Servers::One(server)) => format!(", served by pid {} {}", server.pid, clean(&server.comm, 32)),
        _ => String::new(),
    };
    let number = mount.fuse_connection().unwrap_or_default();
    format!("one of these does not answer: connection {number}{server}")
}

/// Said where none of the mounts that a task can see has a request waiting.
fn nowhere(view: &PodView, waiting: &BlockedTask) -> String {
    let table = view.table(waiting.process, waiting.thread);
    let relative = table.into_iter().flat_map(|table| &table.mounts).find(|mount| mount.layers.has_relative());
    let lower = relative.map_or(String::new(), |mount| {
        format!("; layers of the overlay {} have relative names, which cannot be followed", mount.mount_point.show())
    });
    format!("no mount with waiting requests was found in the task's mount namespace{lower}")
}

fn server_state(server: &FuseServer) -> String {
    let place = match &server.wchan {
        Seen::Seen(wchan) if !wchan.is_empty() => format!(" in {}", clean(wchan, 60)),
        _ => String::new(),
    };
    format!("{}{place}, {}", describe::state_name(server.state), describe::owner(&server.owner))
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn only_the_connection_with_waiting_requests_is_accused() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "request_wait_answer");
        container_table(
            &mut seen,
            vec![mount(9, "0:40", "/mnt/media", "fuse.s3fs"), mount(10, "0:41", "/mnt/other", "fuse.sshfs")],
        );
        seen.fuse = vec![
            fuse_connection(40, 1, vec![fuse_server(4111, 'S')]),
            fuse_connection(41, 0, vec![fuse_server(4112, 'S')]),
        ];
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("FuseServerNotResponding", Confidence::Proven));
        let text = serde_json::to_string(&finding).unwrap();
        assert!(text.contains("4111") && !text.contains("4112"), "{text}");
        assert!(text.contains("/sys/fs/fuse/connections/40/abort"), "{text}");
        assert!(text.contains("/mnt/media shows 0:40, mounted in 0 places; an abort ends it in all"), "{text}");
        let root = |seen: &Observation| judge(seen).pods[0].findings[0].roots().next().unwrap().state.clone();
        assert_eq!(root(&seen), "S (sleeping) in tcp_recvmsg, of the host, in no pod and no unit");
        seen.fuse[0].servers[0].wchan = Seen::Seen(String::new());
        assert_eq!(root(&seen), "S (sleeping), of the host, in no pod and no unit");
        sample::table(&mut seen).push(mount(59, "0:41", "/mnt/other", "fuse.sshfs"));
        let part = Mount { root: HostPath::from("/a"), ..mount(60, "0:40", "/mnt/part", "fuse.s3fs") };
        sample::table(&mut seen).push(part);
        // One of the two is hidden, or over the other.
        for id in [61, 62] {
            sample::table(&mut seen).push(mount(id, "0:40", "/srv/media", "fuse.s3fs"));
        }
        let text = serde_json::to_string(&judge(&seen).pods[0].findings[0]).unwrap();
        assert!(text.contains("/mnt/media shows 0:40, mounted in 2 places; an abort ends it in all"), "{text}");
        assert!(text.contains("fuse mount /srv/media (0:40, fuse.s3fs)"), "the kubelet's, and all of it: {text}");
        assert!(!text.contains("/mnt/other") && !text.contains("/mnt/part"), "{text}");
    }

    /// A writer may be held back by the disk as well, so what counts is whether a request waits.
    #[test]
    fn a_writer_waits_for_the_server_of_its_file_where_a_request_waits() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "balance_dirty_pages");
        seen.processes[0].threads[0].works_on =
            Some(OpenFile { fd: 5, path: HostPath::from("/mnt/media/x"), mount_id: Some(9) });
        container_table(&mut seen, vec![mount(9, "0:40", "/mnt/media", "fuse.s3fs")]);
        seen.fuse = vec![fuse_connection(40, 1, vec![fuse_server(4111, 'S')])];
        assert_eq!(causes(&seen), ["FuseServerNotResponding"]);
        seen.fuse[0].waiting = Seen::Seen(0);
        assert_eq!(causes(&seen), ["UninterruptibleTask"]);
    }

    /// A file system on a block device has a number of its own, and the kernel prints the whole of it.
    #[test]
    fn a_connection_is_not_named_after_the_minor_number_alone() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "request_wait_answer");
        container_table(&mut seen, vec![mount(9, "7:0", "/data", "fuseblk.ntfs"), mount(10, "0:0", "/x", "fuse.x")]);
        seen.fuse = vec![
            fuse_connection(7_340_032, 1, vec![fuse_server(4111, 'S')]),
            fuse_connection(0, 0, vec![fuse_server(4112, 'S')]),
        ];
        let text = serde_json::to_string(&judge(&seen).pods[0].findings[0]).unwrap();
        assert!(text.contains("/sys/fs/fuse/connections/7340032/abort") && !text.contains("4112"), "{text}");
    }

    /// As on Linux 5.10 without CAP_SYS_ADMIN: wchan says 0, and the stack may not be read.
    fn untold(seen: &mut Observation) {
        block(seen, INIT, "");
        let refused = Fault::new(
            format!("/proc/{INIT}/task/{INIT}/stack"),
            (FaultKind::Denied, "Operation not permitted (os error 1)"),
        );
        seen.processes[0].threads[0].stack = Seen::Failed(refused);
    }

    #[test]
    fn a_fuse_server_is_only_likely_where_the_kernel_does_not_tell() {
        let mut seen = sample::running();
        untold(&mut seen);
        container_table(&mut seen, vec![mount(9, "0:40", "/mnt/media", "fuse.s3fs")]);
        seen.fuse = vec![fuse_connection(40, 1, vec![fuse_server(4111, 'S')])];
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("FuseServerNotResponding", Confidence::Probable));
        assert!(finding.evidence.iter().any(|one| one.says.contains("CAP_SYS_ADMIN")), "{finding:?}");
        seen.fuse = vec![fuse_connection(40, 0, vec![fuse_server(4111, 'S')])];
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.cause.id, "UninterruptibleTask", "no task waits for that server");
        assert!(finding.evidence.iter().any(|one| one.says.contains("CAP_SYS_ADMIN")), "{finding:?}");
    }

    #[test]
    fn a_busy_fuse_volume_with_a_server_that_answers_is_not_accused() {
        let mut seen = sample::mounted("fuse.s3fs");
        volume(&mut seen).vol_data = VolData::NotCsi;
        let mut connection = fuse_connection(41, 5, vec![fuse_server(4111, 'S')]);
        connection.probe = Seen::Seen(FuseProbe::Answers);
        seen.fuse = vec![connection.clone()];
        assert_eq!(causes(&seen), ["VolumeMountedNoHolder"]);
        connection.probe = Seen::Seen(FuseProbe::Silent);
        seen.fuse = vec![connection.clone()];
        assert_eq!(causes(&seen), ["FuseServerNotResponding"]);
        connection.probe = Seen::Seen(FuseProbe::Dead);
        seen.fuse = vec![connection];
        assert_eq!(causes(&seen), ["FuseServerGone"]);
    }

    /// A lookup of a name in a directory waits for another lookup of the same name, and that one for the server.
    #[test]
    fn a_task_behind_another_ones_lookup_shares_the_server() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "d_alloc_parallel");
        container_table(
            &mut seen,
            vec![mount(9, "0:40", "/mnt/media", "fuse.s3fs"), mount(10, "0:41", "/mnt/other", "fuse.sshfs")],
        );
        seen.fuse = vec![
            fuse_connection(40, 1, vec![fuse_server(4111, 'S')]),
            fuse_connection(41, 0, vec![fuse_server(4112, 'S')]),
        ];
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("FuseServerNotResponding", Confidence::Probable));
        assert_eq!(finding.root, "FuseServerNotResponding:40");
        let mut second = process(INIT + 1, "ls", 'S', INIT);
        (second.ns_pids, second.pid_ns, second.mount_ns) = (vec![INIT + 1, 2], Some(500), Some(600));
        second.owner = seen.processes[0].owner.clone();
        seen.processes.push(second);
        block(&mut seen, INIT + 1, "request_wait_answer");
        let report = judge(&seen);
        assert_eq!(report.pods[0].findings.len(), 1, "one root");
        assert_eq!(report.pods[0].findings[0].confidence, Confidence::Proven);
        seen.fuse[0].waiting = Seen::Seen(0);
        seen.processes.pop();
        assert_eq!(causes(&seen), ["UninterruptibleTask"]);
    }

    /// As on a node without systemd.
    #[test]
    fn without_fusectl_mount_and_server_are_named_all_the_same() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "request_wait_answer");
        container_table(&mut seen, vec![mount(9, "0:40", "/mnt/media", "fuse.s3fs")]);
        let fault = Fault::new(
            "/sys/fs/fuse/connections/40/waiting",
            (FaultKind::Gone, "the fusectl file system is not mounted"),
        );
        let told = |exact| FuseConnection { exact, ..fuse_connection(40, 1, vec![fuse_server(4111, 'S')]) };
        for (exact, state) in [(true, "S (sleeping) in"), (false, "likely its server: S (sleeping) in")] {
            seen.fuse = vec![told(exact)];
            let finding = judge(&seen).pods[0].findings[0].clone();
            assert_eq!(finding.confidence, Confidence::Proven, "a request waits, by whichever process it is served");
            assert!(finding.roots().next().unwrap().state.starts_with(state), "{finding:?}");
        }
        let unknown = |servers, exact| FuseConnection {
            waiting: Seen::Failed(fault.clone()),
            exact,
            ..fuse_connection(40, 0, servers)
        };
        let other = FuseServer { comm: "sshfs".into(), ..fuse_server(4112, 'S') };
        for (servers, exact, named) in [
            (vec![fuse_server(4111, 'S')], true, true),
            (vec![fuse_server(4111, 'S')], false, true),
            (vec![fuse_server(4111, 'S'), other.clone()], false, true),
            (vec![other.clone(), FuseServer { pid: 4113, ..other.clone() }], false, false),
        ] {
            seen.fuse = vec![unknown(servers, exact)];
            let finding = judge(&seen).pods[0].findings[0].clone();
            assert_eq!((finding.cause.id, finding.confidence), ("FuseServerNotResponding", Confidence::Probable));
            let root = finding.roots().next().unwrap();
            assert_eq!(root.subject.contains("4111"), named, "{root:?}");
            let text = serde_json::to_string(&finding).unwrap();
            assert!(text.contains("/mnt/media"), "{text}");
            let step = finding.remedy.steps.iter().position(|step| step.text.contains("fusectl")).unwrap();
            let next = finding.remedy.steps[step + 1].command.as_deref();
            assert_eq!(next, Some("echo 1 > /sys/fs/fuse/connections/40/abort"));
        }
    }

    /// The last line of a chain reads as its root, and would have named one of them.
    #[test]
    fn without_fusectl_one_of_several_servers_is_not_picked() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "request_wait_answer");
        container_table(
            &mut seen,
            vec![mount(9, "0:40", "/mnt/media", "fuse.s3fs"), mount(10, "0:41", "/mnt/other", "fuse.sshfs")],
        );
        let fault = Fault::new("/sys/fs/fuse/connections", (FaultKind::Gone, "the fusectl file system is not mounted"));
        let silent = |number, pid| FuseConnection {
            waiting: Seen::Failed(fault.clone()),
            ..fuse_connection(number, 0, vec![fuse_server(pid, 'S')])
        };
        seen.fuse = vec![silent(40, 4111), silent(41, 4112)];
        assert_eq!(causes(&seen), ["FuseServerNotResponding"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.confidence, Confidence::Probable);
        let root = finding.chain.last().unwrap();
        assert!(root.root && root.subject == "a FUSE server", "{root:?}");
        let states: Vec<&str> = finding.chain.iter().map(|link| link.state.as_str()).collect();
        assert!(states.contains(&"one of these does not answer: connection 40, served by pid 4111 s3fs"), "{states:?}");
        assert!(states.contains(&"one of these does not answer: connection 41, served by pid 4112 s3fs"), "{states:?}");
        let commands: Vec<&str> = finding.remedy.steps.iter().filter_map(|step| step.command.as_deref()).collect();
        assert_eq!(commands, ["mount -t fusectl fusectl /sys/fs/fuse/connections"], "none is aborted");
    }

    /// It looks up a name, for which there is no descriptor; the others that wait read a file.
    #[test]
    fn a_server_whose_requests_are_all_explained_is_not_waited_for() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "request_wait_answer");
        let media = || vec![mount(9, "0:40", "/mnt/media", "fuse.s3fs"), mount(10, "0:41", "/mnt/other", "fuse.sshfs")];
        container_table(&mut seen, media());
        seen.fuse = vec![
            fuse_connection(40, 1, vec![fuse_server(4111, 'S')]),
            fuse_connection(41, 1, vec![fuse_server(4112, 'S')]),
        ];
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(
            (finding.confidence, finding.root.as_str()),
            (Confidence::Probable, "FuseServerNotResponding:one-of:0:40,0:41")
        );
        let mut reader = process(700, "backup", 'S', 1);
        reader.threads[0].wchan = Seen::Seen("request_wait_answer".into());
        reader.threads[0].works_on = Some(OpenFile { fd: 5, path: HostPath::from("/mnt/media/x"), mount_id: Some(9) });
        seen.processes.push(reader);
        sample::table(&mut seen).extend(media());
        assert_eq!(causes(&seen), ["FuseServerNotResponding"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.confidence, finding.root.as_str()), (Confidence::Proven, "FuseServerNotResponding:41"));
        // One more request, and it may be there as well.
        seen.fuse[0].waiting = Seen::Seen(2);
        assert_eq!(judge(&seen).pods[0].findings[0].confidence, Confidence::Probable);
    }

    #[test]
    fn a_search_that_found_no_server_is_only_probable() {
        let mut seen = sample::mounted("fuse.s3fs");
        volume(&mut seen).vol_data = VolData::NotCsi;
        seen.fuse = vec![fuse_connection(41, 0, Vec::new())];
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("FuseServerGone", Confidence::Probable));
        // So the file system itself is asked.
        seen.fuse[0].probe = Seen::Seen(FuseProbe::Dead);
        assert_eq!(causes(&seen), ["FuseServerGone"]);
        assert_eq!(judge(&seen).pods[0].findings[0].confidence, Confidence::Proven);
    }

    /// Seen on a real node: the agent does not ask by itself, one process could not be read, and an unrelated descriptor on
    /// its way was blamed.
    #[test]
    fn a_server_that_is_nowhere_to_be_found_is_named_before_a_stranger() {
        let mut seen = sample::mounted("fuse.s3fs");
        volume(&mut seen).vol_data = VolData::NotCsi;
        seen.in_flight = vec![sample::in_flight()];
        seen.fuse = vec![FuseConnection { exact: false, ..fuse_connection(41, 0, Vec::new()) }];
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("FuseServerGone", Confidence::Probable));
        seen.fuse[0].probe = Seen::Seen(FuseProbe::Answers);
        assert_eq!(causes(&seen), ["VolumeHeldInFlight"]);
    }
}
