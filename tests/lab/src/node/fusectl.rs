//! The control file system of FUSE, by which waits are counted and ended.
//!
//! systemd mounts it at boot; where there is no systemd, the lab does, and undoes it.

use std::{fs, path::Path};

use anyhow::Context as _;
use nix::mount::{MsFlags, mount};

use super::Layout;
use crate::mounts;

/// Whether fusectl is mounted.
pub fn is_mounted() -> bool {
    mounts::is_mounted(Path::new(PLACE)).unwrap_or(false)
}

const PLACE: &str = "/sys/fs/fuse/connections";

/// Mounts it, unless it is mounted.
pub fn provide(layout: &Layout) -> anyhow::Result<()> {
    let place = Path::new(PLACE);
    if mounts::is_mounted(place)? {
        return Ok(());
    }
    // Noted first: a crash in between leaves a note too many, not a mount.
    fs::write(note(layout), "").context("note that the lab mounts fusectl")?;
    mount(Some("fusectl"), place, Some("fusectl"), MsFlags::empty(), None::<&str>)
        .with_context(|| format!("mount fusectl at {PLACE}: is FUSE available?"))
}

/// Unmounts it, if the lab mounted it.
pub fn withdraw(layout: &Layout) -> anyhow::Result<()> {
    if note(layout).exists() && mounts::is_mounted(Path::new(PLACE))? {
        mounts::unmount(Path::new(PLACE)).with_context(|| format!("unmount {PLACE}"))?;
    }
    Ok(())
}

/// Ends every wait for the server of one connection.
pub fn abort(connection: &str) {
    let file = Path::new(PLACE).join(connection).join("abort");
    // Absent when the server is gone: then no process waits either.
    let _ = fs::write(file, "1");
}

fn note(layout: &Layout) -> std::path::PathBuf {
    layout.dir().join("fusectl-is-ours")
}
