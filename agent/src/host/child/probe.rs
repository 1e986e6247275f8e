//! The child's side: does the one thing that may never return, and says what it saw.

use std::{
    fs,
    io::{self, Read, Write},
};

use nix::{
    errno::Errno,
    sys::{prctl::set_pdeathsig, signal::Signal},
};

use super::{
    line::{Line, Place},
    maps,
};
use crate::{
    observation::{Dev, Fault, FuseProbe},
    sys::{
        self,
        linux::{AtFlags, CWD, StatxFlags, statx},
    },
};

/// The largest table of mappings that is read: 65,530 mappings is the kernel's default limit.
const MAPS_CAP: u64 = 16 << 20;

/// Runs `probe <kind> …`, given what follows `probe`; the exit status of the process.
pub fn probe_main(args: &[String]) -> i32 {
    sys::close_all_but_stdio();
    // The probe is not to outlive the agent that waits for it. Without this it would still end
    // with its container.
    let _ = set_pdeathsig(Signal::SIGKILL);
    let Some((kind, rest)) = args.split_first() else { return 2 };
    let done = match (kind.as_str(), rest) {
        ("stat", [path]) => stat(path),
        ("mappings", [dev, pids @ ..]) => mappings(dev, pids),
        ("places", links) => places(links),
        _ => return 2,
    };
    i32::from(done.is_err())
}

/// Writes one line at once, so that a later hang cannot swallow it.
fn say(line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&text)?;
    out.flush()
}

fn say_error(source: &str, error: &io::Error) -> io::Result<()> {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOENT | Errno::ESRCH) => say(&Line::Missing),
        _ => say(&Line::Failed(Fault::new(source, error))),
    }
}

fn read(path: &str, cap: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(cap).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn stat(path: &str) -> io::Result<()> {
    // Attributes from the cache would make a hung server look alive.
    match statx(CWD, path, AtFlags::STATX_FORCE_SYNC, StatxFlags::BASIC_STATS) {
        Ok(_) => say(&Line::Stat(FuseProbe::Answers)),
        Err(Errno::ENOTCONN) => say(&Line::Stat(FuseProbe::Dead)),
        Err(error) => say_error(path, &error.into()),
    }
}

fn mappings(dev: &str, pids: &[String]) -> io::Result<()> {
    let Some(dev) = Dev::parse(dev) else { return Err(io::ErrorKind::InvalidInput.into()) };
    for pid in pids.iter().filter_map(|pid| pid.parse().ok()) {
        let path = format!("/proc/{pid}/maps");
        match read(&path, MAPS_CAP) {
            Ok(bytes) => {
                for path in maps::files_of(&bytes, dev) {
                    say(&Line::Mapping { pid, path })?;
                }
                say(&Line::Looked { pid })?;
            }
            Err(error) => say_error(&path, &error)?,
        }
    }
    Ok(())
}

fn places(links: &[String]) -> io::Result<()> {
    for asked in links {
        let Some((pid, link)) = asked.split_once(':') else { continue };
        let Ok(pid) = pid.parse() else { continue };
        let path = format!("/proc/{pid}/{link}");
        let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
        match statx(CWD, &path, flags, StatxFlags::MNT_ID) {
            Ok(facts) => {
                let told = facts.stx_mask & StatxFlags::MNT_ID.bits() != 0;
                let mount_id = told.then(|| u32::try_from(facts.stx_mnt_id).ok()).flatten();
                let dev = Dev { major: facts.stx_dev_major, minor: facts.stx_dev_minor };
                say(&Line::Place(Place { pid, link: link.to_owned(), dev, mount_id }))?;
            }
            Err(error) => say_error(&path, &error.into())?,
        }
    }
    Ok(())
}
