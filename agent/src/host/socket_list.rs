//! `/proc/<pid>/net/unix`: which socket is bound to which name. A descriptor's link shows only its number.

use std::{io, path::Path};

use crate::{observation::HostPath, sys};

/// The longest list of sockets that is read, in bytes.
const CAP: usize = 16 << 20;

/// The list of the network namespace of a process.
pub fn read(pid: u32) -> io::Result<Vec<u8>> {
    sys::read_capped(Path::new(&format!("/proc/{pid}/net/unix")), CAP)
}

/// The inode in the link of a descriptor: `socket:[17266]`
pub fn inode(link: &[u8]) -> Option<u64> {
    let number = link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// Inode and name of the sockets with an absolute name:
/// `00000000ed58eb2: 00000002 00000000 00010000 0001 01 17266 /run/x.sock`
pub fn bound(list: &[u8]) -> impl Iterator<Item = (u64, HostPath)> {
    list.split(|b| *b == b'\n').filter_map(|line| {
        // Numbers are padded with spaces.
        let at = line.windows(2).position(|two| two == b" /")?;
        let inode = line[..at].split(|b| *b == b' ').rfind(|field| !field.is_empty())?;
        let inode = std::str::from_utf8(inode).ok()?.parse().ok()?;
        Some((inode, HostPath::new(&line[at + 1..])))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_recorded_lines() {
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            000000000ed58eb2: 00000002 00000000 00010000 0001 01 17266 /tmp/a b/s\n\
            000000000ed58eb3: 00000003 00000000 00000000 0001 03   226\n\
            000000000ed58eb4: 00000002 00000000 00010000 0001 01 17267 @/abstract\n";
        assert_eq!(bound(list).collect::<Vec<_>>(), [(17266, "/tmp/a b/s".into())]);
        assert_eq!(inode(b"socket:[17266]"), Some(17266));
        assert_eq!(inode(b"pipe:[17266]"), None);
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = bound(&bytes).count();
        }
    }
}
