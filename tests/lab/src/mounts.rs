//! The mount table, and taking mounts away.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags};
use nix::sched::{CloneFlags, unshare};

/// One line of a mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// `major:minor` of the file system.
    pub device: String,
    /// Where it is mounted.
    pub target: PathBuf,
    /// Its type, for example `fuse.s3fs`.
    pub kind: String,
    /// What is mounted, in the file system's own words.
    pub source: String,
}

impl Mount {
    /// The number of the FUSE connection behind it: the kernel's `dev_t`, printed whole.
    pub fn fuse_connection(&self) -> Option<u32> {
        let (major, minor) = self.device.split_once(':')?;
        let number = (major.parse::<u32>().ok()? << 20) | minor.parse::<u32>().ok()?;
        self.kind.starts_with("fuse").then_some(number)
    }
}

/// The mounts that a process sees, in the order in which they were made.
pub fn seen_by(pid: i32) -> anyhow::Result<Vec<Mount>> {
    let path = format!("/proc/{pid}/mountinfo");
    let text = fs::read(&path).with_context(|| format!("read {path}"))?;
    Ok(text.split(|&byte| byte == b'\n').filter_map(parse_line).collect())
}

/// The mounts at and below `dir` in this process' mount namespace.
pub fn below(dir: &Path) -> anyhow::Result<Vec<Mount>> {
    let own = seen_by(i32::try_from(std::process::id())?)?;
    Ok(own.into_iter().filter(|mount| mount.target.starts_with(dir)).collect())
}

/// Whether something is mounted exactly at `path`.
pub fn is_mounted(path: &Path) -> anyhow::Result<bool> {
    Ok(below(path)?.iter().any(|mount| mount.target == path))
}

/// A line is: id parent major:minor root target options [optional…] - type source super-options.
fn parse_line(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let dash = fields.iter().skip(6).position(|field| *field == b"-")? + 6;
    let text = |field: &[u8]| String::from_utf8_lossy(&unescape(field)).into_owned();
    Some(Mount {
        device: text(fields.get(2)?),
        target: PathBuf::from(OsString::from_vec(unescape(fields.get(4)?))),
        kind: text(fields.get(dash + 1)?),
        source: text(fields.get(dash + 2)?),
    })
}

/// mountinfo writes white space and backslashes as three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        let octal = tail.get(..3).filter(|_| byte == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(escaped) => {
                plain.push(escaped);
                rest = tail.get(3..).unwrap_or_default();
            }
            None => {
                plain.push(byte);
                rest = tail;
            }
        }
    }
    plain
}

/// Mounts a tmpfs of at most 4 MiB.
pub fn tmpfs(target: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(target).with_context(|| format!("create {}", target.display()))?;
    nix::mount::mount(Some("tmpfs"), target, Some("tmpfs"), MsFlags::empty(), Some("size=4m"))
        .with_context(|| format!("mount a tmpfs at {}", target.display()))
}

/// Makes `source` visible at `target`.
pub fn bind(source: &Path, target: &Path) -> anyhow::Result<()> {
    nix::mount::mount(Some(source), target, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .with_context(|| format!("bind {} to {}", source.display(), target.display()))
}

/// Makes `dir` a mount of its own whose mounts propagate, as a real node's root is.
pub fn make_shared(dir: &Path) -> anyhow::Result<()> {
    if !is_mounted(dir)? {
        bind(dir, dir)?;
    }
    let flags = MsFlags::MS_REC | MsFlags::MS_SHARED;
    nix::mount::mount(None::<&str>, dir, None::<&str>, flags, None::<&str>)
        .with_context(|| format!("make {} shared", dir.display()))
}

/// Gives this process a mount namespace of its own, whose mounts all get this propagation.
pub fn enter_namespace(propagation: MsFlags) -> anyhow::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS).context("enter a mount namespace")?;
    nix::mount::mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | propagation, None::<&str>)
        .context("set the propagation of the namespace")
}

/// `umount`, with the kernel's word in the error.
pub fn unmount(target: &Path) -> nix::Result<()> {
    nix::mount::umount2(target, MntFlags::UMOUNT_NOFOLLOW)
}

/// Unmounts everything at and below `dir`, the newest first; what is busy is detached, because the
/// lab's processes are already dead when this is called. What another mount hides is met once that one is gone.
pub fn unmount_all(dir: &Path) -> anyhow::Result<()> {
    let mut left = below(dir)?;
    while !left.is_empty() {
        let before = left.len();
        unmount_shown(left)?;
        left = below(dir)?;
        anyhow::ensure!(left.len() < before, "{before} mounts stay below {}", dir.display());
    }
    Ok(())
}

fn unmount_shown(mut mounts: Vec<Mount>) -> anyhow::Result<()> {
    mounts.reverse();
    mounts.sort_by_key(|mount| std::cmp::Reverse(mount.target.as_os_str().as_bytes().len()));
    for mount in &mounts {
        let outcome = match unmount(&mount.target) {
            Err(Errno::EBUSY) => nix::mount::umount2(&mount.target, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW),
            outcome => outcome,
        };
        match outcome {
            // Gone already: it propagated, or it was the copy of one that is gone.
            Ok(()) | Err(Errno::EINVAL | Errno::ENOENT) => {}
            Err(error) => {
                return Err(error).with_context(|| format!("unmount {}", mount.target.display()));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_line_with_a_blank_in_the_path() {
        let line = br"36 35 0:40 / /mnt/my\040media rw,relatime shared:1 master:2 - fuse.s3fs s3\134fs rw";
        let mount = parse_line(line).unwrap();
        assert_eq!(mount.device, "0:40");
        assert_eq!(mount.target, Path::new("/mnt/my media"));
        assert_eq!(mount.kind, "fuse.s3fs");
        assert_eq!(mount.source, "s3\\fs");
    }

    #[test]
    fn half_a_line_is_no_mount() {
        assert_eq!(parse_line(b"36 35 0:40 / /mnt rw"), None);
        assert_eq!(parse_line(b""), None);
    }

    #[test]
    fn a_lone_backslash_stays() {
        assert_eq!(unescape(br"a\"), br"a\");
        assert_eq!(unescape(br"a\x40"), br"a\x40");
    }
}
