//! Which processes have nothing to do with some paths: what is asked of all, so that only the others are looked at closely.
//! Their links stay in the copy; 20,000 answers would cost more than reading them.

use std::{io, ops::ControlFlow, os::fd::OwnedFd};

use nix::{
    fcntl::{OFlag, openat},
    sys::stat::Mode,
};

use super::{
    super::{
        linux::{IO_URING, link},
        numbered_links,
    },
    numbers::{length, put, take},
    question::{Answer, Kind, Question},
};

/// So many links are read for one answer: a fifth of the time that it may take.
const MAX_LINKS: usize = 16 << 10;

/// Which of `pids` have no working directory, root, program or descriptor at one of `paths`, or below it, and no io_uring,
/// with which files may be registered that have no descriptor.
pub(super) fn question<'a>(pids: &[u32], paths: impl IntoIterator<Item = &'a [u8]>) -> Question {
    let mut name = Vec::new();
    put(&mut name, length(pids.len()));
    pids.iter().for_each(|pid| put(&mut name, *pid));
    for path in paths {
        put(&mut name, length(path.len()));
        name.extend_from_slice(path);
    }
    Question { kind: Kind::UnrelatedProcesses, name }
}

/// The pids that an answer names. Of the others it is not known.
pub(super) fn pids(answer: &[u8]) -> impl Iterator<Item = u32> {
    answer.chunks_exact(4).filter_map(|pid| Some(u32::from_ne_bytes(pid.try_into().ok()?)))
}

/// In the copy; `proc` is `/proc`.
pub(super) fn answer(proc: &OwnedFd, mut asked: &[u8]) -> Answer {
    let count = take(&mut asked)?;
    let pids = (0..count).map(|_| take(&mut asked)).collect::<io::Result<Vec<u32>>>()?;
    let mut paths = Vec::new();
    while !asked.is_empty() {
        let length = usize::try_from(take(&mut asked)?).unwrap_or(usize::MAX);
        let (path, rest) = asked.split_at_checked(length).ok_or(io::ErrorKind::UnexpectedEof)?;
        paths.push(path);
        asked = rest;
    }
    let mut left = MAX_LINKS;
    let mut clear = Vec::new();
    for pid in pids {
        // A zombie's threads may live; one that ends needs a second look too.
        if matches!(has_nothing_below(proc, pid, &paths, &mut left), Ok(true)) {
            put(&mut clear, pid);
        }
    }
    Ok(clear)
}

fn has_nothing_below(proc: &OwnedFd, pid: u32, paths: &[&[u8]], left: &mut usize) -> io::Result<bool> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let dir = openat(proc, pid.to_string().as_str(), flags | OFlag::O_PATH, Mode::empty())?;
    let is_below = |link: &[u8]| paths.iter().any(|path| link.starts_with(path));
    if is_below(&link(&dir, b"cwd")?) || is_below(&link(&dir, b"root")?) {
        return Ok(false);
    }
    match link(&dir, b"exe") {
        Ok(program) if is_below(&program) => return Ok(false),
        // A thread of the kernel has none.
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let descriptors = openat(&dir, "fd", flags | OFlag::O_RDONLY, Mode::empty())?;
    let look =
        |numbers: &[u32]| numbers.iter().map(|number| link(&descriptors, number.to_string().as_bytes())).collect();
    let seen = numbered_links::walk(&descriptors, look, |_, link| {
        *left = left.saturating_sub(1);
        if *left == 0 || is_below(link) || link == IO_URING {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(seen.is_continue())
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        os::unix::ffi::OsStrExt,
        process::{Child, Command},
        time::{Duration, Instant},
    };

    use super::super::{MAX_PATHS, unrelated_pids};

    fn sleeper(script: &str) -> Child {
        Command::new("sh").args(["-c", &format!("{script}; exec sleep 60")]).spawn().unwrap()
    }

    #[test]
    fn clears_only_who_has_nothing_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        let shown = path.display();
        std::fs::create_dir(path.join("inside")).unwrap();
        let mut children = [
            "cd /".to_owned(),
            format!("cd {shown}/inside"),
            format!("cd /; exec 9>{shown}/file; rm {shown}/file"),
            // Beyond the numbers that are tried without a listing.
            format!("cd /; exec 9</; exec bash -c 'exec 300>{shown}/far; exec sleep 60'"),
        ]
        .map(|script| sleeper(&script));
        let pids: Vec<u32> = children.iter().map(Child::id).collect();
        let asked = |paths: &BTreeSet<&[u8]>, in_time| unrelated_pids(&pids, paths, Instant::now() + in_time);
        let soon = Duration::from_secs(5);
        let here = BTreeSet::from([path.as_os_str().as_bytes()]);
        // Until each is where it goes.
        let until = Instant::now() + soon;
        while asked(&here, soon).len() != 1 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        let clear = asked(&here, soon);
        let elsewhere = asked(&BTreeSet::from([&b"/nowhere"[..]]), soon);
        let late = asked(&here, Duration::ZERO);
        let many: Vec<String> = (0..=MAX_PATHS).map(|number| format!("/nowhere/{number}")).collect();
        let many = asked(&many.iter().map(String::as_bytes).collect(), soon);
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(clear, [pids[0]].into());
        assert_eq!(elsewhere, pids.iter().copied().collect());
        assert!(late.is_empty() && many.is_empty());
        assert!(unrelated_pids(&pids, &here, Instant::now() + soon).is_empty(), "nobody is left to ask");
    }
}
