//! Where many links of one directory in `/proc` point.

use std::{io, mem::MaybeUninit, ops::ControlFlow, os::fd::OwnedFd};

use nix::sys::stat::fstat;

use super::linux::{DecInt, RawDir, readlink_into};

/// An open directory of links, `fd`.
pub struct ProcList {
    fd: OwnedFd,
}

impl ProcList {
    pub(super) fn new(fd: OwnedFd) -> Self {
        ProcList { fd }
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
        while let Some(entry) = entries.next() {
            let number = entry?.file_name().to_str().ok().and_then(|name| name.parse().ok());
            if let Some(number) = number.filter(|number| *number >= next)
                && self.link(number, &mut see).is_some_and(|seen| seen.is_break())
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Descriptors are mostly numbered without gaps, and a listing costs half as much again as
    /// reading the links. Tries the numbers from 0 on until all have been seen that the kernel has
    /// counted (Linux ≥ 6.2); the next number if there may be others.
    fn first_links(
        &self,
        see: &mut impl FnMut(u32, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<(), Option<u32>>> {
        let mut left = fstat(&self.fd)?.st_size;
        let mut gaps = 0;
        for number in 0.. {
            if left <= 0 || gaps > MOST_GAPS {
                // An older kernel counts nothing.
                return Ok(ControlFlow::Continue((number == 0 || left > 0).then_some(number)));
            }
            match self.link(number, see) {
                Some(ControlFlow::Continue(())) => left -= 1,
                Some(ControlFlow::Break(())) => return Ok(ControlFlow::Break(())),
                None => gaps += 1,
            }
        }
        Ok(ControlFlow::Continue(None))
    }

    /// What `see` says of it; none where there is no such link.
    fn link(&self, number: u32, see: &mut impl FnMut(u32, &[u8]) -> ControlFlow<()>) -> Option<ControlFlow<()>> {
        let mut target = [MaybeUninit::uninit(); LONGEST_LINK];
        let link = readlink_into(&self.fd, DecInt::new(number), &mut target).ok()?;
        Some(see(number, link))
    }
}

/// So many numbers are tried in vain before the directory is listed.
const MOST_GAPS: u32 = 8;
/// What the kernel shows of a link in `/proc` at most: one page, less a zero.
const LONGEST_LINK: usize = 4096;

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
