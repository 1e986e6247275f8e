//! The child's side: does the one thing that may never return, and says what it saw.

use std::{
    fs,
    io::{self, Read},
    os::fd::OwnedFd,
};

use nix::{errno::Errno, unistd::write};

use super::{
    line::{Line, Place},
    maps,
};
use crate::{
    observation::{Dev, Fault, FaultKind, FuseProbe},
    sys::linux::{AtFlags, CWD, StatxFlags, statx},
};

/// The largest table of mappings that is read: 65,530 mappings is the kernel's default limit.
const MAX_MAPS_BYTES: u64 = 16 << 20;

/// Does the probe of this kind, given the kind and what it is about.
pub(super) fn probe(args: &[String], out: &OwnedFd) -> Result<(), Errno> {
    let done = match args {
        [kind, path] if kind == "stat" => stat(path, out),
        [kind, devs, pids @ ..] if kind == "mappings" => search_maps(devs, pids, MAX_MAPS_BYTES, out, false),
        [kind, devs, pids @ ..] if kind == "writable" => search_maps(devs, pids, MAX_MAPS_BYTES, out, true),
        [kind, links @ ..] if kind == "places" => places(links, out),
        _ => return Err(Errno::EINVAL),
    };
    done.map_err(|error| Errno::try_from(error).unwrap_or(Errno::EIO))
}

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

fn write_error(out: &OwnedFd, source: &str, error: &io::Error) -> io::Result<()> {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOENT | Errno::ESRCH) => write_line(out, &Line::Missing),
        _ => write_line(out, &Line::Failed(Fault::new(source, error))),
    }
}

fn read(path: &str, cap: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(cap).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn stat(path: &str, out: &OwnedFd) -> io::Result<()> {
    // Attributes from the cache would make a hung server look alive.
    match statx(CWD, path, AtFlags::STATX_FORCE_SYNC, StatxFlags::BASIC_STATS) {
        Ok(_) => write_line(out, &Line::Stat(FuseProbe::Answers)),
        Err(Errno::ENOTCONN) => write_line(out, &Line::Stat(FuseProbe::Dead)),
        Err(error) => write_error(out, path, &error.into()),
    }
}

/// Says what there is in the mappings of each process, and that it has been looked at.
fn search_maps(devs: &str, pids: &[String], cap: u64, out: &OwnedFd, only_writable: bool) -> io::Result<()> {
    let devs: Vec<Dev> = devs.split(',').filter_map(Dev::parse).collect();
    for pid in pids.iter().filter_map(|pid| pid.parse().ok()) {
        let path = format!("/proc/{pid}/maps");
        match read(&path, cap) {
            Ok(bytes) => {
                for (dev, path) in maps::files(&bytes, &devs, only_writable) {
                    write_line(out, &Line::Mapping { pid, dev, path })?;
                }
                let is_cut = bytes.len() as u64 == cap;
                let too_large = || Fault::new(path, (FaultKind::TooLarge, "has more mappings than are read"));
                write_line(out, &if is_cut { Line::Failed(too_large()) } else { Line::Looked { pid } })?;
            }
            Err(error) => write_error(out, &path, &error)?,
        }
    }
    Ok(())
}

fn places(links: &[String], out: &OwnedFd) -> io::Result<()> {
    for asked in links {
        let Some((pid, link)) = asked.split_once(':') else { continue };
        let Ok(pid) = pid.parse() else { continue };
        let path = format!("/proc/{pid}/{link}");
        let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
        match statx(CWD, &path, flags, StatxFlags::MNT_ID) {
            Ok(facts) => {
                let has_mount_id = facts.stx_mask & StatxFlags::MNT_ID.bits() != 0;
                let mount_id = has_mount_id.then(|| u32::try_from(facts.stx_mnt_id).ok()).flatten();
                let dev = Dev { major: facts.stx_dev_major, minor: facts.stx_dev_minor };
                write_line(out, &Line::Place(Place { pid, link: link.to_owned(), dev, mount_id }))?;
            }
            Err(error) => write_error(out, &path, &error.into())?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::prober::line::lines;

    #[test]
    fn a_process_whose_mappings_were_cut_off_was_not_looked_at() {
        let me = std::process::id();
        let written = |cap| {
            let (read, write) = nix::unistd::pipe().unwrap();
            search_maps("0:0", &[me.to_string()], cap, &write, false).unwrap();
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
