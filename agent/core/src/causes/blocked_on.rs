//! What a task in D waits for, beside FUSE and NFS: from the kernel function and the descriptor of its system call
//! to the mount, and from the mount to the device below.

use super::blocked_task::{BlockedTask, Sure, distinct, file_system};
use super::prelude::*;
use super::{block_device, file_server, frozen_file_system, fuse, layers, loop_file, nfs};
use crate::kernel::{self, Subsystem, WaitSite};

/// What a task waits for. None when its function and its descriptor show too little, and for FUSE and NFS, whose clients
/// show more.
pub fn find(view: &PodView, waiting: &BlockedTask) -> Option<Finding> {
    let BlockedTask { process, thread, .. } = waiting;
    let known = kernel::wait_site(thread);
    let mounts = view.mounts_of(process, thread)?;
    match file_system(view, process, thread) {
        Some(mount) if mount.fuse_connection().is_some() || mount.is_nfs() => None,
        Some(mount) if mount.needs_server() => Some(file_server::not_responding(view, waiting, &[mount])),
        Some(mount) if kernel::is_on_device(mount) => device_finding(view, waiting, known?.subsystem, mount, Sure::Yes),
        _ => among(view, waiting, known, &mounts),
    }
}

/// The call names a path, or none at all: what it waits on is one of the mounts the task can see.
fn among(view: &PodView, waiting: &BlockedTask, known: Option<WaitSite>, mounts: &[&Mount]) -> Option<Finding> {
    let Some(WaitSite { subsystem, .. }) = known else { return virtual_fuse(view, waiting, mounts) };
    let mut candidates = candidates(view, waiting, subsystem, mounts);
    match subsystem {
        Subsystem::Served(_) if candidates.is_empty() => None,
        Subsystem::Served(_) => Some(file_server::not_responding(view, waiting, &candidates)),
        Subsystem::Directory => {
            // The owner of the lock waits for the server; so this file system has a request that waits.
            let waits = |mount: &&Mount| {
                let connection = mount.fuse_connection().and_then(|number| view.fuse(number));
                connection.is_some_and(|connection| connection.waiting.get().is_some_and(|waiting| *waiting > 0))
            };
            candidates.retain(waits);
            let [mount] = candidates.as_slice() else { return None };
            Some(
                fuse::not_responding(view, waiting, &[mount])
                    .probable("who has the lock that the task waits for")
                    .finish(),
            )
        }
        Subsystem::Memory => None,
        Subsystem::Page if waiting.process.exits(waiting.thread) => {
            candidates.retain(|mount| mount.needs_server());
            let [mount] = candidates.as_slice() else { return None };
            flushes(view, waiting, mount)
        }
        Subsystem::Freeze => frozen_file_system::among(view, waiting, &candidates),
        Subsystem::Journal(_) | Subsystem::Device | Subsystem::Page | Subsystem::Writeback => {
            let (mount, sure) = match candidates.as_slice() {
                [mount] => (*mount, Sure::Perhaps),
                several => (block_device::only_waited_for(view, several)?, Sure::Yes),
            };
            if mount.needs_server() {
                return None;
            }
            let sure = if matches!(subsystem, Subsystem::Journal(_)) { sure } else { Sure::Perhaps };
            let waiting = BlockedTask { head: &layers::down_to(view, waiting, &[mount]), ..*waiting };
            device_finding(view, &waiting, subsystem, mount, sure)
        }
    }
}

/// The file systems that a task may wait for: those of its mounts, and those below its overlays. Where its call is on one
/// overlay, those below that.
fn candidates<'a>(
    view: &PodView<'a>,
    waiting: &BlockedTask,
    subsystem: Subsystem,
    mounts: &[&'a Mount],
) -> Vec<&'a Mount> {
    let BlockedTask { process, thread, .. } = waiting;
    let file = thread.works_on.as_ref().filter(|_| !process.exits(thread)).and_then(|file| file.mount_id);
    let overlay = mounts.iter().copied().find(|mount| Some(mount.id) == file && mount.is_overlay());
    let mut candidates = match overlay {
        Some(overlay) => layers::below(view, &[overlay]),
        None => mounts.iter().copied().chain(layers::below(view, mounts)).collect(),
    };
    candidates.retain(|mount| subsystem.may_be(mount));
    distinct(&candidates)
}

/// On its way out a task waits for pages where it closes a file that it has written: NFS and CIFS send it to their server
/// then and wait (`nfs4_file_flush` in fs/nfs/nfs4file.c, `cifs_flush` in fs/smb/client/file.c); a local file system
/// waits only where the file is removed with that.
fn flushes(view: &PodView, waiting: &BlockedTask, mount: &Mount) -> Option<Finding> {
    let mut finding = match mount.fs_type.as_str() {
        _ if mount.is_nfs() => nfs::not_responding(view, waiting, &[mount]),
        "cifs" | "smb3" => file_server::not_responding(view, waiting, &[mount]),
        _ => return None,
    };
    finding.doubt("which file it closes, and whether the server is only slow");
    Some(finding)
}

/// virtiofs waits in the functions of FUSE, and its server is the machine that runs this one.
fn virtual_fuse(view: &PodView, waiting: &BlockedTask, mounts: &[&Mount]) -> Option<Finding> {
    let is_fuse = waiting.thread.wchan.get().is_some_and(|wchan| fuse::is_fuse_function(wchan));
    let has_other = mounts.iter().any(|mount| mount.fuse_connection().is_some());
    let candidates: Vec<&Mount> = mounts.iter().copied().filter(|mount| mount.fs_type == "virtiofs").collect();
    let is_it = is_fuse && !has_other && !candidates.is_empty();
    is_it.then(|| file_server::not_responding(view, waiting, &candidates))
}

/// What a task waits for below this mount.
fn device_finding(
    view: &PodView,
    waiting: &BlockedTask,
    subsystem: Subsystem,
    mount: &Mount,
    sure: Sure,
) -> Option<Finding> {
    block_device::suspended(view, waiting, mount, sure).or_else(|| match subsystem {
        Subsystem::Freeze => Some(frozen_file_system::frozen(view, waiting, mount, sure)),
        Subsystem::Directory | Subsystem::Memory | Subsystem::Served(_) => None,
        _ => Some(loop_file::not_responding(view, waiting, mount, block_device::stack(view, mount), sure)),
    })
}

/// The owner of the memory lock that this thread waits for: another thread of its process that waits for something else.
pub fn memory_holder<'a>(process: &'a Process, thread: &Thread) -> Option<&'a Thread> {
    let waits_for_memory =
        |thread: &Thread| kernel::wait_site(thread).is_some_and(|known| known.subsystem == Subsystem::Memory);
    let is_other = |other: &&Thread| other.tid != thread.tid && other.state == 'D' && !waits_for_memory(other);
    waits_for_memory(thread).then(|| process.threads.iter().find(is_other)).flatten()
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    /// It writes to NFS from memory whose page is not there.
    #[test]
    fn the_file_of_a_call_is_not_what_another_part_of_the_kernel_waits_for() {
        let mut seen = sample::running();
        container_table(
            &mut seen,
            vec![
                mount(9, "0:55", "/data", "nfs4"),
                Mount { source: HostPath::from("//files/share"), ..mount(10, "0:60", "/files", "cifs") },
            ],
        );
        for (function, cause) in [
            ("rpc_wait_bit_killable", "NfsServerNotResponding"),
            ("io_schedule", "NfsServerNotResponding"),
            ("wait_for_response", "FileServerNotResponding"),
            ("do_user_addr_fault", "UninterruptibleTask"),
            ("request_wait_answer", "FuseServerNotResponding"),
        ] {
            block(&mut seen, INIT, function);
            seen.processes[0].threads[0].works_on =
                Some(OpenFile { fd: 5, path: HostPath::from("/data/x"), mount_id: Some(9) });
            assert_eq!(causes(&seen), [cause], "{function}");
        }
        // What it closes on its way out is another file.
        exit_blocked(&mut seen, INIT, 'D', "wait_for_response");
        seen.processes[0].threads[0].works_on =
            Some(OpenFile { fd: 5, path: HostPath::from("/elsewhere/x"), mount_id: Some(11) });
        seen.mounts.others[0].mounts.push(mount(11, "0:61", "/elsewhere", "cifs"));
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.confidence, findings::Confidence::Probable, "{finding:?}");
    }

    /// One thread reads through a mapping, the other wants to map more.
    #[test]
    fn a_thread_that_waits_for_the_memory_waits_for_what_its_holder_waits_for() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "vm_mmap_pgoff");
        assert_eq!(causes(&seen), ["UninterruptibleTask"]);
        let mut holder = seen.processes[0].threads[0].clone();
        (holder.tid, holder.wchan) = (INIT + 1, Seen::Seen("wait_for_response".into()));
        seen.processes[0].threads.push(holder);
        seen.processes[0].thread_count = 2;
        container_table(
            &mut seen,
            vec![Mount { source: HostPath::from("//files/share"), ..mount(9, "0:60", "/data", "cifs") }],
        );
        assert_eq!(causes(&seen), ["FileServerNotResponding"]);
        assert_eq!(judge(&seen).pods[0].findings.len(), 1);
        // Its leader lives.
        let chain = judge(&seen).pods[0].findings[0].chain.clone();
        assert!(chain.iter().all(|link| !link.state.contains("zombie")), "{chain:?}");
        // Without any such mount no server is accused.
        seen.mounts.others[0].mounts[0].fs_type = "ext4".into();
        assert_eq!(causes(&seen), ["UninterruptibleTask"]);
    }
}
