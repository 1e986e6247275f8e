//! The links of a directory in `/proc` whose names are numbers, `fd`.

use std::{io, mem::MaybeUninit, ops::ControlFlow, os::fd::OwnedFd};

use nix::sys::stat::fstat;

use super::linux::RawDir;

/// So many numbers are tried in vain before the directory is listed.
const MAX_GAPS: usize = 8;
/// So many links are looked at together.
const LINKS_AT_ONCE: usize = 64;

/// Receives each number and where its link points.
pub(super) type Each<'a> = dyn FnMut(u32, io::Result<&[u8]>) -> ControlFlow<()> + 'a;

/// Shows `see` every link, and where `look` says that it points, until `see` has enough. Those that go away meanwhile are
/// left out; an error where the kernel lists none.
pub(super) fn walk(
    dir: &OwnedFd,
    mut look: impl FnMut(&[u32], &mut Each<'_>) -> ControlFlow<()>,
    mut see: impl FnMut(u32, &[u8]) -> ControlFlow<()>,
) -> io::Result<ControlFlow<()>> {
    // How many of them there were.
    let mut some = |numbers: &[u32]| {
        let (mut count, mut silence) = (0, None);
        let flow = look(numbers, &mut |number, link| match link {
            Ok(link) => {
                count += 1;
                see(number, link)
            }
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                silence = Some(error);
                ControlFlow::Break(())
            }
            Err(_) => ControlFlow::Continue(()),
        });
        silence.map_or(Ok((count, flow)), Err)
    };
    let next = match first(dir, &mut some)? {
        ControlFlow::Continue(Some(next)) => next,
        ControlFlow::Continue(None) => return Ok(ControlFlow::Continue(())),
        ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
    };
    // On the stack and used again for each: a node has tens of thousands of descriptors.
    let mut names = [MaybeUninit::uninit(); 8 << 10];
    let mut entries = RawDir::new(dir, &mut names);
    let mut numbers = Vec::with_capacity(LINKS_AT_ONCE);
    loop {
        let entry = entries.next().transpose()?;
        let number = entry.as_ref().and_then(|entry| entry.file_name().to_str().ok()?.parse().ok());
        numbers.extend(number.filter(|number: &u32| *number >= next));
        if numbers.len() == LINKS_AT_ONCE || entry.is_none() {
            if some(&numbers)?.1.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            numbers.clear();
        }
        if entry.is_none() {
            return Ok(ControlFlow::Continue(()));
        }
    }
}

/// Descriptors are mostly numbered without gaps, and a listing costs half as much again as
/// reading the links. Tries the numbers from 0 on until all have been seen that the kernel has
/// counted (Linux ≥ 6.2); the next number if there may be others.
fn first(
    dir: &OwnedFd,
    some: &mut impl FnMut(&[u32]) -> io::Result<(usize, ControlFlow<()>)>,
) -> io::Result<ControlFlow<(), Option<u32>>> {
    let mut left = usize::try_from(fstat(dir)?.st_size).unwrap_or(0);
    let (mut next, mut gaps) = (0, 0);
    while left > 0 && gaps <= MAX_GAPS {
        let end = next + u32::try_from(left.min(LINKS_AT_ONCE)).unwrap_or(u32::MAX);
        let numbers: Vec<u32> = (next..end).collect();
        let (found, flow) = some(&numbers)?;
        if flow.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        gaps += numbers.len() - found;
        left = left.saturating_sub(found);
        next = end;
    }
    // An older kernel counts nothing.
    Ok(ControlFlow::Continue((next == 0 || left > 0).then_some(next)))
}
