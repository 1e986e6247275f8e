//! A container's mount namespace: a root of its own and many mounts in it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::{chdir, pivot_root};

/// Directories with one file in each.
pub struct Files(Vec<PathBuf>);

impl Files {
    /// Makes as many as there shall be mounts, on the file system that `top` is on.
    pub fn make(top: &Path, count: usize) -> anyhow::Result<Self> {
        let files = Self((0..count).map(|number| top.join(format!("files/data-{number:03}"))).collect());
        for dir in &files.0 {
            fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
            fs::write(dir.join("data"), "x").with_context(|| format!("write in {}", dir.display()))?;
        }
        Ok(files)
    }

    /// Opens one of them.
    pub fn open(&self, number: usize) -> anyhow::Result<File> {
        let dir = &self.0[number % self.0.len()];
        File::open(dir.join("data")).with_context(|| format!("open a file in {}", dir.display()))
    }
}

/// Moves this process into a new mount namespace that has exactly `mounts` mounts and nothing of
/// the host's, as a container has after `pivot_root`.
pub fn enter(dir: &Path, mounts: usize) -> anyhow::Result<Files> {
    unshare(CloneFlags::CLONE_NEWNS).context("make a mount namespace")?;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>).context("leave the host's propagation")?;
    let root = dir.join("root");
    fs::create_dir_all(&root).with_context(|| format!("create {}", root.display()))?;
    mount(Some("rootfs"), &root, Some("tmpfs"), MsFlags::empty(), Some("size=8m")).context("mount the root")?;
    fs::create_dir(root.join("dev")).context("create dev")?;
    mknod(&root.join("dev/null"), SFlag::S_IFCHR, Mode::from_bits_truncate(0o666), makedev(1, 3))
        .context("make dev/null")?;
    let sources = Files::make(&root, mounts.saturating_sub(1))?;
    let mut seen = Vec::new();
    for (number, source) in sources.0.iter().enumerate() {
        let inside = PathBuf::from(format!("/var/lib/app/volumes/data-{number:03}"));
        let target = root.join(inside.strip_prefix("/")?);
        fs::create_dir_all(&target).with_context(|| format!("create {}", target.display()))?;
        mount(Some(source), &target, None::<&str>, MsFlags::MS_BIND, None::<&str>)
            .with_context(|| format!("mount {}", target.display()))?;
        seen.push(inside);
    }
    chdir(&root).context("go to the new root")?;
    pivot_root(".", ".").context("change the root")?;
    umount2(".", MntFlags::MNT_DETACH).context("let the old root go")?;
    chdir("/").context("go to the root")?;
    Ok(Files(seen))
}
