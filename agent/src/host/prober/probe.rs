//! The child's side: does the one thing that may never return, and says what it saw.

use std::{io, os::fd::OwnedFd, path::Path};

use nix::{errno::Errno, unistd::write};

use super::line::{Line, Mapping, Place, RealPath};
use super::maps;
use crate::host::HostRoot;
use crate::host::root::real;
use crate::observation::{Dev, Fault, FaultKind, FuseProbe, HostPath, Source};
use crate::parse;
use crate::sys::limits::MAX_LINE_BYTES;
use crate::sys::linux::{AtFlags, CWD, StatxFlags, statx};
use crate::sys::{self, ProcDir};

/// The largest table of mappings that is read: 65,530 mappings is the kernel's default limit.
pub(super) const MAX_MAPS_BYTES: usize = 16 << 20;

/// Writes one line at once, so that a later hang cannot swallow it. Not by the standard library's output, which
/// another thread may have locked when this process was copied.
fn write_line(out: &OwnedFd, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    let mut rest = text.as_slice();
    while !rest.is_empty() {
        rest = &rest[write(out, rest)?..];
    }
    Ok(())
}

fn write_error(out: &OwnedFd, source: impl Into<Source>, error: &io::Error) -> io::Result<()> {
    write_line(out, &if sys::is_gone(error) { Line::Missing } else { Line::Failed(Fault::new(source, error)) })
}

/// When the process started whose directory was open all the time.
fn start_ticks(dir: &ProcDir) -> io::Result<u64> {
    let stat = parse::stat(&dir.read_blocking("stat", MAX_LINE_BYTES)?);
    stat.map(|stat| stat.start_ticks).ok_or_else(|| Errno::ESRCH.into())
}

pub(super) fn stat(path: &Path, out: &OwnedFd) -> io::Result<()> {
    // Attributes from the cache would make a hung server look alive.
    match statx(CWD, path, AtFlags::STATX_FORCE_SYNC, StatxFlags::BASIC_STATS) {
        Ok(_) => write_line(out, &Line::Stat(FuseProbe::Answers)),
        Err(Errno::ENOTCONN) => write_line(out, &Line::Stat(FuseProbe::Dead)),
        Err(error) => write_error(out, path, &error.into()),
    }
}

/// Says what there is in the mappings of each process, and that it has been looked at.
pub(super) fn search_maps(
    devs: &[Dev],
    pids: &[u32],
    cap: usize,
    out: &OwnedFd,
    only_writable: bool,
) -> io::Result<()> {
    for pid in pids.iter().copied() {
        let maps = format!("/proc/{pid}/maps");
        match mapped(pid, devs, cap, only_writable) {
            Ok((files, is_cut)) => {
                for file in files {
                    write_line(out, &Line::Mapping(file))?;
                }
                let too_large = || Fault::new(maps, (FaultKind::TooLarge, "has more mappings than are read"));
                write_line(out, &if is_cut { Line::Failed(too_large()) } else { Line::Looked { pid } })?;
            }
            Err(error) => write_error(out, maps, &error)?,
        }
    }
    Ok(())
}

/// What one process has mapped, and whether there may be more.
fn mapped(pid: u32, devs: &[Dev], cap: usize, only_writable: bool) -> io::Result<(Vec<Mapping>, bool)> {
    let dir = ProcDir::open(pid)?;
    let bytes = dir.read_blocking("maps", cap)?;
    let files = maps::files(&bytes, devs, only_writable);
    let start_ticks = if files.is_empty() { 0 } else { start_ticks(&dir)? };
    let files = files.into_iter().map(|(dev, path)| Mapping { pid, start_ticks, dev, path });
    Ok((files.collect(), bytes.len() == cap))
}

pub(super) fn places(links: &[(u32, String)], out: &OwnedFd) -> io::Result<()> {
    for (pid, link) in links {
        match place(*pid, link) {
            Ok(place) => write_line(out, &Line::Place(place))?,
            Err(error) => write_error(out, format!("/proc/{pid}/{link}"), &error)?,
        }
    }
    Ok(())
}

pub(super) fn real_paths(paths: &[(u32, &str)], out: &OwnedFd) -> io::Result<()> {
    for &(pid, path) in paths {
        let (view, path) = (HostRoot::new(format!("/proc/{pid}/root")), HostPath::from(path));
        let link = |part: &HostPath| match sys::read_link(&view.at(part)) {
            // What is no link.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
            link => link.map(|link| Some(HostPath::new(link))),
        };
        let real = real(&path, link);
        write_line(out, &Line::Real(RealPath { pid, path, real }))?;
    }
    Ok(())
}

fn place(pid: u32, link: &str) -> io::Result<Place> {
    let dir = ProcDir::open(pid)?;
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
    let facts = statx(&dir, link, flags, StatxFlags::MNT_ID)?;
    let has_mount_id = facts.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    let mount_id = has_mount_id.then(|| u32::try_from(facts.stx_mnt_id).ok()).flatten();
    let dev = Dev { major: facts.stx_dev_major, minor: facts.stx_dev_minor };
    Ok(Place { pid, start_ticks: start_ticks(&dir)?, link: link.to_owned(), dev, mount_id })
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Read as _};

    use super::*;
    use crate::host::prober::line::lines;

    #[test]
    fn a_process_whose_mappings_were_cut_off_was_not_looked_at() {
        let me = std::process::id();
        let written = |cap| {
            let (read, write) = nix::unistd::pipe().unwrap();
            search_maps(&[Dev { major: 0, minor: 0 }], &[me], cap, &write, false).unwrap();
            drop(write);
            let mut output = Vec::new();
            fs::File::from(read).read_to_end(&mut output).unwrap();
            lines(&output)
        };
        assert_eq!(written(MAX_MAPS_BYTES), [Line::Looked { pid: me }]);
        let cut = written(64);
        assert!(matches!(cut.as_slice(), [Line::Failed(fault)] if fault.kind == FaultKind::TooLarge), "{cut:?}");
    }
}
