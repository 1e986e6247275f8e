//! A process holds a mount, so that the kubelet's `umount` fails with "target is busy".

use super::prelude::*;
use super::{blocked_task::BlockedTask, completed_pod, csi, kill, uninterruptible};

/// Of so many holders of a mount it is looked at what they wait for.
const MAX_WAITING: usize = 20;

/// Who holds a volume's mount.
pub fn find(view: &PodView, volume: &VolumeDir, mount: &Mount, head: &[Link]) -> Vec<Finding> {
    // The dearest search of all, for what is to be unmounted now.
    if may_be_unmounted(view) && !csi::is_not_tried(view, volume) {
        search(view, mount);
    }
    let mut by_cause: Vec<Vec<Finding>> = Vec::new();
    let mut is_waited_for = false;
    for (at, holder) in blockers(view, mount).enumerate() {
        let waiting = if at < MAX_WAITING { waiting(view, mount, holder, head) } else { None };
        is_waited_for |= waiting.is_some();
        // The others may wait for the same; one that does not is reported when the server has answered.
        if at >= MAX_WAITING && is_waited_for {
            break;
        }
        let one = waiting.unwrap_or_else(|| finding(view, cause_of(view, holder), mount, holder, head));
        let is_alike = |known: &Finding| (known.cause, known.confidence) == (one.cause, one.confidence);
        match by_cause.iter_mut().find(|known| known.first().is_some_and(is_alike)) {
            // One server is waited for by many.
            Some(known) if known.iter().any(|known| known.root == one.root) => {}
            Some(known) => known.push(one),
            None => by_cause.push(vec![one]),
        }
    }
    by_cause.into_iter().filter_map(Finding::together).collect()
}

/// A holder that waits for the server of this very file system is not the cause: the server is.
fn waiting(view: &PodView, mount: &Mount, holder: &Holder, head: &[Link]) -> Option<Finding> {
    let number = mount.fuse_connection()?;
    let process = view.process(holder.pid)?;
    let thread = process.threads.iter().find(|thread| thread.waits() && view.is_steady(process, thread))?;
    let mut head = head.to_vec();
    head.push(Link::new(describe::mount(mount), busy_state(view)));
    let mut finding = uninterruptible::explain(view, &BlockedTask { process, thread, head: &head, gate: VOLUMES });
    let is_this = finding.root == format!("{}:{number}", cause::FUSE_SERVER_NOT_RESPONDING.id);
    if !process.is_ending(thread) {
        // It has waited for a moment only, as far as we saw.
        finding.doubt("whether it keeps waiting: it was seen for a moment only");
    }
    is_this.then_some(finding)
}

/// Who holds a subPath's mount.
pub fn sub_path(view: &PodView, mount: &Mount, head: &[Link]) -> Option<Finding> {
    if may_be_unmounted(view) {
        search(view, mount);
    }
    find_all(view, &cause::VOLUME_HELD_BY_PROCESS, mount, head)
}

/// Who holds the root file system of a container whose process is gone: the runtime cannot unmount
/// it and so never sees the container as ended.
pub fn rootfs(view: &PodView, container: &Container, head: &[Link]) -> Option<Finding> {
    if view.has_lost_init(container) {
        view.seen.is_settled(Question::RootFileSystem(container.id.clone()));
    }
    let mount = view.kubelet_mounts().iter().find(|mount| mount.is_rootfs_of(&container.id))?;
    search(view, mount);
    let mut finding = find_all(view, &cause::ROOTFS_BUSY, mount, head)?;
    finding.gate = Some(findings::Gate::ContainersStopped);
    Some(finding)
}

/// All that hold a mount, as one finding.
fn find_all(view: &PodView, cause: &'static Cause, mount: &Mount, head: &[Link]) -> Option<Finding> {
    Finding::together(blockers(view, mount).map(|holder| finding(view, cause, mount, holder, head)).collect())
}

/// Whether the kubelet has come to its volumes, or that is assumed.
fn may_be_unmounted(view: &PodView) -> bool {
    !view.runs() || view.why == DeletionReason::Assumed
}

/// Has the holders of a mount looked for.
fn search(view: &PodView, mount: &Mount) {
    view.seen.is_settled(Question::Holders(mount.mount_point.clone()));
}

/// Holders that make `umount` fail. A private copy in another namespace does not, on any kernel
/// since 3.18, and is blamed for nothing; neither is the kubelet's own look at the volume. The processes of a pod that
/// is only taken for deleted would end first.
fn blockers<'a>(view: &PodView<'a>, mount: &Mount) -> impl Iterator<Item = &'a Holder> {
    let kubelet = view.seen.node.kubelet.get().map(|kubelet| kubelet.pid);
    let ends = ends_first(view);
    let search = view.holders(&mount.mount_point);
    let holders = search.into_iter().flat_map(|search| &search.holders);
    holders.filter(move |holder| blocks(holder) && Some(holder.pid) != kubelet && !ends(holder))
}

/// Identifies the processes that end before the volumes of a pod whose deletion is assumed are unmounted.
fn ends_first(view: &PodView) -> impl Fn(&Holder) -> bool + use<> {
    let own = (view.why == DeletionReason::Assumed).then(|| view.uid().clone());
    move |holder| matches!((&holder.owner, &own), (Owner::Pod { uid, .. }, Some(own)) if uid == own)
}

fn blocks(holder: &Holder) -> bool {
    matches!(holder.copy, CopyKind::Original | CopyKind::Propagated)
}

/// Why the search for holders of a mount does not prove that there is no other.
pub fn not_searched(view: &PodView, mount: &Mount) -> Option<String> {
    let search = view.holders(&mount.mount_point)?;
    let ends = ends_first(view);
    match &search.mappings {
        _ if search.behind_unread_tables > 0 => {
            Some(format!("{} processes could not be looked at", search.behind_unread_tables))
        }
        // The search ends with who is found first.
        _ if search.holders.iter().any(|holder| blocks(holder) && ends(holder)) => {
            Some("its own processes hold a copy of it, so rarer ways to hold it were not looked for".to_owned())
        }
        Seen::Failed(fault) => Some(fault.to_string()),
        _ => None,
    }
}

fn cause_of(view: &PodView, holder: &Holder) -> &'static Cause {
    match (&holder.how, holder.copy, completed_pod::volume_busy(view)) {
        (HeldBy::Loop { .. }, _, _) => &cause::VOLUME_HELD_BY_LOOP_DEVICE,
        (HeldBy::Swap(_), _, _) => &cause::VOLUME_HELD_BY_SWAP,
        (_, _, Some(completed)) => completed,
        (_, CopyKind::Propagated, None) => &cause::VOLUME_HELD_IN_OTHER_NAMESPACE,
        _ => &cause::VOLUME_HELD_BY_PROCESS,
    }
}

fn finding(view: &PodView, cause: &'static Cause, mount: &Mount, holder: &Holder, head: &[Link]) -> Finding {
    let (by, source, path) = holder_path(holder);
    let mut draft = pod_finding(view, cause, VOLUMES, head).link(describe::mount(mount), busy_state(view));
    let mut copy = String::new();
    if holder.copy == CopyKind::Propagated {
        copy = format!(", in the copy that was propagated to mount namespace {}", holder.mount_ns);
        draft = draft
            .evidence(format!("/proc/{}/mountinfo", holder.pid), "a copy tied to the kubelet's mount by propagation");
    }
    let draft = draft
        .mounted(view.seen, Placeholder::Path, &mount.mount_point)
        .name_if(Placeholder::Owner, describe::stoppable_owner(&holder.owner));
    if let HeldBy::Loop { device, file } = &holder.how {
        return draft
            .blame(describe::loop_device(device), format!("its backing file is {}", file.show()))
            .evidence(source, file.show())
            .name(Placeholder::Device, device)
            .root(device)
            .finish();
    }
    if let HeldBy::Swap(file) = &holder.how {
        let mut draft = draft;
        draft.names.retain(|placeholder, _| placeholder != Placeholder::Path);
        return draft
            .blame(describe::file(file), by)
            .evidence(source, file.show())
            .name_if(Placeholder::Path, file.as_str())
            .root(file.show())
            .finish();
    }
    let state = format!("{by}{copy}; {}, {}", describe::state_name(holder.state), describe::owner(&holder.owner));
    let unit = match &holder.owner {
        Owner::Unit(unit) => Some(unit.clone()),
        _ => None,
    };
    draft
        .blame(describe::pid(holder.pid, &holder.comm, holder.state), state)
        .evidence(source, path.show())
        .evidence("mountinfo of the kubelet", mount.mount_point.show())
        .name_if(Placeholder::Pid, kill::may_be_killed(view, holder.id(), &holder.comm))
        .name(Placeholder::Comm, &holder.comm)
        .name_if(Placeholder::Unit, unit)
        .root(format!("{}:{}", holder.pid, holder.start_ticks))
        .finish()
}

fn busy_state(view: &PodView) -> &'static str {
    if view.why == DeletionReason::Assumed { "could not be unmounted: in use" } else { "cannot be unmounted: in use" }
}

/// Adds who uses the file system by a mount that stands in no table that was read: it may be detached, or be one of a mount
/// namespace that is not searched, and hold this one there.
pub fn add_unlisted(search: Option<&HolderSearch>, draft: FindingBuilder) -> FindingBuilder {
    let mut holders = search.into_iter().flat_map(|search| &search.holders);
    match holders.find(|holder| holder.copy == CopyKind::Detached) {
        Some(holder) => {
            let (by, source, _) = holder_path(holder);
            let comm = findings::clean(&holder.comm, 32);
            draft.evidence(source, format!("{comm}: {by}, on a mount that is in no mount table"))
        }
        None => draft,
    }
}

/// In words, the file that shows it, and the path in it.
fn holder_path(holder: &Holder) -> (String, String, &HostPath) {
    let pid = holder.pid;
    match &holder.how {
        HeldBy::Fd { fd, path } => {
            (format!("has {} open (descriptor {fd})", describe::path(path)), format!("/proc/{pid}/fdinfo/{fd}"), path)
        }
        HeldBy::Cwd(path) => ("its working directory is in it".to_owned(), format!("/proc/{pid}/cwd"), path),
        HeldBy::Root(path) => ("its root directory is in it".to_owned(), format!("/proc/{pid}/root"), path),
        HeldBy::Exe(path) => (format!("it runs {}", describe::path(path)), format!("/proc/{pid}/exe"), path),
        HeldBy::Ring { fd, path } => (
            format!("has {} registered with io_uring (descriptor {fd})", describe::path(path)),
            format!("/proc/{pid}/fdinfo/{fd}"),
            path,
        ),
        HeldBy::Swap(path) => ("the kernel swaps to it".to_owned(), "/proc/swaps".to_owned(), path),
        HeldBy::Mapping(path) => (format!("has {} mapped", describe::path(path)), format!("/proc/{pid}/maps"), path),
        HeldBy::Loop { device, file } => {
            let source = format!("/sys/block/{}/loop/backing_file", device.trim_start_matches("/dev/"));
            (format!("{device} is built on a file in it"), source, file)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn a_registered_file_and_a_swap_are_named() {
        let mut seen = sample::mounted("ext4");
        let how = HeldBy::Ring { fd: 7, path: HostPath::from("/x/journal") };
        seen.holders[0].holders.push(Holder { how, ..sample::holder() });
        assert_eq!(causes(&seen), ["VolumeHeldByProcess"]);
        let root = judge(&seen).pods[0].findings[0].roots().next().unwrap().clone();
        assert!(root.state.starts_with("has /x/journal registered with io_uring (descriptor 7)"), "{root:?}");
        let how = HeldBy::Swap(HostPath::from("/x/swap"));
        seen.holders[0].holders[0] = Holder { how, pid: 0, ..sample::holder() };
        assert_eq!(causes(&seen), ["VolumeHeldBySwap"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert!(finding.remedy.steps.iter().any(|step| step.command.as_deref() == Some("swapoff /x/swap")));
    }

    #[test]
    fn a_private_copy_is_blamed_for_nothing() {
        let mut seen = sample::mounted("ext4");
        let private = Holder { comm: "exporter".into(), copy: CopyKind::Private, mount_ns: 9, ..sample::holder() };
        seen.holders[0].holders.push(private);
        assert!(!serde_json::to_string(&judge(&seen)).unwrap().contains("exporter"));
        seen.holders[0].holders[0].copy = CopyKind::Propagated;
        assert_eq!(causes(&seen), ["VolumeHeldInOtherNamespace"]);
    }

    #[test]
    fn several_holders_are_one_finding_with_a_list() {
        let mut seen = sample::mounted("ext4");
        let holder = |pid: u32, copy| Holder { pid, comm: "du".into(), copy, mount_ns: 9, ..sample::holder() };
        seen.holders[0].holders.extend((700..703).map(|pid| holder(pid, CopyKind::Original)));
        assert_eq!(causes(&seen), ["VolumeHeldByProcess"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        let roots: Vec<&str> = finding.roots().map(|link| link.subject.as_str()).collect();
        assert_eq!(roots, ["pid 700 du", "pid 701 du", "pid 702 du"]);
        assert_eq!(finding.root, "VolumeHeldByProcess:700:1+701:1+702:1");
        let first = finding.roots().next().unwrap();
        assert!(first.state.starts_with("its working directory is in it; S (sleeping), "), "{first:?}");
        let evidence = finding.evidence.iter().find(|one| one.source == "/proc/700/cwd");
        assert_eq!(evidence.map(|one| one.says.as_str()), Some("/x"));
        let commands: Vec<&String> = finding.remedy.steps.iter().filter_map(|step| step.command.as_ref()).collect();
        for pid in 700..703 {
            assert!(commands.iter().any(|command| command.contains(&format!("&& kill {pid}\""))), "{commands:?}");
        }
        assert_eq!(finding.remedy.steps.iter().filter(|step| step.text.starts_with("When the holder")).count(), 1);
        seen.holders[0].holders.extend((800..840).map(|pid| holder(pid, CopyKind::Propagated)));
        assert_eq!(causes(&seen), ["VolumeHeldByProcess", "VolumeHeldInOtherNamespace"]);
        let finding = judge(&seen).pods[0].findings[1].clone();
        assert_eq!(finding.roots().count(), 13);
        assert_eq!(finding.chain.last().unwrap().subject, "28 more");
    }

    #[test]
    fn nobody_is_told_to_kill_what_a_node_needs() {
        let is_killed = |pid: u32, comm: &str| {
            let mut seen = sample::mounted("ext4");
            seen.node.runtime_process = Seen::Seen(RuntimeProcess {
                pid: 66,
                start_ticks: None,
                comm: "dockerd".into(),
                unit: None,
                state: 'S',
            });
            seen.holders[0] = held(&seen.holders[0].mount_point);
            (seen.holders[0].holders[0].pid, seen.holders[0].holders[0].comm) = (pid, comm.into());
            let steps = judge(&seen).pods.remove(0).findings.remove(0).remedy.steps;
            steps
                .iter()
                .filter_map(|step| step.command.as_ref())
                .any(|command| command.contains(&format!("&& kill {pid}\"")))
        };
        assert!(is_killed(700, "du"));
        for (pid, comm) in [(1, "du"), (66, "du"), (500, "systemd"), (500, "containerd"), (500, "k3s-server")] {
            assert!(!is_killed(pid, comm), "{pid} {comm}");
        }
        for shim in ["containerd-shim", "conmon", "docker-containerd-shim"] {
            assert!(!is_killed(500, shim), "{shim}");
        }
    }

    /// Mapped and closed: no list of descriptors shows it.
    #[test]
    fn a_mapped_file_is_named() {
        let mut seen = sample::mounted("ext4");
        let mut search = held(&seen.holders[0].mount_point);
        search.holders[0].how = HeldBy::Mapping(HostPath::from("/x/data"));
        seen.holders[0] = search;
        assert_eq!(causes(&seen), ["VolumeHeldByProcess"]);
        let root = judge(&seen).pods[0].findings[0].roots().next().unwrap().clone();
        assert!(root.state.starts_with("has /x/data mapped"), "{root:?}");
    }

    #[test]
    fn a_loop_device_on_a_file_in_the_volume() {
        let mut seen = sample::mounted("ext4");
        seen.holders[0].holders.push(Holder {
            pid: 0,
            start_ticks: 0,
            comm: String::new(),
            state: ' ',
            how: HeldBy::Loop { device: "/dev/loop3".into(), file: HostPath::from("/x/disk.img") },
            ..sample::holder()
        });
        assert_eq!(causes(&seen), ["VolumeHeldByLoopDevice"]);
    }

    fn held(mount_point: &HostPath) -> HolderSearch {
        let holders = vec![Holder { comm: "du".into(), mount_ns: 9, ..sample::holder() }];
        HolderSearch { holders, ..sample::holder_search(mount_point, Dev { major: 0, minor: 42 }) }
    }

    #[test]
    fn a_sub_path_that_is_held() {
        let mut seen = sample::mounted("ext4");
        let sub_path = sample::sub_path(Seen::Seen(true), false);
        seen.holders.push(held(&sub_path.path));
        sample::table(&mut seen).push(sample::mount(50, "0:42", sub_path.path.as_str().unwrap(), "ext4"));
        sample::pod_dir(&mut seen).sub_paths.push(sub_path);
        assert!(causes(&seen).contains(&"VolumeHeldByProcess"), "{:?}", causes(&seen));
    }

    /// The runtime cannot unmount it, and so never reports that the container has ended.
    #[test]
    fn the_root_file_system_of_a_container_that_has_ended_is_held() {
        let mut seen = sample::running();
        let id = sample::runtime(&mut seen).containers[0].id.clone();
        let path = HostPath::from(format!("/run/containerd/io.containerd.runtime.v2.task/k8s.io/{id}/rootfs").as_str());
        sample::table(&mut seen).push(sample::mount(50, "0:42", path.as_str().unwrap(), "overlay"));
        seen.holders.push(held(&path));
        assert_eq!(causes(&seen), ["KillNotAttempted"], "while it runs nothing unmounts it");
        seen.processes.clear();
        assert_eq!(causes(&seen), ["RootfsBusy"]);
    }

    /// It cannot let go before the server answers, so that ending it does not help.
    #[test]
    fn a_holder_that_waits_for_the_server_of_the_volume_is_not_to_blame() {
        let mut seen = sample::mounted("fuse.s3fs");
        seen.processes = vec![sample::process(700, "du", 'D', 1)];
        sample::block(&mut seen, 700, "request_wait_answer");
        seen.holders[0].holders.push(Holder { start_ticks: 1000, comm: "du".into(), state: 'D', ..sample::holder() });
        seen.fuse = vec![fuse_connection(41, 1, vec![fuse_server(4111, 'S')])];
        assert_eq!(causes(&seen), ["FuseServerNotResponding"]);
        // Of those that were not examined the same may hold.
        let mut many = seen.clone();
        for pid in 701..750 {
            if pid < 720 {
                many.processes.push(sample::process(pid, "du", 'D', 1));
                sample::block(&mut many, pid, "request_wait_answer");
            }
            many.holders[0].holders.push(Holder { pid, ..seen.holders[0].holders[0].clone() });
        }
        assert_eq!(causes(&many), ["FuseServerNotResponding"]);
        assert_eq!(judge(&many).pods[0].findings[0].must_end_too, None, "it is unknown");
        assert_eq!(judge(&seen).pods[0].findings[0].must_end_too, Some(Vec::new()));
        assert!(!serde_json::to_string(&judge(&seen)).unwrap().contains("kill 700"));
        seen.processes[0].threads[0].wchan = Seen::Seen("io_schedule".into());
        assert_eq!(causes(&seen), ["VolumeHeldByProcess"], "it waits for something else");
    }
}
