//! Memory that a copy of this process writes and this process reads: where the copy is, and a number of each process.

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, slice};

/// Above the 32 bits of a number, and of an error's.
const IS_READ: u64 = 1 << 32;
const IS_ERROR: u64 = 1 << 33;

/// The position, the count of calls, and an answer for each process.
pub(super) struct Shared {
    cells: NonNull<AtomicU64>,
    count: usize,
}

impl Shared {
    pub(super) fn new(processes: usize) -> io::Result<Self> {
        let count = processes + 2;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: new memory of the kernel's choice overlaps with nothing.
        #[allow(unsafe_code)]
        let address = unsafe { libc::mmap(null_mut(), count * size_of::<AtomicU64>(), access, kind, -1, 0) };
        match NonNull::new(address.cast()) {
            Some(cells) if address != libc::MAP_FAILED => Ok(Shared { cells, count }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn cells(&self) -> &[AtomicU64] {
        // SAFETY: `new` has mapped so many, zeroed and aligned to a page, until the end of `self`; both processes use
        // them as atomics only.
        #[allow(unsafe_code)]
        unsafe {
            slice::from_raw_parts(self.cells.as_ptr(), self.count)
        }
    }

    /// The copy turns to the process at `at`.
    pub(super) fn go_to(&self, at: usize) {
        self.cells()[0].store(at as u64, Ordering::Release);
    }

    pub(super) fn position(&self) -> usize {
        usize::try_from(self.cells()[0].load(Ordering::Acquire)).unwrap_or(usize::MAX)
    }

    /// A call of the copy has returned.
    pub(super) fn count_call(&self) {
        self.cells()[1].fetch_add(1, Ordering::Relaxed);
    }

    /// Another one each time that the copy has moved.
    pub(super) fn progress(&self) -> (usize, u64) {
        (self.position(), self.cells()[1].load(Ordering::Relaxed))
    }

    pub(super) fn put(&self, at: usize, answer: &io::Result<u32>) {
        let cell = match answer {
            Ok(number) => IS_READ | u64::from(*number),
            Err(error) => {
                let late = || if error.kind() == io::ErrorKind::TimedOut { libc::ETIMEDOUT } else { libc::EIO };
                IS_ERROR | u64::from(error.raw_os_error().unwrap_or_else(late).unsigned_abs())
            }
        };
        self.cells()[at + 2].store(cell, Ordering::Release);
    }

    pub(super) fn answers(&self) -> Vec<Option<io::Result<u32>>> {
        let answers = self.cells().iter().skip(2).map(|cell| cell.load(Ordering::Acquire));
        let low = |cell: u64| u32::try_from(cell & u64::from(u32::MAX)).unwrap_or(0);
        let answer = |cell: u64| match cell {
            0 => None,
            error if error & IS_ERROR != 0 => Some(Err(io::Error::from_raw_os_error(low(error).cast_signed()))),
            number => Some(Ok(low(number))),
        };
        answers.map(answer).collect()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: it was mapped in `new`, and no reference to it outlives `self`.
        #[allow(unsafe_code)]
        unsafe {
            libc::munmap(self.cells.as_ptr().cast(), self.count * size_of::<AtomicU64>());
        }
    }
}
