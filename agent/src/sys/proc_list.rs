//! Where many links of one directory in `/proc` point.

use std::{io, ops::ControlFlow, os::fd::OwnedFd};

use super::numbered_links;
use super::proc_worker::{self, Kind, Question};

/// An open directory of links, `fd`.
pub struct ProcList {
    fd: OwnedFd,
    pid: u32,
}

impl ProcList {
    pub(super) fn new(fd: OwnedFd, pid: u32) -> Self {
        ProcList { fd, pid }
    }

    /// Every link in it with a number for a name, and where it points, without following it, until `see` has enough.
    /// Those that go away meanwhile are left out.
    pub fn walk_links(&self, see: impl FnMut(u32, &[u8]) -> ControlFlow<()>) -> io::Result<ControlFlow<()>> {
        let question = |number: &u32| Question { kind: Kind::Link, name: number.to_string().into() };
        let look = |numbers: &[u32], each: &mut numbered_links::Each<'_>| {
            let links = proc_worker::query(&self.fd, self.pid, &numbers.iter().map(question).collect::<Vec<_>>());
            numbers.iter().zip(links).try_for_each(|(number, link)| each(*number, link.as_deref().map_err(bare)))
        };
        numbered_links::walk(&self.fd, look, see)
    }
}

fn bare(error: &io::Error) -> io::Error {
    error.kind().into()
}

#[cfg(test)]
mod tests {
    use std::{ops::ControlFlow, os::fd::AsRawFd};

    use nix::fcntl::{FcntlArg, fcntl};

    use crate::sys::ProcDir;

    #[test]
    fn sees_every_descriptor_whatever_its_number() {
        let file = std::fs::File::open("/proc/self/stat").unwrap();
        let far = fcntl(&file, FcntlArg::F_DUPFD_CLOEXEC(700)).unwrap();
        let me = ProcDir::open(std::process::id()).unwrap();
        let mut seen = Vec::new();
        let list = me.open_list("fd").unwrap();
        let all = list.walk_links(|fd, link| {
            seen.push((fd, link.to_vec()));
            ControlFlow::Continue(())
        });
        assert_eq!(all.unwrap(), ControlFlow::Continue(()));
        let mut first = 0;
        let some = list.walk_links(|_, _| {
            first += 1;
            ControlFlow::Break(())
        });
        assert_eq!((some.unwrap(), first), (ControlFlow::Break(()), 1));
        let numbers: Vec<u32> = seen.iter().map(|(fd, _)| *fd).collect();
        for fd in [0, u32::try_from(file.as_raw_fd()).unwrap(), u32::try_from(far).unwrap()] {
            assert_eq!(numbers.iter().filter(|number| **number == fd).count(), 1, "{fd} of {numbers:?}");
        }
        let (_, link) = seen.iter().find(|(fd, _)| *fd >= 700).unwrap();
        assert!(link.ends_with(b"/stat"));
        nix::unistd::close(far).unwrap();
    }
}
