//! `/proc/<pid>/maps` (proc_pid_maps(5)). Only for the child: reading it waits for the memory
//! lock of the process, which a task in D may hold for ever.

use crate::observation::{Dev, HostPath};

/// The files of `devs` that are mapped, each once; or those to which a mapping writes: one that is private keeps what is
/// written to itself.
pub(super) fn files(bytes: &[u8], devs: &[Dev], only_writable: bool) -> Vec<(Dev, HostPath)> {
    let is_meant = |file: &MappedFile| devs.contains(&file.dev) && (file.is_written || !only_writable);
    let lines = bytes.split(|b| *b == b'\n').filter_map(file_of).filter(is_meant);
    let mut files: Vec<(Dev, HostPath)> = lines.map(|file| (file.dev, file.path)).collect();
    files.sort();
    files.dedup();
    files
}

struct MappedFile {
    dev: Dev,
    path: HostPath,
    /// What is written to the memory reaches the file.
    is_written: bool,
}

/// `7f1c…-7f1d… r--p 00000000 fe:00 1234                 /usr/lib/libc.so`
fn file_of(line: &[u8]) -> Option<MappedFile> {
    let mut fields = line.splitn(6, |b| *b == b' ');
    let rights = fields.nth(1)?;
    let device = std::str::from_utf8(fields.nth(1)?).ok()?;
    let (major, minor) = device.split_once(':')?;
    let hex = |digits| u32::from_str_radix(digits, 16).ok();
    let dev = Dev { major: hex(major)?, minor: hex(minor)? };
    let path = fields.nth(1)?.trim_ascii_start();
    let is_written = rights.get(1) == Some(&b'w') && rights.get(3) == Some(&b's');
    path.starts_with(b"/").then(|| MappedFile { dev, path: HostPath::new(unescape_newlines(path)), is_written })
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
        let mapped = |major, minor| {
            let files = files(MAPS, &[Dev { major, minor }], false);
            files.into_iter().map(|(_, path)| path).collect::<Vec<_>>()
        };
        assert_eq!(mapped(0xfe, 0), ["/usr/bin/cat".into()]);
        assert_eq!(mapped(0, 0x29), ["/mnt/a b\nc (deleted)".into()]);
        assert!(mapped(0, 0).is_empty());
    }

    #[test]
    fn only_a_shared_mapping_writes_to_its_file() {
        let text = b"1-2 rw-p 0 08:10 7 /data/private\n1-2 r--s 0 08:10 7 /data/read\n\
1-2 rw-s 0 08:10 7 /data/index\n3-4 rw-s 0 08:10 7 /data/index\n1-2 rw-s 0 00:05 7 /other\n1-2 rw-s\n";
        let written = files(text, &[Dev { major: 0, minor: 0x29 }, Dev { major: 8, minor: 16 }], true);
        assert_eq!(written, [(Dev { major: 8, minor: 16 }, "/data/index".into())]);
        assert!(files(text, &[], true).is_empty());
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = files(&bytes, &[Dev { major: 0, minor: 0 }], false);
        }
    }
}
