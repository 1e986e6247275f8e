//! Where many links of one directory in `/proc` point.

use std::{io, mem::MaybeUninit, ops::ControlFlow, os::fd::OwnedFd};

use nix::sys::stat::fstat;

use super::{
    asker::{self, Kind, Question},
    linux::RawDir,
};

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
    pub fn each_link(&self, mut see: impl FnMut(u32, &[u8]) -> ControlFlow<()>) -> io::Result<ControlFlow<()>> {
        let next = match self.first_links(&mut see)? {
            ControlFlow::Continue(Some(next)) => next,
            ControlFlow::Continue(None) => return Ok(ControlFlow::Continue(())),
            ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
        };
        // On the stack and used again for each: a node has tens of thousands of descriptors.
        let mut names = [MaybeUninit::uninit(); 8 << 10];
        let mut entries = RawDir::new(&self.fd, &mut names);
        let mut some = Vec::with_capacity(AT_ONCE);
        loop {
            let entry = entries.next().transpose()?;
            let number = entry.as_ref().and_then(|entry| entry.file_name().to_str().ok()?.parse().ok());
            some.extend(number.filter(|number: &u32| *number >= next));
            if some.len() == AT_ONCE || entry.is_none() {
                if self.links(&some, &mut see)?.1.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                some.clear();
            }
            if entry.is_none() {
                return Ok(ControlFlow::Continue(()));
            }
        }
    }

    /// Descriptors are mostly numbered without gaps, and a listing costs half as much again as
    /// reading the links. Tries the numbers from 0 on until all have been seen that the kernel has
    /// counted (Linux ≥ 6.2); the next number if there may be others.
    fn first_links(
        &self,
        see: &mut impl FnMut(u32, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<(), Option<u32>>> {
        let mut left = usize::try_from(fstat(&self.fd)?.st_size).unwrap_or(0);
        let (mut next, mut gaps) = (0, 0);
        while left > 0 && gaps <= MOST_GAPS {
            let end = next + u32::try_from(left.min(AT_ONCE)).unwrap_or(u32::MAX);
            let some: Vec<u32> = (next..end).collect();
            let (found, flow) = self.links(&some, see)?;
            if flow.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            gaps += some.len() - found;
            left = left.saturating_sub(found);
            next = end;
        }
        // An older kernel counts nothing.
        Ok(ControlFlow::Continue((next == 0 || left > 0).then_some(next)))
    }

    /// Shows `see` those that there are, and tells how many these were; an error where the kernel tells of none.
    fn links(
        &self,
        numbers: &[u32],
        see: &mut impl FnMut(u32, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<(usize, ControlFlow<()>)> {
        let question = |number: &u32| Question { kind: Kind::Link, name: number.to_string() };
        let questions: Vec<Question> = numbers.iter().map(question).collect();
        let mut found = 0;
        for (number, link) in numbers.iter().zip(asker::ask(&self.fd, self.pid, &questions)) {
            match link {
                Ok(link) => {
                    found += 1;
                    if see(*number, &link).is_break() {
                        return Ok((found, ControlFlow::Break(())));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => return Err(error),
                Err(_) => {}
            }
        }
        Ok((found, ControlFlow::Continue(())))
    }
}

/// So many numbers are tried in vain before the directory is listed.
const MOST_GAPS: usize = 8;
/// So many links are asked for at a time.
const AT_ONCE: usize = 64;

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
        let all = list.each_link(|fd, link| {
            seen.push((fd, link.to_vec()));
            ControlFlow::Continue(())
        });
        assert_eq!(all.unwrap(), ControlFlow::Continue(()));
        let mut first = 0;
        let some = list.each_link(|_, _| {
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
