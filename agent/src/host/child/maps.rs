//! `/proc/<pid>/maps` (proc_pid_maps(5)). Only for the child: reading it waits for the memory
//! lock of the process, which a task in D may hold for ever.

use crate::observation::{Dev, HostPath};

/// The files of `dev` that are mapped, each once.
pub(super) fn files_of(bytes: &[u8], dev: Dev) -> Vec<HostPath> {
    let mut files: Vec<HostPath> = bytes.split(|b| *b == b'\n').filter_map(|line| file_of(line, dev)).collect();
    files.sort();
    files.dedup();
    files
}

/// `7f1c…-7f1d… r--p 00000000 fe:00 1234                 /usr/lib/libc.so`
fn file_of(line: &[u8], dev: Dev) -> Option<HostPath> {
    let mut fields = line.splitn(6, |b| *b == b' ');
    let device = std::str::from_utf8(fields.nth(3)?).ok()?;
    let (major, minor) = device.split_once(':')?;
    let hex = |digits| u32::from_str_radix(digits, 16).ok();
    if (hex(major)?, hex(minor)?) != (dev.major, dev.minor) {
        return None;
    }
    let path = fields.nth(1)?.trim_ascii_start();
    path.starts_with(b"/").then(|| HostPath::new(unescape_newlines(path)))
}

/// The kernel escapes only the newline here.
fn unescape_newlines(path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"\\012") {
            plain.push(b'\n');
            rest = after;
        } else {
            plain.push(*first);
            rest = after;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAPS: &[u8] = b"55d0-55d1 r--p 00000000 fe:00 131 /usr/bin/cat\n\
55d2-55d3 r-xp 00001000 fe:00 131 /usr/bin/cat\n\
7f00-7f01 rw-p 00000000 00:00 0 \n\
7f02-7f03 rw-s 00000000 00:29 2                          /mnt/a b\\012c (deleted)\n\
7ffc-7ffd rw-p 00000000 00:00 0                          [stack]\n";

    #[test]
    fn finds_the_files_of_one_device() {
        assert_eq!(files_of(MAPS, Dev { major: 0xfe, minor: 0 }), ["/usr/bin/cat".into()]);
        assert_eq!(files_of(MAPS, Dev { major: 0, minor: 0x29 }), ["/mnt/a b\nc (deleted)".into()]);
        assert!(files_of(MAPS, Dev { major: 0, minor: 0 }).is_empty());
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = files_of(&bytes, Dev { major: 0, minor: 0 });
        }
    }
}
