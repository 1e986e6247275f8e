//! Numbers between this process and its copy, in the byte order of the machine.

use std::io::{self, Read};

pub(super) fn put(bytes: &mut Vec<u8>, number: u32) {
    bytes.extend_from_slice(&number.to_ne_bytes());
}

pub(super) fn take(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_ne_bytes(bytes))
}

pub(super) fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
