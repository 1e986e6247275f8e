//! File systems that need a server: some process or machine must answer before they do, and it decides what is in
//! a file and whose it is.

/// One kind of them.
#[derive(Debug)]
pub struct Served {
    /// What mountinfo calls it.
    pub types: &'static [&'static str],
    /// What statfs(2) calls it (`f_type`).
    pub magics: &'static [u32],
}

/// The one list; beside each the source of its names. The numbers are those of `include/uapi/linux/magic.h` unless
/// it is said otherwise.
pub static SERVED: [Served; 13] = [
    // fs/fuse/inode.c, fs/fuse/virtio_fs.c. Subtypes are in `is_fuse`; of GlusterFS some tools leave the `fuse.` out.
    Served { types: &["fuse", "fuseblk", "virtiofs", "glusterfs"], magics: &[0x6573_5546] },
    // fs/nfs/fs_context.c
    Served { types: &["nfs", "nfs4"], magics: &[0x6969] },
    // fs/smb/client/cifsfs.c, and statfs over SMB2 (fs/smb/client/smb2ops.c)
    Served { types: &["cifs", "smb3"], magics: &[0xff53_4d42, 0xfe53_4d42] },
    // fs/smbfs/inode.c, until Linux 2.6.37
    Served { types: &["smbfs"], magics: &[0x517b] },
    // fs/ceph/super.c, the number in fs/ceph/super.h
    Served { types: &["ceph"], magics: &[0x00c3_6400] },
    // fs/9p/vfs_super.c
    Served { types: &["9p"], magics: &[0x0102_1997] },
    // OpenAFS, and fs/afs/super.c
    Served { types: &["afs"], magics: &[0x5346_414f, 0x6b41_4653] },
    // fs/coda/inode.c
    Served { types: &["coda"], magics: &[0x7375_7245] },
    // fs/ocfs2/super.c: the lock manager spans machines
    Served { types: &["ocfs2"], magics: &[0x7461_636f] },
    // fs/gfs2/ops_fstype.c, the number in include/uapi/linux/gfs2_ondisk.h: so does this one
    Served { types: &["gfs2", "gfs2meta"], magics: &[0x0116_1970] },
    // Lustre's own lustre_user.h
    Served { types: &["lustre"], magics: &[0x0bd0_0bd0] },
    // IBM Storage Scale's own gpl-linux; the number is "GPFS"
    Served { types: &["gpfs"], magics: &[0x4750_4653] },
    // BeeGFS's own FhgfsOpsSuper.h
    Served { types: &["beegfs"], magics: &[0x1983_0326] },
];

/// Whether a type of mountinfo is FUSE with a connection of its own.
pub fn is_fuse(fs_type: &[u8]) -> bool {
    // A subtype follows the first dot (`fuse.s3fs`, `fuseblk.ntfs`).
    let kind = fs_type.split(|byte| *byte == b'.').next();
    matches!(kind, Some(b"fuse" | b"fuseblk"))
}

/// Whether a file system of this type mounts one of that type below itself when a process walks there. The kernel takes such
/// a mount along when its parent is unmounted (`MNT_SHRINKABLE`, which mountinfo does not show).
pub fn automounts(parent: &[u8], child: &[u8]) -> bool {
    match parent {
        // fs/nfs/namespace.c (crossmnt, referrals), fs/smb/client/namespace.c (DFS), fs/afs/mntpt.c
        b"nfs" | b"nfs4" => matches!(child, b"nfs" | b"nfs4"),
        b"cifs" | b"smb3" => matches!(child, b"cifs" | b"smb3"),
        b"afs" => child == b"afs",
        // kernel/trace/trace.c
        b"debugfs" => child == b"tracefs",
        // fs/fuse/dir.c fuse_dentry_automount
        _ => parent == child && parent == b"virtiofs",
    }
}

/// Whether a type of mountinfo needs a server.
pub fn needs_server(fs_type: &[u8]) -> bool {
    is_fuse(fs_type) || SERVED.iter().any(|served| served.types.iter().any(|name| name.as_bytes() == fs_type))
}

/// The same by what statfs(2) says.
pub fn magic_needs_server(magic: u32) -> bool {
    SERVED.iter().any(|served| served.magics.contains(&magic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_agree() {
        for served in &SERVED {
            assert!(served.types.iter().all(|name| needs_server(name.as_bytes())));
            assert!(served.magics.iter().all(|magic| magic_needs_server(*magic)));
        }
        for fs_type in ["fuse", "fuseblk", "fuse.s3fs", "fuseblk.ntfs", "fuse."] {
            assert!(needs_server(fs_type.as_bytes()) && is_fuse(fs_type.as_bytes()), "{fs_type}");
        }
        assert!(!is_fuse(b"fusectl") && !is_fuse(b"fusefs.x"));
        assert!(!is_fuse(b"virtiofs"), "its connection is the host's");
    }

    #[test]
    fn only_some_mount_others_by_themselves() {
        assert!(automounts(b"nfs4", b"nfs4") && automounts(b"debugfs", b"tracefs") && automounts(b"cifs", b"smb3"));
        assert!(!automounts(b"nfs4", b"tmpfs") && !automounts(b"ext4", b"ext4") && !automounts(b"tracefs", b"debugfs"));
    }

    #[test]
    fn local_ones_need_none() {
        for fs_type in ["overlay", "tmpfs", "ext4", "xfs", "btrfs", "proc", "cgroup2", "fusectl", "nfsd", ""] {
            assert!(!needs_server(fs_type.as_bytes()), "{fs_type}");
        }
        // ext4, tmpfs, overlay, XFS
        for magic in [0xef53, 0x0102_1994, 0x794c_7630, 0x5846_5342] {
            assert!(!magic_needs_server(magic), "{magic:#x}");
        }
    }
}
