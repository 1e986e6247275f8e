//! The calls, made again as the kernel sees them: by the C library's wrappers, which add nothing.

use std::{collections::BTreeMap, ffi::CStr};

use super::call::Call;

/// Makes all of them. How many fail that did not, or the other way round.
pub fn all(calls: &[Call]) -> usize {
    let mut open = Open(BTreeMap::new());
    let mut room = vec![0_u8; 1 << 20];
    let differ = calls.iter().filter(|call| !open.again(call, &mut room)).count();
    for (_, fd) in open.0 {
        // SAFETY: it was opened here, and nothing else knows it.
        #[expect(unsafe_code, reason = "a bare loop")]
        unsafe {
            libc::close(fd);
        }
    }
    differ
}

/// What is open here, by the number it had there.
struct Open(BTreeMap<i32, i32>);

impl Open {
    /// Whether it went as it went when it was recorded; what is done with sockets is left out.
    fn again(&mut self, call: &Call, room: &mut [u8]) -> bool {
        let size = room.len();
        let fits = |length: usize| length.min(size);
        match call {
            Call::Open { dir, path, flags, resolve, fd } => {
                let Some(dir) = self.dir(*dir) else { return true };
                let opened = open(dir, path, *flags, *resolve);
                if let Some(fd) = fd.filter(|_| opened >= 0) {
                    self.0.insert(fd, opened);
                }
                fd.is_some() == (opened >= 0)
            }
            Call::ReadLink { dir, path, found } => self.dir(*dir).is_none_or(|dir| {
                // SAFETY: the kernel writes into `room` and no further.
                #[expect(unsafe_code, reason = "a bare loop")]
                let length = unsafe { libc::readlinkat(dir, path.as_ptr(), room.as_mut_ptr().cast(), fits(4096)) };
                *found == (length >= 0)
            }),
            Call::Read { fd, room: length } => self.0.get(fd).is_none_or(|fd| {
                // SAFETY: the kernel writes into `room` and no further.
                #[expect(unsafe_code, reason = "a bare loop")]
                let length = unsafe { libc::read(*fd, room.as_mut_ptr().cast(), fits(*length)) };
                length >= 0
            }),
            Call::List { fd, room: length } => self.0.get(fd).is_none_or(|fd| {
                // SAFETY: the kernel writes into `room` and no further.
                #[expect(unsafe_code, reason = "a bare loop")]
                let length = unsafe { libc::syscall(libc::SYS_getdents64, *fd, room.as_mut_ptr(), fits(*length)) };
                length >= 0
            }),
            Call::Facts { fd } => self.0.get(fd).is_none_or(|fd| facts(*fd, c"", libc::AT_EMPTY_PATH)),
            Call::FactsAt { dir, path, flags, found } => {
                self.dir(*dir).is_none_or(|dir| *found == facts(dir, path, *flags))
            }
            Call::Close { fd } => self.0.remove(fd).is_none_or(|fd| {
                // SAFETY: it was opened here, and nothing else knows it.
                #[expect(unsafe_code, reason = "a bare loop")]
                let closed = unsafe { libc::close(fd) };
                closed == 0
            }),
        }
    }

    fn dir(&self, recorded: Option<i32>) -> Option<i32> {
        recorded.map_or(Some(libc::AT_FDCWD), |fd| self.0.get(&fd).copied())
    }
}

fn open(dir: i32, path: &CStr, flags: i32, resolve: Option<u64>) -> i32 {
    let read_only = flags & !(libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC);
    // SAFETY: the path ends with a zero, and `how` has the layout and the size that are said.
    #[expect(unsafe_code, reason = "a bare loop")]
    unsafe {
        match resolve {
            None => libc::openat(dir, path.as_ptr(), read_only),
            Some(resolve) => {
                let mut how: libc::open_how = std::mem::zeroed();
                (how.flags, how.resolve) = (u64::from(read_only.unsigned_abs()), resolve);
                let size = size_of::<libc::open_how>();
                let opened = libc::syscall(libc::SYS_openat2, dir, path.as_ptr(), &raw const how, size);
                i32::try_from(opened).unwrap_or(-1)
            }
        }
    }
}

fn facts(dir: i32, path: &CStr, flags: i32) -> bool {
    // SAFETY: the path ends with a zero, and there is room for the answer.
    #[expect(unsafe_code, reason = "a bare loop")]
    unsafe {
        let mut facts: libc::statx = std::mem::zeroed();
        libc::statx(dir, path.as_ptr(), flags, libc::STATX_BASIC_STATS, &raw mut facts) == 0
    }
}
