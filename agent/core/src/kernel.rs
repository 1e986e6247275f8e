//! Which part of the kernel a function belongs to: from the place where a task sleeps to what it waits for.
//!
//! `wchan` names the innermost function that is not the scheduler's (and not marked `__sched`), so a lock is recognised by
//! the function that takes it. Static functions come and go with the compiler's inlining: a name that is not here says
//! nothing.

use crate::observation::{Mount, Thread};

/// What a task waits for when it sleeps in one of its functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subsystem {
    /// The server behind these types of file systems.
    Served(&'static [&'static str]),
    /// The end of a freeze of a file system.
    Freeze,
    /// The journal or log of these types of file systems, and so the device below.
    Journal(&'static [&'static str]),
    Device,
    /// A page of a file, on whatever file system.
    Page,
    /// Writeback that has fallen behind, on whatever file system.
    Writeback,
    /// Another task that looks up, or changes, the same directory.
    Directory,
    /// Another task of the same memory that has its lock.
    Memory,
}

const CIFS: Subsystem = Subsystem::Served(&["cifs", "smb3"]);
const CEPH: Subsystem = Subsystem::Served(&["ceph"]);
const PLAN_9: Subsystem = Subsystem::Served(&["9p"]);
const LUSTRE: Subsystem = Subsystem::Served(&["lustre"]);
const GPFS: Subsystem = Subsystem::Served(&["gpfs"]);
const EXT4: Subsystem = Subsystem::Journal(&["ext4", "ext3", "ocfs2"]);
const XFS: Subsystem = Subsystem::Journal(&["xfs"]);
const BTRFS: Subsystem = Subsystem::Journal(&["btrfs"]);

/// The functions of each subsystem, by the files of the kernel, or of the module, that have them. A name that ends in `*` is
/// the beginning of one. The narrow ones first: a stack may have several.
static KNOWN: [(Subsystem, &str); 33] = [
    // fs/smb/client/transport.c
    (CIFS, "wait_for_response wait_for_free_credits compound_send_recv wait_for_compound_request"),
    // fs/smb/client
    (CIFS, "cifs_* smb2_* SMB2_* cifsd_*"),
    // fs/ceph, net/ceph
    (CEPH, "ceph_* __ceph_*"),
    // net/9p/client.c, fs/9p
    (PLAN_9, "p9_* v9fs_*"),
    // lustre/ptlrpc, lustre/ldlm, lustre/llite (lustre-release)
    (LUSTRE, "ptlrpc_* ldlm_* cl_sync_io_wait osc_* mdc_* ll_*"),
    // gpl-linux/cxiSystem.c (GPFS)
    (GPFS, "cxiWaitEventWait kxWaitCondvar"),
    // kernel/locking/percpu-rwsem.c, taken by sb_start_write of include/linux/fs.h
    (Subsystem::Freeze, "percpu_rwsem_wait __percpu_down_read"),
    // fs/super.c, before Linux 5.9
    (Subsystem::Freeze, "__sb_start_write"),
    // fs/jbd2/journal.c
    (EXT4, "jbd2_log_wait_commit jbd2_complete_transaction"),
    // fs/jbd2/transaction.c
    (EXT4, "wait_transaction_locked wait_transaction_switching start_this_handle do_get_write_access"),
    // fs/jbd2/transaction.c
    (EXT4, "add_transaction_credits"),
    // fs/jbd2/checkpoint.c
    (EXT4, "__jbd2_log_wait_for_space"),
    // fs/ext4
    (EXT4, "ext4_* __ext4_*"),
    // fs/xfs/xfs_log.c, fs/xfs/xfs_buf.c
    (XFS, "xlog_* xfs_log_* __xfs_log_force xfs_buf_* xfs_*"),
    // fs/btrfs/transaction.c
    (BTRFS, "wait_current_trans wait_for_commit btrfs_*"),
    // block/blk-mq-tag.c, block/blk-mq.c, block/blk-core.c
    (Subsystem::Device, "blk_mq_get_tag blk_mq_freeze_queue_wait blk_queue_enter __bio_queue_enter"),
    // block/bio.c, block/blk-mq.c, block/blk-flush.c, block/fops.c
    (Subsystem::Device, "submit_bio_wait blk_execute_rq blkdev_issue_flush __blkdev_direct_IO*"),
    // block/blk-rq-qos.c, block/blk-wbt.c
    (Subsystem::Device, "rq_qos_wait wbt_wait blk_mq_*"),
    // fs/iomap/direct-io.c
    (Subsystem::Device, "iomap_dio_* __iomap_dio_rw"),
    // drivers/md/dm.c, drivers/md/dm-mpath.c
    (Subsystem::Device, "dm_wait_* dm_suspend multipath_*"),
    // drivers/md
    (Subsystem::Device, "md_write_start md_flush_request md_* raid1_* raid5_* raid10_* wait_barrier"),
    // drivers/block/loop.c
    (Subsystem::Device, "loop_* lo_*"),
    // drivers/block/nbd.c
    (Subsystem::Device, "nbd_*"),
    // drivers/block/rbd.c
    (Subsystem::Device, "rbd_*"),
    // fs/buffer.c
    (Subsystem::Device, "__wait_on_buffer bh_*"),
    // fs/dcache.c
    (Subsystem::Directory, "d_alloc_parallel d_wait_lookup"),
    // fs/namei.c, fs/readdir.c: the lock of the directory's inode
    (Subsystem::Directory, "lookup_slow walk_component open_last_lookups path_openat filename_create do_unlinkat"),
    (Subsystem::Directory, "do_rmdir iterate_dir lock_rename"),
    // mm/page-writeback.c, fs/fs-writeback.c
    (Subsystem::Writeback, "balance_dirty_pages wb_wait_for_completion sync_inodes_sb wait_sb_inodes"),
    // mm/filemap.c, mm/page-writeback.c
    (Subsystem::Page, "folio_wait_bit_common folio_wait_writeback __folio_lock*"),
    // mm/filemap.c before Linux 5.16, kernel/sched/wait_bit.c
    (Subsystem::Page, "wait_on_page_bit* __lock_page* bit_wait_io"),
    // mm/mmap.c, mm/mmap_lock.c, kernel/exit.c, arch/x86/mm/fault.c: mmap_lock
    (Subsystem::Memory, "lock_mm_and_find_vma exit_mm exit_mmap vm_mmap_pgoff __vm_munmap do_mprotect_pkey do_madvise"),
    (Subsystem::Memory, "do_user_addr_fault dup_mmap"),
];

/// A function of which it is known what a task in it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitSite<'a> {
    pub function: &'a str,
    /// Its part of the kernel.
    pub subsystem: Subsystem,
}

/// What is known of the place where a thread sleeps: of `wchan`, and of the stack where it may be read.
///
/// A client of a file system or a driver may stand anywhere in the stack. A lookup of a name or a page fault calls
/// everything else, so those only count where the task sleeps.
pub fn wait_site(thread: &Thread) -> Option<WaitSite<'_>> {
    let wchan = thread.wchan.get().map(String::as_str).filter(|wchan| !wchan.is_empty());
    let stack = || thread.stack.get().into_iter().flatten().map(String::as_str);
    let sleeps_in = wchan.or_else(|| stack().next()).filter(|function| !is_told_elsewhere(function))?;
    KNOWN.iter().find_map(|&(subsystem, names)| {
        let above = || stack().find(|function| has(names, function)).filter(|_| subsystem.is_a_place());
        let function = Some(sleeps_in).filter(|function| has(names, function)).or_else(above)?;
        Some(WaitSite { function, subsystem })
    })
}

/// The clients of FUSE and NFS: what a task there waits for is reported by `causes::fuse` and `causes::nfs`, and whatever
/// has called them waits for the same.
fn is_told_elsewhere(function: &str) -> bool {
    ["request_wait_answer", "fuse_", "__fuse_", "nfs", "rpc_", "__rpc_"].iter().any(|name| function.starts_with(name))
}

fn has(names: &str, function: &str) -> bool {
    names.split(' ').any(|name| match name.strip_suffix('*') {
        Some(beginning) => function.starts_with(beginning),
        None => function == name,
    })
}

impl Subsystem {
    /// Whether all that its functions call waits for the same.
    fn is_a_place(self) -> bool {
        match self {
            Subsystem::Served(_) | Subsystem::Journal(_) | Subsystem::Device => true,
            Subsystem::Freeze | Subsystem::Page | Subsystem::Writeback | Subsystem::Directory | Subsystem::Memory => {
                false
            }
        }
    }

    /// Whether a task that waits in it may wait for this mount.
    pub fn may_be(self, mount: &Mount) -> bool {
        match self {
            Subsystem::Served(types) | Subsystem::Journal(types) => types.contains(&mount.fs_type.as_str()),
            // What has no device below it cannot be frozen but by itself.
            Subsystem::Freeze | Subsystem::Device => is_on_device(mount),
            Subsystem::Page | Subsystem::Writeback => is_on_device(mount) || mount.needs_server(),
            Subsystem::Directory => mount.needs_server(),
            Subsystem::Memory => false,
        }
    }
}

/// Whether a file system lies on a block device of this machine. Btrfs has a device number of its own.
pub fn is_on_device(mount: &Mount) -> bool {
    mount.dev.major != 0 || mount.fs_type == "btrfs"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Seen, sample};

    fn subsystem(wchan: &str, stack: &[&str]) -> Option<Subsystem> {
        let mut thread = sample::process(1, "a", 'D', 1).threads[0].clone();
        thread.wchan = Seen::Seen(wchan.into());
        if !stack.is_empty() {
            thread.stack = Seen::Seen(stack.iter().map(|function| (*function).to_owned()).collect());
        }
        wait_site(&thread).map(|site| site.subsystem)
    }

    #[test]
    fn each_name_belongs_to_its_own_entry() {
        for (subsystem, names) in KNOWN {
            for name in names.split(' ') {
                let name = name.trim_end_matches('*');
                let first = KNOWN.iter().find(|(_, names)| has(names, name)).map(|(subsystem, _)| *subsystem);
                assert_eq!(first, Some(subsystem), "{name}");
            }
        }
    }

    #[test]
    fn the_narrowest_of_a_stack_counts() {
        assert_eq!(subsystem("folio_wait_bit_common", &[]), Some(Subsystem::Page));
        let stack = ["folio_wait_bit_common", "xfs_file_read_iter", "vfs_read"];
        assert_eq!(subsystem("folio_wait_bit_common", &stack), Some(XFS));
        assert_eq!(subsystem("percpu_rwsem_wait", &["percpu_rwsem_wait", "mnt_want_write"]), Some(Subsystem::Freeze));
        let stack = ["request_wait_answer", "fuse_lookup_name", "lookup_slow", "walk_component", "path_openat"];
        assert_eq!(subsystem("request_wait_answer", &stack), None, "it waits for the server, not for the directory");
        assert_eq!(subsystem("wait_for_response", &[]), Some(CIFS));
        assert_eq!(subsystem("d_alloc_parallel", &[]), Some(Subsystem::Directory));
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        for function in ["", "io_schedule", "request_wait_answer", "rpc_wait_bit_killable", "zap_pid_ns_processes"] {
            assert_eq!(subsystem(function, &[]), None, "{function}");
        }
    }
}
