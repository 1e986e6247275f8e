//! A task that should end and waits in the kernel: a SIGKILL is pending and the kernel cannot act on it, or it hangs
//! on its way out. What it waits for is the cause: a FUSE server, an NFS server, a device.

use findings::{Confidence, Evidence};

use super::blocked_task::{self, BlockedTask};
use super::prelude::*;
use super::{blocked_on, fuse, kernel_log, layers, nfs};

/// The causes behind the tasks among `processes` that should end and wait; tasks that wait for the same thing give one
/// finding, which names the first of them.
pub fn find(view: &PodView, processes: &[&Process], head: &[Link], gate: Option<Gate>) -> Vec<Finding> {
    let blocked = processes.iter().flat_map(|process| process.threads.iter().map(move |thread| (*process, thread)));
    let ending = blocked.filter(|(process, thread)| hangs(view, process, thread));
    let (at_pipes, others): (Vec<_>, Vec<_>) = ending.partition(|(_, thread)| is_at_pipe(thread));
    let mut findings: Vec<Finding> = Vec::new();
    for (process, thread) in others.into_iter().chain(at_pipes) {
        if is_at_pipe(thread) && findings.iter().any(|known| known.cause.id != cause::UNINTERRUPTIBLE_TASK.id) {
            break;
        }
        let finding = explain(view, &BlockedTask { process, thread, head, gate });
        match findings.iter_mut().find(|known| known.root == finding.root) {
            // The one that proves it is reported.
            Some(known) if finding.confidence == Confidence::Proven && known.confidence != finding.confidence => {
                *known = finding;
            }
            Some(_) => {}
            None => findings.push(finding),
        }
    }
    findings
}

/// Whether this task should end, and waits in the kernel.
pub fn hangs(view: &PodView, process: &Process, thread: &Thread) -> bool {
    // In S, a task that has been killed is woken; one that exits is not any more.
    let waits = thread.state == 'D' || (process.exits(thread) && thread.waits());
    // A kill may come between the two looks at it, so it is looked at again with or without one.
    waits && view.is_steady(process, thread) && process.is_ending(thread)
}

/// Whether it waits for the lock of a pipe: a task that splices keeps that while it waits itself (`splice_file_to_pipe`,
/// fs/splice.c), so another one is behind it. For what comes through a pipe a task waits in S.
pub fn is_at_pipe(thread: &Thread) -> bool {
    let is_pipe = |wchan: &String| ["pipe_", "anon_pipe_", "fifo_pipe_"].iter().any(|name| wchan.starts_with(name));
    thread.state == 'D' && thread.wchan.get().is_some_and(is_pipe)
}

/// The state of a stack that alone would show what a task waits for.
fn untold(thread: &Thread) -> &'static str {
    match thread.in_exec {
        true => "gave no answer, as while a process runs another program and closes files",
        false => "cannot be read without CAP_SYS_ADMIN, and this kernel shows only there what a task waits for",
    }
}

pub fn explain(view: &PodView, waiting: &BlockedTask) -> Finding {
    let mut finding = explain_task(view, waiting);
    if waiting.process.has_left_mounts(waiting.thread) && finding.cause.id != cause::UNINTERRUPTIBLE_TASK.id {
        finding.doubt(MOUNTS_LEFT);
    }
    kernel_log::add_evidence(view, waiting, &mut finding);
    finding
}

/// Said of a task that has left its mount namespace.
const MOUNTS_LEFT: &str = "which file the task closes: it has left its mount namespace, and only the mounts of the kubelet's \
    that its pod may have are known";

fn explain_task(view: &PodView, waiting: &BlockedTask) -> Finding {
    let BlockedTask { process, thread, head, gate } = *waiting;
    let mut head = head.to_vec();
    if thread.tid != process.pid && process.state == 'Z' {
        head.push(Link::new(
            describe::process(process),
            format!("Z (zombie), but {} of its threads lives", process.thread_count.saturating_sub(1).max(1)),
        ));
    }
    head.push(Link::new(
        describe::task(process, thread),
        // /proc does not show since when a task waits.
        match thread.in_exec {
            true => {
                format!(
                    "{}; seen waiting; /proc shows no more, as during an exec",
                    describe::task_state(process, thread)
                )
            }
            false => format!(
                "{}; seen waiting, process started {} ago",
                describe::task_state(process, thread),
                findings::duration(process.age_ms / 1000)
            ),
        },
    ));
    if let Some(holder) = blocked_on::memory_holder(process, thread) {
        head.push(Link::new(describe::task(process, holder), "has the lock of the same memory"));
        return explain(view, &BlockedTask { process, thread: holder, head: &head, gate });
    }
    let waiting = BlockedTask { head: &head, ..*waiting };
    if let Some(finding) = blocked_on::find(view, &waiting) {
        return finding;
    }
    let below = |mounts: &[&Mount]| layers::down_to(view, &waiting, mounts);
    match waits_on(view, process, thread) {
        WaitsOn::Fuse(mounts) => {
            fuse::not_responding(view, &BlockedTask { head: &below(&mounts), ..waiting }, &mounts).finish()
        }
        WaitsOn::PerhapsFuse(mounts) => {
            let draft = fuse::not_responding(view, &BlockedTask { head: &below(&mounts), ..waiting }, &mounts)
                .evidence(format!("/proc/{}/task/{}/stack", process.pid, thread.tid), untold(thread));
            match mounts.as_slice() {
                [mount] if thread.in_exec && closes_file_of(view, process, thread, mount) => draft.finish(),
                _ => draft.probable("the stack of the task, which says what it waits for").finish(),
            }
        }
        WaitsOn::Nfs(mounts) => nfs::not_responding(view, &BlockedTask { head: &below(&mounts), ..waiting }, &mounts),
        WaitsOn::Unknown => unknown(view, &waiting),
    }
}

/// The init of a container in the middle of running another program, without a SIGKILL: runc reads its `stat` before it
/// kills (`hasInit`, libcontainer/container_linux.go), and waits for the same lock. Reported only where the process sees a
/// FUSE mount with unanswered requests.
pub fn unkilled(view: &PodView, init: Option<&Process>, head: &[Link], gate: Option<Gate>) -> Option<Finding> {
    let process = init?;
    let thread = silent(view, process)?;
    let mut finding = explain(view, &BlockedTask { process, thread, head, gate });
    if finding.cause.id != cause::FUSE_SERVER_NOT_RESPONDING.id {
        return None;
    }
    finding.evidence.push(Evidence::new(
        format!("/proc/{}/status", process.pid),
        format!("no SIGKILL in SigPnd or ShdPnd; {RUNC_WAITS}"),
    ));
    Some(finding)
}

/// Said of a process that gave no answer.
pub const RUNC_WAITS: &str = "runc asks for its stat before it kills it, and gets no answer either";

/// The first thread of a process that gives no answer, stays where it is, and is not about to end.
pub fn silent<'a>(view: &PodView, process: &'a Process) -> Option<&'a Thread> {
    let thread = process.threads.iter().find(|thread| thread.tid == process.pid && thread.in_exec)?;
    // On a machine that is too busy no process answers in time.
    let others_answer = view.seen.processes.iter().any(|other| other.responsive_id().is_some());
    (others_answer && view.is_steady(process, thread) && !process.is_ending(thread)).then_some(thread)
}

/// On which file system a task waits.
enum WaitsOn<'a> {
    /// On one of these FUSE mounts; exactly one when it is known which.
    Fuse(Vec<&'a Mount>),
    /// Its mounts show one of these FUSE mounts with unanswered requests; what it waits for is unknown.
    PerhapsFuse(Vec<&'a Mount>),
    Nfs(Vec<&'a Mount>),
    /// On something else, or unknown.
    Unknown,
}

fn waits_on<'a>(view: &PodView<'a>, process: &Process, thread: &Thread) -> WaitsOn<'a> {
    let mounts = layers::with_served(view, process, thread);
    let in_fuse = is_in_function(thread, fuse::is_fuse_function);
    let exact = blocked_task::file_system(view, process, thread);
    match exact {
        // A writer may as well be held back by the disk behind the page cache (balance_dirty_pages).
        Some(mount) if mount.fuse_connection().is_some() && in_fuse => return WaitsOn::Fuse(vec![mount]),
        Some(mount) if mount.is_nfs() && !in_fuse => return WaitsOn::Nfs(vec![mount]),
        _ => {}
    }
    // Where a path was given, which cannot be read safely, the connections with unanswered requests
    // among the mounts the task can see are the candidates.
    let with_requests = || {
        let waiting = mounts.iter().copied().filter(|mount| {
            let connection = mount.fuse_connection().and_then(|number| view.fuse(number));
            connection.is_some_and(|connection| connection.may_have_requests())
        });
        let mut waiting: Vec<&Mount> = waiting.collect();
        waiting.sort_by_key(|mount| mount.dev);
        waiting.dedup_by_key(|mount| mount.dev);
        if waiting.len() > 1 && view.seen.is_settled(Question::FuseWaiters) {
            let may_be = |mount: &&Mount| has_request(view, process, thread, mount);
            let left: Vec<&Mount> = waiting.iter().copied().filter(may_be).collect();
            waiting = if left.is_empty() { waiting } else { left };
        }
        waiting
    };
    if in_fuse {
        return WaitsOn::Fuse(with_requests());
    }
    if is_in_function(thread, nfs::is_nfs_function) {
        return WaitsOn::Nfs(mounts.iter().copied().filter(|mount| mount.is_nfs()).collect());
    }
    if exact.is_some_and(|mount| mount.fuse_connection().is_some_and(|number| waits_at(view, number))) {
        return WaitsOn::Fuse(exact.into_iter().collect());
    }
    if thread.is_untold() {
        let mut candidates = with_requests();
        let is_counted = |mount: &&Mount| {
            let connection = mount.fuse_connection().and_then(|number| view.fuse(number));
            connection.is_some_and(|connection| connection.waiting.get().is_some())
        };
        candidates.retain(is_counted);
        return if candidates.is_empty() { WaitsOn::Unknown } else { WaitsOn::PerhapsFuse(candidates) };
    }
    WaitsOn::Unknown
}

/// Whether more requests wait for the server of this mount than other tasks are known to wait for. That there are more
/// proves no wait: the kernel counts requests that no task waits for, such as readahead and writeback.
fn has_request(view: &PodView, process: &Process, thread: &Thread, mount: &Mount) -> bool {
    let connection = mount.fuse_connection().and_then(|number| view.fuse(number));
    let Some(waiting) = connection.and_then(|connection| connection.waiting.get()) else { return true };
    let is_there = |(other, task): &(&Process, &Thread)| {
        blocked_task::file_system(view, other, task).is_some_and(|exact| exact.dev == mount.dev)
    };
    others_in_fuse(view, process, thread).filter(is_there).count() < *waiting as usize
}

/// The other tasks that may wait for a FUSE server.
fn others_in_fuse<'a>(
    view: &PodView<'a>,
    process: &Process,
    thread: &Thread,
) -> impl Iterator<Item = (&'a Process, &'a Thread)> {
    let own = (process.pid, thread.tid);
    let tasks = view.seen.processes.iter().flat_map(|process| process.threads.iter().map(move |task| (process, task)));
    let others = tasks.filter(move |(other, task)| (other.pid, task.tid) != own);
    others.filter(|(_, task)| task.in_exec || is_in_function(task, fuse::is_fuse_function))
}

/// Whether a process that runs another program can only wait for the server of this mount. It gives no answer while it
/// closes files (`do_close_on_exec`, fs/file.c), and that waits only where the file system asks its server: FUSE, NFS, CIFS
/// and their like. So it has one of the requests of this mount, where it sees no other such mount and no other tasks are
/// known that may have them all.
fn closes_file_of(view: &PodView, process: &Process, thread: &Thread, mount: &Mount) -> bool {
    let is_other = |other: &&Mount| other.needs_server() && other.fuse_connection().is_none();
    if layers::with_served(view, process, thread).iter().any(is_other) || !view.seen.is_settled(Question::FuseWaiters) {
        return false;
    }
    let number = mount.fuse_connection().and_then(|number| view.fuse(number));
    let Some(waiting) = number.and_then(|connection| connection.waiting.get()) else { return false };
    let may_wait_here = |(other, task): &(&Process, &Thread)| {
        blocked_task::file_system(view, other, task).is_none_or(|exact| exact.dev == mount.dev)
    };
    others_in_fuse(view, process, thread).filter(may_wait_here).count() < *waiting as usize
}

/// Whether a request is known to wait for the server of this connection.
fn waits_at(view: &PodView, number: u32) -> bool {
    view.fuse(number).is_some_and(|connection| connection.waiting.get().is_some_and(|waiting| *waiting > 0))
}

pub fn is_in_function(thread: &Thread, known: impl Fn(&str) -> bool) -> bool {
    let wchan = thread.wchan.get().is_some_and(|wchan| known(wchan));
    wchan || thread.stack.get().is_some_and(|stack| stack.iter().any(|function| known(function)))
}

/// A task of which no more is known than where in the kernel it waits.
pub fn unknown(view: &PodView, waiting: &BlockedTask) -> Finding {
    let BlockedTask { process, thread, head, gate } = *waiting;
    let function =
        thread.wchan.get().filter(|wchan| !wchan.is_empty()).map_or("an unknown kernel function", String::as_str);
    let call = describe::system_call(thread).unwrap_or_else(|| "no system call is shown".to_owned());
    let says = if thread.is_untold() { untold(thread) } else { function };
    pod_finding(view, &cause::UNINTERRUPTIBLE_TASK, gate, head)
        .blame("the kernel", format!("{function} does not return"))
        .evidence(
            format!("/proc/{}/task/{}/{}", process.pid, thread.tid, if thread.in_exec { "status" } else { "stat" }),
            format!("state {}", thread.state),
        )
        .evidence(waiting.wchan(), says)
        .evidence(waiting.syscall(), call)
        .name_if(Placeholder::Pid, process.responsive_id())
        .name(Placeholder::Tid, thread.tid)
        .name(Placeholder::Comm, &thread.comm)
        .root(format!("{function}:{}", process.mount_ns.unwrap_or(0)))
        // A command to a disk may take 30 s, and is tried again (`SD_TIMEOUT` and `SD_MAX_RETRIES`, drivers/scsi/sd.h): two
        // scans that show the same do not prove that it never ends.
        .probable_unless(
            view.is_overdue_by(UNMOUNT_RETRY_MS),
            "whether the wait ends by itself: too little time has passed",
        )
        .finish()
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn a_d_state_nobody_knows_stays_unexplained() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "io_schedule");
        assert_eq!(causes(&seen), ["UninterruptibleTask"]);
    }

    #[test]
    fn a_disk_that_is_only_busy_has_its_time() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "io_schedule");
        let answer = |seen: &Observation| {
            let pod = judge(seen).pods.remove(0);
            (pod.verdict, pod.findings[0].cause.id, pod.findings[0].confidence)
        };
        use findings::{Confidence::*, Verdict::*};
        assert_eq!(answer(&seen), (Stuck, "UninterruptibleTask", Proven));
        sample::set_deadline(&mut seen, sample::NOW - 20_000, 30);
        assert_eq!(answer(&seen), (Progressing, "UninterruptibleTask", Probable));
    }

    #[test]
    fn a_task_that_moved_between_two_looks_is_not_stuck() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "io_schedule");
        seen.processes[0].threads[0].steady = false;
        assert_eq!(causes(&seen), ["ExitNotFinished"]);
    }

    /// A FUSE mount with a request waiting, in the mount namespace of the container.
    fn with_fuse(seen: &mut Observation) {
        container_table(seen, vec![mount(9, "0:40", "/mnt/media", "fuse.s3fs")]);
        seen.fuse = vec![fuse_connection(40, 1, Vec::new())];
    }

    /// A FUSE request is waited for interruptibly at first, and nothing interrupts a task that exits.
    #[test]
    fn a_task_that_hangs_on_its_way_out_needs_no_kill() {
        for state in ['D', 'S'] {
            let mut seen = sample::running();
            exit_blocked(&mut seen, INIT, state, "request_wait_answer");
            with_fuse(&mut seen);
            assert_eq!(causes(&seen), ["FuseServerNotResponding"], "{state}");
            let text = serde_json::to_string(&judge(&seen)).unwrap();
            assert!(text.contains("in request_wait_answer, exiting"), "{text}");
        }
        let mut seen = sample::running();
        exit_blocked(&mut seen, INIT, 'S', "rpc_wait_bit_killable");
        container_table(&mut seen, vec![mount(9, "0:55", "/data", "nfs4")]);
        assert_eq!(causes(&seen), ["NfsServerNotResponding"]);
    }

    #[test]
    fn what_several_threads_wait_for_is_told_by_the_first() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "request_wait_answer");
        with_fuse(&mut seen);
        let of_one = judge(&seen).pods[0].findings.clone();
        let mut thread = seen.processes[0].threads[0].clone();
        (thread.tid, thread.comm) = (INIT + 1, "second".into());
        seen.processes[0].threads.push(thread);
        seen.processes[0].thread_count = 2;
        assert_eq!(judge(&seen).pods[0].findings, of_one);
    }

    /// The container's init runs another program, and closes a file of a silent server.
    fn executing(state: char) -> Observation {
        let mut seen = sample::running();
        let init = &mut seen.processes[0];
        (init.start_ticks, init.age_ms, init.state) = (0, 0, state);
        let thread = &mut init.threads[0];
        (thread.state, thread.wchan, thread.in_exec) = (state, Seen::Missing, true);
        with_fuse(&mut seen);
        seen
    }

    /// As long as no other process kills it: runc asks it for its `stat` first.
    #[test]
    fn an_init_that_gives_no_answer_is_not_killed_by_runc_either() {
        for state in ['S', 'D'] {
            let mut seen = executing(state);
            assert_eq!(causes(&seen), ["FuseServerNotResponding"], "{state}");
            let finding = judge(&seen).pods[0].findings[0].clone();
            assert_eq!(finding.confidence, findings::Confidence::Proven);
            assert_eq!(judge(&seen).pods[0].verdict, findings::Verdict::Stuck);
            let text = serde_json::to_string(&finding).unwrap();
            for word in ["pid 326 sh", "gave no answer", "runc asks for its stat", "connections/40/abort"] {
                assert!(text.contains(word), "{word}: {text}");
            }
            seen.processes[0].threads[0].steady = false;
            assert!(!causes(&seen).contains(&"FuseServerNotResponding"), "it moves");
            let mut seen = executing(state);
            seen.processes[1].start_ticks = 0;
            assert!(!causes(&seen).contains(&"FuseServerNotResponding"), "nothing answers");
        }
    }

    #[test]
    fn who_gives_no_answer_is_only_likely_to_wait_where_others_may_have_the_request() {
        let confidence = |seen: &Observation| {
            let finding = judge(seen).pods[0].findings[0].clone();
            (finding.cause.id, finding.confidence)
        };
        let likely = ("FuseServerNotResponding", findings::Confidence::Probable);
        let mut seen = executing('S');
        seen.processes.push(process(900, "cat", 'S', 1));
        block(&mut seen, 900, "request_wait_answer");
        assert_eq!(confidence(&seen), likely, "another task may have the only request");
        seen.fuse[0].waiting = Seen::Seen(2);
        assert_eq!(confidence(&seen).1, findings::Confidence::Proven);
        seen.mounts.others[0].mounts.push(mount(10, "0:55", "/data", "nfs4"));
        assert_eq!(confidence(&seen), likely, "a file of NFS may be what it closes");
    }

    #[test]
    fn what_an_init_waits_for_that_gives_no_answer_is_not_guessed() {
        let mut seen = executing('S');
        seen.fuse[0].waiting = Seen::Seen(0);
        assert_eq!(causes(&seen), ["KillNotAttempted"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        let link = finding.chain.iter().find(|link| link.subject.contains("pid 326 sh")).unwrap();
        assert!(link.state.contains("runc asks for its stat before it kills it"), "{link:?}");
        // The state of another process of the container does not keep its init from being killed.
        let mut seen = executing('S');
        let mut other = seen.processes[0].clone();
        (other.pid, other.parent, other.threads[0].tid) = (INIT + 1, INIT, INIT + 1);
        seen.processes[0] = sample::running().processes.remove(0);
        seen.processes.push(other);
        seen.cgroups = sample::cgroup(&[INIT, INIT + 1]);
        assert_eq!(causes(&seen), ["KillNotAttempted"]);
        assert!(!serde_json::to_string(&judge(&seen)).unwrap().contains("runc asks"));
    }

    /// A command that compares its `stat`, or shows its stack, would wait as we did.
    #[test]
    fn no_step_asks_a_process_that_gave_no_answer() {
        let asks = |seen: &Observation| {
            let finding = judge(seen).pods.remove(0).findings.remove(0);
            let commands: Vec<String> = finding.remedy.steps.into_iter().filter_map(|step| step.command).collect();
            (finding.cause.id, commands.iter().any(|command| command.contains("/proc/326/")))
        };
        // Killed, and what it waits for is not known.
        let mut seen = executing('D');
        seen.fuse.clear();
        (seen.processes[0].kill_pending, seen.processes[0].threads[0].kill_pending) = (true, true);
        assert_eq!(asks(&seen), ("UninterruptibleTask", false));
        (seen.processes[0].start_ticks, seen.processes[0].threads[0].in_exec) = (1000, false);
        assert_eq!(asks(&seen), ("UninterruptibleTask", true));
        // Its containers have ended, and it is left in the cgroup.
        let mut seen = executing('S');
        sample::runtime(&mut seen).containers[0].state = ContainerState::Exited;
        sample::runtime(&mut seen).sandboxes[0].ready = false;
        sample::set_phase(&mut seen, "Failed");
        seen.cgroups = sample::cgroup(&[INIT]);
        assert_eq!(asks(&seen), ("CgroupProcessAlive", false));
        (seen.processes[0].start_ticks, seen.processes[0].threads[0].in_exec) = (1000, false);
        assert_eq!(asks(&seen), ("CgroupProcessAlive", true));
    }

    /// busybox' `cat` splices: it keeps the lock of its pipe while it waits for the server.
    #[test]
    fn who_reads_from_a_task_that_waits_is_no_root() {
        for function in ["anon_pipe_read", "pipe_read", "pipe_release"] {
            let mut seen = sample::running();
            let reader = process(INIT + 1, "grep", 'D', INIT);
            let init = seen.processes[0].clone();
            seen.processes.push(Process { mount_ns: init.mount_ns, owner: init.owner, ..reader });
            seen.cgroups = sample::cgroup(&[INIT, INIT + 1]);
            block(&mut seen, INIT + 1, function);
            assert_eq!(causes(&seen), ["UninterruptibleTask"], "{function}: nothing else is known");
            block(&mut seen, INIT, "request_wait_answer");
            with_fuse(&mut seen);
            assert_eq!(causes(&seen), ["FuseServerNotResponding"], "{function}");
            assert_eq!(judge(&seen).pods[0].findings[0].must_end_too, Some(Vec::new()), "{function}");
        }
    }

    #[test]
    fn a_thread_that_exits_alone_counts_too() {
        let mut seen = sample::running();
        let mut thread = seen.processes[0].threads[0].clone();
        (thread.tid, thread.state, thread.exiting) = (INIT + 1, 'S', true);
        thread.wchan = Seen::Seen("request_wait_answer".into());
        seen.processes[0].threads.push(thread);
        seen.processes[0].thread_count = 2;
        with_fuse(&mut seen);
        assert_eq!(causes(&seen), ["FuseServerNotResponding"]);
        seen.processes[0].threads[1].exiting = false;
        assert_eq!(causes(&seen), ["KillNotAttempted"], "a signal wakes it");
    }

    #[test]
    fn a_task_that_exits_and_sleeps_elsewhere_is_no_cause() {
        let mut seen = sample::running();
        exit_blocked(&mut seen, INIT, 'S', "pipe_read");
        assert_eq!(causes(&seen), Vec::<&str>::new());
        exit_blocked(&mut seen, INIT, 'D', "request_wait_answer");
        seen.processes[0].threads[0].steady = false;
        assert_eq!(causes(&seen), ["ExitNotFinished"], "it moves");
        let pod = judge(&seen).pods.remove(0);
        assert_eq!(pod.verdict, findings::Verdict::CannotTell);
        assert!(pod.findings[0].chain.last().unwrap().subject.contains(&INIT.to_string()), "{pod:?}");
    }

    /// Its system call, if it shows one, is the one in which the signal met it.
    #[test]
    fn what_a_task_closes_on_its_way_out_is_not_what_it_worked_on() {
        let mut seen = sample::running();
        exit_blocked(&mut seen, INIT, 'D', "request_wait_answer");
        with_fuse(&mut seen);
        seen.mounts.others[0].mounts.push(mount(10, "0:41", "/mnt/other", "fuse.sshfs"));
        seen.processes[0].threads[0].works_on =
            Some(OpenFile { fd: 3, path: HostPath::from("/mnt/other/x"), mount_id: Some(10) });
        let text = serde_json::to_string(&judge(&seen).pods[0].findings[0]).unwrap();
        assert!(text.contains("connections/40/abort") && !text.contains("/mnt/other"), "{text}");
    }

    /// NFS and CIFS write a file to their server when it is closed.
    #[test]
    fn a_writer_that_was_killed_flushes_to_its_server() {
        let answer = |fs_types: &[&str]| {
            let mut seen = sample::running();
            exit_blocked(&mut seen, INIT, 'D', "folio_wait_bit_common");
            let mounts = (0_u32..).zip(fs_types).map(|(at, fs_type)| Mount {
                source: HostPath::from(format!("files:/{at}").as_str()),
                ..mount(9 + at, &format!("0:{}", 55 + at), &format!("/data/{at}"), fs_type)
            });
            let mounts = mounts.chain([mount(20, "8:1", "/etc/hosts", "ext4")]).collect();
            container_table(&mut seen, mounts);
            let cause = causes(&seen);
            (cause[0], judge(&seen).pods[0].findings[0].confidence)
        };
        use findings::Confidence::*;
        assert_eq!(answer(&["nfs4"]), ("NfsServerNotResponding", Probable));
        assert_eq!(answer(&["cifs"]), ("FileServerNotResponding", Probable));
        assert_eq!(answer(&["nfs4", "cifs"]), ("UninterruptibleTask", Proven), "either may be it");
        let mut seen = sample::running();
        block(&mut seen, INIT, "folio_wait_bit_common");
        container_table(&mut seen, vec![mount(9, "0:55", "/data", "nfs4"), mount(20, "8:1", "/etc/hosts", "ext4")]);
        assert_eq!(causes(&seen), ["UninterruptibleTask"], "it reads, from whatever file");
    }

    #[test]
    fn without_the_api_server_it_shows_that_its_pod_is_being_stopped() {
        let mut seen = sample::running();
        seen.api = Seen::Missing;
        assert_eq!(judge(&seen).pods.len(), 0);
        exit_blocked(&mut seen, INIT, 'D', "request_wait_answer");
        with_fuse(&mut seen);
        assert_eq!(causes(&seen), ["FuseServerNotResponding"]);
        seen.processes[0].threads[0].steady = false;
        assert_eq!(judge(&seen).pods.len(), 0, "processes of any pod exit all the time");
    }
}
