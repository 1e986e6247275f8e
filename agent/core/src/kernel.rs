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

/// Functions of one subsystem in one place.
struct Entry {
    /// Their names; one that ends in `*` is the beginning of a name.
    names: &'static [&'static str],
    subsystem: Subsystem,
    /// The file of the kernel, or of the module, that has them. It is read, not linked.
    #[cfg_attr(not(test), expect(dead_code, reason = "for changes of the list"))]
    source: &'static str,
}

const CIFS: Subsystem = Subsystem::Served(&["cifs", "smb3"]);
const CEPH: Subsystem = Subsystem::Served(&["ceph"]);
const PLAN_9: Subsystem = Subsystem::Served(&["9p"]);
const LUSTRE: Subsystem = Subsystem::Served(&["lustre"]);
const GPFS: Subsystem = Subsystem::Served(&["gpfs"]);
const EXT4: Subsystem = Subsystem::Journal(&["ext4", "ext3", "ocfs2"]);
const XFS: Subsystem = Subsystem::Journal(&["xfs"]);
const BTRFS: Subsystem = Subsystem::Journal(&["btrfs"]);

/// The narrow ones first: a stack may have several.
static KNOWN: [Entry; 31] = [
    Entry {
        names: &["wait_for_response", "wait_for_free_credits", "compound_send_recv", "wait_for_compound_request"],
        subsystem: CIFS,
        source: "fs/smb/client/transport.c",
    },
    Entry { names: &["cifs_*", "smb2_*", "SMB2_*", "cifsd_*"], subsystem: CIFS, source: "fs/smb/client" },
    Entry { names: &["ceph_*", "__ceph_*"], subsystem: CEPH, source: "fs/ceph, net/ceph" },
    Entry { names: &["p9_*", "v9fs_*"], subsystem: PLAN_9, source: "net/9p/client.c, fs/9p" },
    Entry {
        names: &["ptlrpc_*", "ldlm_*", "cl_sync_io_wait", "osc_*", "mdc_*", "ll_*"],
        subsystem: LUSTRE,
        source: "lustre/ptlrpc, lustre/ldlm, lustre/llite (lustre-release)",
    },
    Entry { names: &["cxiWaitEventWait", "kxWaitCondvar"], subsystem: GPFS, source: "gpl-linux/cxiSystem.c (GPFS)" },
    Entry {
        names: &["percpu_rwsem_wait", "__percpu_down_read"],
        subsystem: Subsystem::Freeze,
        source: "kernel/locking/percpu-rwsem.c, taken by sb_start_write of include/linux/fs.h",
    },
    Entry { names: &["__sb_start_write"], subsystem: Subsystem::Freeze, source: "fs/super.c, before Linux 5.9" },
    Entry {
        names: &["jbd2_log_wait_commit", "jbd2_complete_transaction"],
        subsystem: EXT4,
        source: "fs/jbd2/journal.c",
    },
    Entry {
        names: &["wait_transaction_locked", "wait_transaction_switching", "start_this_handle", "do_get_write_access"],
        subsystem: EXT4,
        source: "fs/jbd2/transaction.c",
    },
    Entry { names: &["add_transaction_credits"], subsystem: EXT4, source: "fs/jbd2/transaction.c" },
    Entry { names: &["__jbd2_log_wait_for_space"], subsystem: EXT4, source: "fs/jbd2/checkpoint.c" },
    Entry { names: &["ext4_*", "__ext4_*"], subsystem: EXT4, source: "fs/ext4" },
    Entry {
        names: &["xlog_*", "xfs_log_*", "__xfs_log_force", "xfs_buf_*", "xfs_*"],
        subsystem: XFS,
        source: "fs/xfs/xfs_log.c, fs/xfs/xfs_buf.c",
    },
    Entry {
        names: &["wait_current_trans", "wait_for_commit", "btrfs_*"],
        subsystem: BTRFS,
        source: "fs/btrfs/transaction.c",
    },
    Entry {
        names: &["blk_mq_get_tag", "blk_mq_freeze_queue_wait", "blk_queue_enter", "__bio_queue_enter"],
        subsystem: Subsystem::Device,
        source: "block/blk-mq-tag.c, block/blk-mq.c, block/blk-core.c",
    },
    Entry {
        names: &["submit_bio_wait", "blk_execute_rq", "blkdev_issue_flush", "__blkdev_direct_IO*"],
        subsystem: Subsystem::Device,
        source: "block/bio.c, block/blk-mq.c, block/blk-flush.c, block/fops.c",
    },
    Entry {
        names: &["rq_qos_wait", "wbt_wait", "blk_mq_*"],
        subsystem: Subsystem::Device,
        source: "block/blk-rq-qos.c, block/blk-wbt.c",
    },
    Entry { names: &["iomap_dio_*", "__iomap_dio_rw"], subsystem: Subsystem::Device, source: "fs/iomap/direct-io.c" },
    Entry {
        names: &["dm_wait_*", "dm_suspend", "multipath_*"],
        subsystem: Subsystem::Device,
        source: "drivers/md/dm.c, drivers/md/dm-mpath.c",
    },
    Entry {
        names: &["md_write_start", "md_flush_request", "md_*", "raid1_*", "raid5_*", "raid10_*", "wait_barrier"],
        subsystem: Subsystem::Device,
        source: "drivers/md",
    },
    Entry { names: &["loop_*", "lo_*"], subsystem: Subsystem::Device, source: "drivers/block/loop.c" },
    Entry { names: &["nbd_*"], subsystem: Subsystem::Device, source: "drivers/block/nbd.c" },
    Entry { names: &["rbd_*"], subsystem: Subsystem::Device, source: "drivers/block/rbd.c" },
    Entry { names: &["__wait_on_buffer", "bh_*"], subsystem: Subsystem::Device, source: "fs/buffer.c" },
    Entry { names: &["d_alloc_parallel", "d_wait_lookup"], subsystem: Subsystem::Directory, source: "fs/dcache.c" },
    Entry {
        names: &[
            "lookup_slow", "walk_component", "open_last_lookups", "path_openat", "filename_create", "do_unlinkat",
            "do_rmdir", "iterate_dir", "lock_rename",
        ],
        subsystem: Subsystem::Directory,
        source: "fs/namei.c, fs/readdir.c: the lock of the directory's inode",
    },
    Entry {
        names: &["balance_dirty_pages", "wb_wait_for_completion", "sync_inodes_sb", "wait_sb_inodes"],
        subsystem: Subsystem::Writeback,
        source: "mm/page-writeback.c, fs/fs-writeback.c",
    },
    Entry {
        names: &["folio_wait_bit_common", "folio_wait_writeback", "__folio_lock*"],
        subsystem: Subsystem::Page,
        source: "mm/filemap.c, mm/page-writeback.c",
    },
    Entry {
        names: &["wait_on_page_bit*", "__lock_page*", "bit_wait_io"],
        subsystem: Subsystem::Page,
        source: "mm/filemap.c before Linux 5.16, kernel/sched/wait_bit.c",
    },
    Entry {
        names: &[
            "lock_mm_and_find_vma", "exit_mm", "exit_mmap", "vm_mmap_pgoff", "__vm_munmap", "do_mprotect_pkey",
            "do_madvise", "do_user_addr_fault", "dup_mmap",
        ],
        subsystem: Subsystem::Memory,
        source: "mm/mmap.c, mm/mmap_lock.c, kernel/exit.c, arch/x86/mm/fault.c: mmap_lock",
    },
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
    KNOWN.iter().find_map(|entry| {
        let above = || stack().find(|function| entry.has(function)).filter(|_| entry.subsystem.is_a_place());
        let function = Some(sleeps_in).filter(|function| entry.has(function)).or_else(above)?;
        Some(WaitSite { function, subsystem: entry.subsystem })
    })
}

/// The clients of FUSE and NFS: what a task there waits for is reported by `causes::fuse` and `causes::nfs`, and whatever
/// has called them waits for the same.
fn is_told_elsewhere(function: &str) -> bool {
    ["request_wait_answer", "fuse_", "__fuse_", "nfs", "rpc_", "__rpc_"].iter().any(|name| function.starts_with(name))
}

impl Entry {
    fn has(&self, function: &str) -> bool {
        self.names.iter().any(|name| match name.strip_suffix('*') {
            Some(beginning) => function.starts_with(beginning),
            None => function == *name,
        })
    }
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
    fn each_name_belongs_to_its_own_entry_and_each_entry_has_a_source() {
        for (index, entry) in KNOWN.iter().enumerate() {
            assert!(!entry.source.is_empty());
            for name in entry.names {
                let name = name.trim_end_matches('*');
                let first = KNOWN.iter().position(|other| other.has(name));
                let first = first.map(|first| KNOWN[first].subsystem);
                assert_eq!(first, Some(KNOWN[index].subsystem), "{name}");
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
