//! The descriptors of a process, for as long as there is time: processes that share one table (`CLONE_FILES`) cost a walk
//! each, and one table may have a million.

use std::{io, ops::ControlFlow, time::Instant};

use crate::sys::{self, ProcDir, Visit};

/// How far a walk came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// All were seen. Those of a process that ends meanwhile go.
    Whole,
    /// They may not be seen.
    Denied,
    /// Time was up, or the process runs another program, so there may be others.
    CutOff,
}

/// Each descriptor of a process and where its link points, until `end`.
pub fn walk(dir: &ProcDir, end: Instant, mut see: impl FnMut(u32, &[u8])) -> Walk {
    if Instant::now() >= end {
        return Walk::CutOff;
    }
    let list = match dir.open_list("fd") {
        Ok(list) => list,
        Err(error) if sys::is_gone(&error) => return Walk::Whole,
        Err(_) => return Walk::Denied,
    };
    let walked = list.walk_links(|fd, link| {
        if Instant::now() >= end {
            return ControlFlow::Break(());
        }
        see(fd, link);
        ControlFlow::Continue(())
    });
    match walked {
        Ok(ControlFlow::Break(())) => Walk::CutOff,
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Walk::CutOff,
        // A list that breaks off is that of a process that ends.
        _ => Walk::Whole,
    }
}

/// All of `pids` but those that were seen until `end` to have no descriptor that `is_meant`: few among many, for a close
/// look.
pub fn candidates(pids: &[u32], end: Instant, is_meant: impl Fn(&Visit<'_>, u32, &[u8]) -> bool) -> Vec<u32> {
    let without = sys::pids_where(pids, end, |visit| {
        // A zombie shows neither, and its threads may have descriptors.
        visit.link("cwd")?;
        let walk = visit.descriptors(|fd, link| match is_meant(visit, fd, link) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })?;
        Ok(walk.is_continue())
    });
    pids.iter().copied().filter(|pid| !without.contains(pid)).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs::File, time::Duration};

    use super::*;

    #[test]
    fn a_walk_ends_when_time_is_up() {
        let _files = [(); 40].map(|()| File::open("/proc/self/stat").unwrap());
        let me = ProcDir::open(std::process::id()).unwrap();
        let mut seen = 0;
        let end = Instant::now() + Duration::from_secs(1);
        let outcome = walk(&me, end, |_, _| {
            seen += 1;
            std::thread::sleep(end.saturating_duration_since(Instant::now()));
        });
        assert_eq!((outcome, seen), (Walk::CutOff, 1));
        let soon = || Instant::now() + Duration::from_secs(5);
        assert_eq!(walk(&me, soon(), |_, _| seen += 1), Walk::Whole);
        assert!(seen > 40);
        assert_eq!(walk(&me, Instant::now(), |_, _| panic!("there is no time")), Walk::CutOff);
    }

    #[test]
    fn who_was_not_seen_remains_a_candidate() {
        let file = File::open("/proc/self/stat").unwrap();
        let me = std::process::id();
        let soon = || Instant::now() + Duration::from_secs(5);
        let is_stat = |_: &Visit<'_>, _, link: &[u8]| link.ends_with(b"/stat");
        assert_eq!(candidates(&[me], soon(), is_stat), [me]);
        drop(file);
        assert_eq!(candidates(&[me], soon(), |_, _, link| link == b"/nowhere"), [0; 0]);
        assert_eq!(candidates(&[me], Instant::now(), |_, _, link| link == b"/nowhere"), [me]);
        let mut zombie = std::process::Command::new("true").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let seen = candidates(&[zombie.id()], soon(), |_, _, link| link == b"/nowhere");
        zombie.wait().unwrap();
        assert_eq!(seen, [zombie.id()]);
    }
}
