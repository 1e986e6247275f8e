//! Loop devices, from `/sys/block`: the kubelet makes one per raw block volume. One on a file in a volume holds that volume
//! through the kernel.

use std::{io, path::Path};

use super::{HostRoot, block_stack, seen_at};
use crate::observation::{Dev, HostPath, LoopDevice, Seen};
use crate::sys;

/// Loop devices with a backing file at or below the kubelet's directory.
pub fn loops(host: &HostRoot, kubelet_root: &HostPath) -> Seen<Vec<LoopDevice>> {
    host_loops(host).map(|loops| loops.into_iter().filter(|device| device.file.is_within(kubelet_root)).collect())
}

/// All loop devices in use.
pub fn host_loops(host: &HostRoot) -> Seen<Vec<LoopDevice>> {
    let block = host.at(&"/sys/block".into());
    let files = seen_at("/sys/block", files_in(&block));
    files.map(|files| files.into_iter().filter_map(|file| device(&block, file)).collect())
}

/// A loop device that is in use: its name (`loop0`), its backing file and whether that is
/// deleted.
pub(super) type LoopFile = (String, HostPath, bool);

/// The loop devices in use, as the agent's own `/sys` shows them (it is the same everywhere).
pub(super) fn loop_files() -> io::Result<Vec<LoopFile>> {
    files_in(Path::new("/sys/block"))
}

fn files_in(block: &Path) -> io::Result<Vec<LoopFile>> {
    let entries = sys::list(block)?;
    let names = entries.iter().filter_map(|entry| entry.name.to_str()).filter(|name| name.starts_with("loop"));
    let file = |name: &str| {
        // One that is not in use has no such file.
        let line = sys::read_capped(&block.join(name).join("loop/backing_file"), sys::limits::MAX_LINE_BYTES).ok()?;
        let (path, deleted) = block_stack::backing_file(&line);
        Some((name.to_owned(), path, deleted))
    };
    Ok(names.filter_map(file).collect())
}

fn device(block: &Path, (name, file, deleted): LoopFile) -> Option<LoopDevice> {
    let of = block.join(&name);
    let dev = Dev::parse(&sys::read_text(&of.join("dev"), sys::limits::MAX_LINE_BYTES).ok()?)?;
    let holders = sys::list(&of.join("holders")).unwrap_or_default();
    let mut holders: Vec<String> = holders.iter().map(|entry| entry.name.to_string_lossy().into_owned()).collect();
    holders.sort();
    let layers = block_stack::built_on(block, &name);
    Some(LoopDevice { device: format!("/dev/{name}"), dev, file, deleted, holders, layers })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn sees_a_real_loop_device() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("image");
        std::fs::write(&file, vec![0; 1 << 20]).unwrap();
        let made = Command::new("losetup").args(["--find", "--show"]).arg(&file).output();
        let Some(made) = made.ok().filter(|made| made.status.success()) else { return };
        let name = String::from_utf8(made.stdout).unwrap().trim().to_owned();
        let root = HostPath::from(dir.path().to_owned());
        let seen = loops(&HostRoot::default(), &root);
        let elsewhere = loops(&HostRoot::default(), &"/nothing-here".into());
        assert!(Command::new("losetup").args(["-d", &name]).status().unwrap().success());
        let seen = seen.get().cloned().unwrap();
        assert_eq!(seen.len(), 1);
        assert_eq!((seen[0].device.as_str(), seen[0].dev.major, seen[0].deleted), (name.as_str(), 7, false));
        assert_eq!(seen[0].file, HostPath::from(file));
        assert_eq!(elsewhere, Seen::Seen(Vec::new()));
    }
}
