//! `/proc/<pid>/net/unix`: which socket is bound to which name. A descriptor's link shows only its number.

use std::{collections::BTreeMap, io, path::Path};

use crate::{observation::HostPath, sys};

/// The longest list of sockets that is read, in bytes.
const MAX_LIST_BYTES: usize = 16 << 20;

/// The list of the network namespace of a process.
pub fn read(pid: u32) -> io::Result<Vec<u8>> {
    sys::read_capped(Path::new(&format!("/proc/{pid}/net/unix")), MAX_LIST_BYTES)
}

/// The inode in the link of a descriptor: `socket:[17266]`
pub fn inode(link: &[u8]) -> Option<u64> {
    let number = link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// All sockets by their inodes, and the names of those that are bound to a file: a name that is not abstract.
/// `000000000ed58eb2: 00000002 00000000 00010000 0001 01 17266 /run/x.sock`
///
/// Nothing in a name is escaped, and every process in the network namespace may choose one. So a name begins where the
/// kernel begins it (`unix_seq_show`, net/unix/af_unix.c), and an inode that is there twice, which a name with a line break
/// can do, has none. In the 108 bytes of a name a whole line leaves 46 for a path: too few for that of a pod's volume.
pub fn names(list: &[u8]) -> BTreeMap<u64, Option<HostPath>> {
    let mut names = BTreeMap::new();
    for (inode, name) in list.split(|b| *b == b'\n').filter_map(parse) {
        let name = name.filter(|name| !name.as_bytes().starts_with(b"@"));
        names.entry(inode).and_modify(|known| *known = None).or_insert(name);
    }
    names
}

/// `%pK: %08X %08X %08X %04X %02X %5lu`, and after a space the name, if it has one.
fn parse(line: &[u8]) -> Option<(u64, Option<HostPath>)> {
    let address = line.iter().position(|b| *b == b':').filter(|at| matches!(at, 8 | 16))?;
    let mut rest = line[address + 1..].strip_prefix(b" ")?;
    for width in [8, 8, 8, 4, 2] {
        let (field, after) = rest.split_at_checked(width)?;
        rest = after.strip_prefix(b" ").filter(|_| field.iter().all(u8::is_ascii_hexdigit))?;
    }
    let digits = rest.trim_ascii_start();
    let end = digits.iter().position(|b| *b == b' ').unwrap_or(digits.len());
    let inode = std::str::from_utf8(&digits[..end]).ok()?.parse().ok()?;
    let name = digits.get(end + 1..).filter(|name| !name.is_empty());
    Some((inode, name.map(HostPath::new)))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_recorded_lines() {
        let list = b"Num               RefCount Protocol Flags    Type St Inode Path\n\
            000000000ed58eb2: 00000002 00000000 00010000 0001 01 17266 /tmp/a b/s\n\
            000000000ed58eb3: 00000003 00000000 00000000 0001 03   226\n\
            000000000ed58eb4: 00000002 00000000 00010000 0001 01 17267 @/abstract\n\
            000000000ed58eb5: 00000002 00000000 00010000 0001 01 17268 run/s\n";
        let [one, two] = ["/tmp/a b/s", "run/s"].map(|name| Some(name.into()));
        assert_eq!(names(list), BTreeMap::from([(226, None), (17266, one), (17267, None), (17268, two)]));
        assert_eq!(inode(b"socket:[17266]"), Some(17266));
        assert_eq!(inode(b"pipe:[17266]"), None);
    }

    /// By real sockets: a name that any process may bind must not claim another's socket.
    #[test]
    fn a_name_says_nothing_of_another_socket() {
        let dir = tempfile::tempdir().unwrap();
        let other = UnixListener::bind(dir.path().join("s")).unwrap();
        let others = std::fs::read_link(format!("/proc/self/fd/{}", other.as_raw_fd())).unwrap();
        let others = inode(others.as_os_str().as_encoded_bytes()).unwrap();
        let own = HostPath::from(dir.path().join("s"));
        let name = || names(&read(std::process::id()).unwrap()).remove(&others).flatten();
        assert_eq!(name(), Some(own.clone()));
        for forged in [
            format!("x {others} /var/lib/kubelet/pods/u/volumes/v"),
            format!("\nx {others} /var/lib/kubelet/pods/u/volumes/v"),
        ] {
            let address = SocketAddr::from_abstract_name(&forged).unwrap();
            let _bound = UnixListener::bind_addr(&address).unwrap();
            assert_eq!(name(), Some(own.clone()), "{forged:?}");
        }
        let whole = format!("\n0000000000000000: 00000002 00000000 00010000 0001 01 {others} /k");
        let _bound = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&whole).unwrap()).unwrap();
        assert_eq!(name(), None, "which of the two is its own is unknown");
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = names(&bytes);
        }
    }
}
