//! The calls to the kernel that nix lacks, from rustix, which the readers name nowhere else. All others go through
//! nix, and the errors are nix's, too.

use std::{io, mem::MaybeUninit, os::fd::AsFd};

use nix::errno::Errno;
use rustix::{path::Arg, thread::CapabilitySets};

/// What [`statx`] is asked and answers; [`CWD`] begins a walk at the working directory.
pub use rustix::fs::{AtFlags, CWD, Statx, StatxAttributes, StatxFlags};
/// getdents64(2) into a buffer of the caller's. nix reads directories through the C library, which allocates 32 kB
/// and takes the descriptor over; a node has ten thousands of directories in `/proc`.
pub use rustix::fs::{FileType, RawDir};
/// A number as a path, without the heap.
pub use rustix::path::DecInt;
/// Which capabilities there are.
pub use rustix::thread::CapabilitySet;
#[cfg(test)]
/// capget(2), to compare with.
pub use rustix::thread::capabilities;

/// statx(2). nix has stat(2) only, which may ask a file's server for its attributes and does not know mounts.
pub fn statx(directory: impl AsFd, path: impl Arg, flags: AtFlags, wanted: StatxFlags) -> nix::Result<Statx> {
    rustix::fs::statx(directory, path, flags, wanted).map_err(errno)
}

/// Where the descriptor of an io_uring leads.
pub const IO_URING: &[u8] = b"anon_inode:[io_uring]";

/// What the kernel shows of a link in `/proc` at most: one page, less a zero.
pub const MAX_LINK_BYTES: usize = 4096;

/// readlinkat(2) of a link in `/proc`.
pub fn link(directory: impl AsFd, path: &[u8]) -> io::Result<Vec<u8>> {
    let mut room = [MaybeUninit::uninit(); MAX_LINK_BYTES];
    link_into(directory, path, &mut room).map(<[u8]>::to_vec)
}

/// The same into a buffer of the caller's. nix allocates 4 kB for each, and a node has ten thousands of descriptors.
pub fn link_into(directory: impl AsFd, path: impl Arg, room: &mut [MaybeUninit<u8>]) -> io::Result<&[u8]> {
    let (target, _) = rustix::fs::readlinkat_raw(directory, path, room)?;
    Ok(target)
}

/// Gives up all capabilities of this thread (capset(2), which nix lacks).
pub fn drop_capabilities() -> nix::Result<()> {
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).map_err(errno)
}

fn errno(error: rustix::io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}
