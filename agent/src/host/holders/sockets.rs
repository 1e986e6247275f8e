//! Unix sockets that are bound to a name in a target: the socket holds the mount, and its
//! descriptor's link shows only a number.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::{
    searches::{Searches, Who},
    space::Space,
};
use crate::{
    host::{
        descriptors::{self, Walk},
        mounts::living,
    },
    observation::{HostPath, How},
    sys::{self, ProcDir},
};

/// The longest list of sockets that is read, in bytes.
const LIST_CAP: usize = 16 << 20;

/// Notes the processes of `space` that have such a socket. One list is read per network
/// namespace; descriptors only when a name fits.
pub(super) fn bound_in(space: &Space, found: &mut Searches) {
    let mut seen = BTreeSet::new();
    let mut names: BTreeMap<u64, HostPath> = BTreeMap::new();
    for pid in &space.pids {
        let Ok(net) = ProcDir::open(*pid).and_then(|dir| dir.namespace("net")) else { continue };
        if seen.insert(net) {
            match sys::read_capped(Path::new(&format!("/proc/{pid}/net/unix")), LIST_CAP) {
                Ok(list) => names.extend(bound(&list).filter(|(_, path)| space.could_hold(path.as_bytes()))),
                Err(error) if sys::is_gone(&error) => {}
                // Longer than is read, or not to be seen: whoever is in there may have one.
                Err(_) => found.walked(*pid, Walk::CutOff),
            }
        }
    }
    if names.is_empty() {
        return;
    }
    for pid in &space.pids {
        let Ok((dir, ns)) = living(*pid) else { continue };
        let who = Who { pid: *pid, dir: &dir, ns };
        let walk = descriptors::each(&dir, found.end(), |fd, link| {
            let Some(path) = socket_inode(link).and_then(|inode| names.get(&inode)) else { return };
            for copy in space.copies_at(path) {
                found.process(copy.target, &who, How::Fd { fd, path: path.clone() }, copy.kind);
            }
        });
        found.walked(*pid, walk);
    }
}

/// `socket:[17266]`
fn socket_inode(link: &[u8]) -> Option<u64> {
    let number = link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// Inode and name of the sockets with an absolute name in `/proc/net/unix`:
/// `00000000ed58eb2: 00000002 00000000 00010000 0001 01 17266 /run/x.sock`
fn bound(list: &[u8]) -> impl Iterator<Item = (u64, HostPath)> {
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
        assert_eq!(socket_inode(b"socket:[17266]"), Some(17266));
        assert_eq!(socket_inode(b"pipe:[17266]"), None);
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = bound(&bytes).count();
        }
    }
}
