//! The mount table of our own namespace by `listmount(2)` and `statmount(2)`: the kernel needs half of the
//! time that `/proc/self/mountinfo` costs it, because no file system is asked for options that nobody reads.

use std::{ffi::CStr, io, io::Write as _};

use linux_raw_sys::general::{
    __NR_listmount, __NR_statmount, STATMOUNT_FS_SUBTYPE, STATMOUNT_FS_TYPE, STATMOUNT_MNT_BASIC, STATMOUNT_MNT_OPTS,
    STATMOUNT_MNT_POINT, STATMOUNT_MNT_ROOT, STATMOUNT_SB_BASIC, STATMOUNT_SB_SOURCE, mnt_id_req, statmount,
};

/// The root of the namespace, instead of a mount (`LSMT_ROOT`).
const ROOT: u64 = u64::MAX;
/// Room for the strings of one mount: two paths, a type and a source.
const TEXT: usize = 16 << 10;
/// If none of so many mounts has a source, the kernel does not tell sources.
const FIRST: usize = 8;
/// What is asked of each mount.
const WANTED: u32 = STATMOUNT_SB_BASIC
    | STATMOUNT_MNT_BASIC
    | STATMOUNT_MNT_ROOT
    | STATMOUNT_MNT_POINT
    | STATMOUNT_FS_TYPE
    | STATMOUNT_FS_SUBTYPE
    | STATMOUNT_SB_SOURCE;
/// `SB_RDONLY` of `include/linux/fs.h`.
const SB_RDONLY: u32 = 1;
/// `MOUNT_ATTR_RDONLY` of `include/uapi/linux/mount.h`.
const MOUNT_ATTR_RDONLY: u64 = 1;
/// `MS_SHARED` of `include/uapi/linux/mount.h`.
const MS_SHARED: u64 = 1 << 20;

/// The table as mountinfo shows it, but of the options only `ro` and `rw`, and those of cgroup v1, which are its
/// controllers. An error where this kernel does not tell all of that (before 6.13), or not to us: then mountinfo
/// must be read. One longer than `cap` bytes is an error, too.
pub fn own_mount_table(cap: usize) -> io::Result<Vec<u8>> {
    let mut table = Vec::with_capacity(64 << 10);
    let mut answer = Answer::new();
    let mut sources = 0;
    for (number, id) in ids()?.into_iter().enumerate() {
        // The source came with the subtype, without which a FUSE mount does not say whose it is. Nearly every
        // mount has one.
        if sources == 0 && number == FIRST {
            break;
        }
        if !answer.ask(id, WANTED)? || !answer.tells(STATMOUNT_MNT_POINT) {
            // Unmounted or moved out of sight since it was listed.
            continue;
        }
        sources += usize::from(answer.tells(STATMOUNT_SB_SOURCE));
        let before = table.len();
        answer.write_line(&mut table)?;
        if answer.fs_type() == b"cgroup" {
            if answer.ask(id, STATMOUNT_MNT_OPTS)? && answer.tells(STATMOUNT_MNT_OPTS) {
                table.push(b',');
                table.extend_from_slice(answer.text(answer.head.mnt_opts));
            } else {
                // A hierarchy without its controllers would be taken for one that the runtime does not know.
                table.truncate(before);
                continue;
            }
        }
        table.push(b'\n');
        if table.len() > cap {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
    }
    if sources > 0 { Ok(table) } else { Err(io::Error::from(io::ErrorKind::Unsupported)) }
}

/// The mounts in the kernel's order, which is that of mountinfo.
fn ids() -> io::Result<Vec<u64>> {
    let mut ids = Vec::new();
    let mut piece = [0_u64; 512];
    loop {
        let request = request(ROOT, ids.last().copied().unwrap_or(0));
        // SAFETY: `request` has the layout and says the size of the kernel's structure, and the kernel writes at
        // most as many numbers as `piece` has room for.
        #[allow(unsafe_code)]
        let count = unsafe {
            libc::syscall(i64::from(__NR_listmount) as _, &raw const request, piece.as_mut_ptr(), piece.len(), 0)
        };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        ids.extend_from_slice(&piece[..count]);
        if count < piece.len() {
            return Ok(ids);
        }
    }
}

/// About a mount of our own namespace.
fn request(mnt_id: u64, param: u64) -> mnt_id_req {
    let size = u32::try_from(size_of::<mnt_id_req>()).unwrap_or(u32::MAX);
    mnt_id_req { size, spare: 0, mnt_id, param, mnt_ns_id: 0 }
}

/// What the kernel writes about one mount.
#[repr(C)]
struct Answer {
    head: statmount,
    text: [u8; TEXT],
}

impl Answer {
    fn new() -> Box<Self> {
        // SAFETY: it is made of numbers, of which 0 is one.
        #[allow(unsafe_code)]
        unsafe {
            Box::new_zeroed().assume_init()
        }
    }

    /// Whether there is such a mount.
    fn ask(&mut self, id: u64, wanted: u32) -> io::Result<bool> {
        let request = request(id, wanted.into());
        // SAFETY: `request` has the layout and says the size of the kernel's structure, and the kernel writes at
        // most the given number of bytes; any bytes are an `Answer`.
        #[allow(unsafe_code)]
        let failed = unsafe {
            let here: *mut Answer = self;
            libc::syscall(i64::from(__NR_statmount) as _, &raw const request, here, size_of::<Answer>(), 0)
        };
        match io::Error::last_os_error() {
            _ if failed == 0 => Ok(true),
            error if error.kind() == io::ErrorKind::NotFound => Ok(false),
            error => Err(error),
        }
    }

    fn tells(&self, what: u32) -> bool {
        self.head.mask & u64::from(what) != 0
    }

    /// The string that begins there.
    fn text(&self, offset: u32) -> &[u8] {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.text.get(offset..));
        rest.and_then(|rest| CStr::from_bytes_until_nul(rest).ok()).map_or(b"", CStr::to_bytes)
    }

    fn fs_type(&self) -> &[u8] {
        self.text(self.head.fs_type)
    }

    /// `36 35 98:0 /mnt1 /mnt2 rw master:1 - ext3 /dev/root rw`, without the end of the line.
    fn write_line(&self, table: &mut Vec<u8>) -> io::Result<()> {
        let head = &self.head;
        let access = |read_only: bool| if read_only { "ro" } else { "rw" };
        write!(table, "{} {} {}:{} ", head.mnt_id_old, head.mnt_parent_id_old, head.sb_dev_major, head.sb_dev_minor)?;
        write_escaped(table, self.text(head.mnt_root));
        table.push(b' ');
        write_escaped(table, self.text(head.mnt_point));
        write!(table, " {}", access(head.mnt_attr & MOUNT_ATTR_RDONLY != 0))?;
        if head.mnt_propagation & MS_SHARED != 0 {
            write!(table, " shared:{}", head.mnt_peer_group)?;
        }
        if head.mnt_master != 0 {
            write!(table, " master:{}", head.mnt_master)?;
        }
        table.extend_from_slice(b" - ");
        write_escaped(table, self.fs_type());
        if self.tells(STATMOUNT_FS_SUBTYPE) {
            table.push(b'.');
            write_escaped(table, self.text(head.fs_subtype));
        }
        table.push(b' ');
        if self.tells(STATMOUNT_SB_SOURCE) {
            write_escaped(table, self.text(head.sb_source));
        }
        write!(table, " {}", access(head.sb_flags & SB_RDONLY != 0))
    }
}

/// As the kernel's `mangle` does it.
fn write_escaped(table: &mut Vec<u8>, text: &[u8]) {
    for byte in text {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' => table.extend(format!("\\{byte:03o}").bytes()),
            _ => table.push(*byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{observation::Mount, parse::mountinfo::mounts};
    use nix::mount::{MsFlags, mount};
    use std::path::Path;

    fn mount_at(dir: &Path, name: &str, source: &str, fs_type: &str, flags: MsFlags, data: &str) -> std::path::PathBuf {
        let target = dir.join(name);
        std::fs::create_dir_all(&target).unwrap();
        mount(Some(source), &target, Some(fs_type), flags, Some(data)).unwrap();
        target
    }

    fn change(target: &Path, flags: MsFlags) {
        mount(None::<&str>, target, None::<&str>, flags, None::<&str>).unwrap();
    }

    /// A thread may have a mount namespace of its own.
    fn in_a_namespace_full_of_mounts<T: Send>(act: impl FnOnce() -> T + Send) -> T {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            let done = scope.spawn(|| {
                nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).unwrap();
                change(Path::new("/"), MsFlags::MS_REC | MsFlags::MS_SLAVE);
                let none = MsFlags::empty();
                let odd = mount_at(dir.path(), "a b\\c\nd#\u{1b}", "source with\tblank", "tmpfs", none, "size=1m");
                let sub = odd.join("sub");
                std::fs::create_dir(&sub).unwrap();
                let bound = mount_at(dir.path(), "bound", sub.to_str().unwrap(), "", MsFlags::MS_BIND, "");
                change(&bound, MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY);
                let shared = mount_at(dir.path(), "shared", "none", "tmpfs", MsFlags::MS_RDONLY, "");
                change(&shared, MsFlags::MS_SHARED);
                let slave = mount_at(dir.path(), "slave", shared.to_str().unwrap(), "", MsFlags::MS_BIND, "");
                change(&slave, MsFlags::MS_SLAVE);
                change(&slave, MsFlags::MS_SHARED);
                mount_at(dir.path(), "nameless", "", "tmpfs", none, "");
                // A hierarchy without controllers works beside cgroup v2, unless the kernel lacks v1.
                let v1 = dir.path().join("v1");
                std::fs::create_dir(&v1).unwrap();
                let _ = mount(Some("cgroup"), &v1, Some("cgroup"), none, Some("none,name=why-terminating-test"));
                let pinned = dir.path().join("netns");
                std::fs::write(&pinned, "").unwrap();
                mount(Some("/proc/thread-self/ns/net"), &pinned, None::<&str>, MsFlags::MS_BIND, None::<&str>).unwrap();
                act()
            });
            done.join().unwrap()
        })
    }

    fn of_mountinfo() -> Vec<u8> {
        std::fs::read("/proc/thread-self/mountinfo").unwrap()
    }

    /// The kernel that runs the tests may be too old; then it must say so and nothing else.
    #[test]
    fn is_what_mountinfo_tells() {
        let (ours, theirs) = in_a_namespace_full_of_mounts(|| (own_mount_table(1 << 20), of_mountinfo()));
        let Ok(ours) = ours else {
            let release = sysinfo::System::kernel_version().unwrap();
            let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
            let version = (numbers.next().unwrap(), numbers.next().unwrap());
            assert!(version < (6, 13), "Linux {release} tells everything: {ours:?}");
            return;
        };
        let all = |text: &[u8]| -> Vec<Mount> { mounts(text, |_| true).mounts };
        assert!(all(&theirs).len() > 8);
        assert_eq!(all(&ours), all(&theirs));
        let controllers = |text: &[u8]| {
            let mut found = Vec::new();
            mounts(text, |mount| {
                if mount.fs_type() == b"cgroup" {
                    let mut options: Vec<Vec<u8>> =
                        mount.super_options().split(|b| *b == b',').map(<[u8]>::to_vec).collect();
                    options.sort();
                    found.push(options);
                }
                false
            });
            found
        };
        assert_eq!(controllers(&ours), controllers(&theirs));
    }
}
