//! Reads with a bound: tenants decide how long a mount table or a file gets.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, readlink};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::unistd::read;

/// Reads at most `cap` bytes of the file at `path`. More than that is an error, not a truncation:
/// half a mount table would be a wrong fact.
///
/// The file is opened without blocking and without becoming a controlling terminal.
pub fn read_capped(path: &Path, cap: usize) -> io::Result<Vec<u8>> {
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = open(path, flags, Mode::empty()).map_err(|error| named(path, error.into()))?;
    read_all(&file, cap).map_err(|error| named(path, error))
}

/// Like [`read_capped`], as text; bytes that are no UTF-8 are replaced.
pub fn read_text(path: &Path, cap: usize) -> io::Result<String> {
    read_capped(path, cap).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Like [`read_text`], but only of a regular file that belongs to root and that only root may write. It is checked before it
/// is opened: opening a device or a pipe may do something.
pub fn read_text_of_root(path: &Path, cap: usize) -> io::Result<String> {
    let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let file = open(path, flags, Mode::empty()).map_err(|error| named(path, error.into()))?;
    let facts = fstat(&file).map_err(|error| named(path, error.into()))?;
    let refuse = |why: &str| Err(named(path, io::Error::other(why)));
    if facts.st_mode & SFlag::S_IFMT.bits() != SFlag::S_IFREG.bits() {
        return refuse("is no regular file");
    }
    if facts.st_uid != 0 {
        return refuse("does not belong to root");
    }
    if facts.st_mode & 0o022 != 0 {
        return refuse("may be written by others than root");
    }
    let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
    read_text(opened.as_ref(), cap).map_err(|error| named(path, error))
}

/// Where the link at `path` points, without following it.
pub fn read_link(path: &Path) -> io::Result<Vec<u8>> {
    let target = readlink(path).map_err(|error| named(path, error.into()))?;
    Ok(target.into_vec())
}

/// Reads an open file to its end, at most `cap` bytes.
pub(super) fn read_all(file: &OwnedFd, cap: usize) -> io::Result<Vec<u8>> {
    // /proc and /sys give no length beforehand, and most of their files fit into one page.
    let mut bytes = vec![0; cap.min(4096)];
    let mut length = 0;
    loop {
        if length == bytes.len() {
            if length > cap {
                break;
            }
            bytes.resize((length * 2).min(cap + 1), 0);
        }
        match read(file, &mut bytes[length..]) {
            Ok(0) => break,
            Ok(n) => length += n,
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if length > cap {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("is longer than {cap} bytes")));
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// Reads an open file of many lines to its end, at most `cap` bytes, piece by piece: what is kept takes no more
/// room than it has bytes.
pub(super) fn read_lines(file: &OwnedFd, cap: usize) -> io::Result<Vec<u8>> {
    let (mut bytes, mut is_longer) = (Vec::new(), false);
    read_pieces(file, |lines| {
        is_longer = bytes.len() + lines.len() > cap;
        if is_longer {
            return ControlFlow::Break(());
        }
        bytes.extend_from_slice(lines);
        ControlFlow::Continue(())
    })?;
    if is_longer {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("is longer than {cap} bytes")));
    }
    bytes.shrink_to_fit();
    Ok(bytes)
}

/// So much of a file of many lines is read at a time.
const PIECE_BYTES: usize = 16 << 10;
/// No line is longer: the two paths of a mount may have a page each, a byte of them four characters, and its options
/// another page.
const MAX_LINE_BYTES: usize = 128 << 10;

/// Reads an open file of many lines until its end, or until `each` has enough; each piece that it is given is of
/// whole lines.
pub(super) fn read_pieces(file: &OwnedFd, mut each: impl FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<()> {
    let (mut held, mut length) = (vec![0; PIECE_BYTES], 0);
    loop {
        if length == held.len() {
            if length >= MAX_LINE_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "has a line that no kernel writes"));
            }
            held.resize(length * 2, 0);
        }
        match read(file, &mut held[length..]) {
            Ok(0) => {
                if length > 0 {
                    let _ = each(&held[..length]);
                }
                return Ok(());
            }
            Ok(n) => length += n,
            Err(Errno::EINTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if let Some(newline) = memchr::memrchr(b'\n', &held[..length]) {
            if each(&held[..=newline]).is_break() {
                return Ok(());
            }
            held.copy_within(newline + 1..length, 0);
            length -= newline + 1;
        }
    }
}

/// Like [`read_pieces`], of the file at `path`.
pub fn read_lines_of(path: &Path, each: impl FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<()> {
    let file = open(path, OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty());
    let read = file.map_err(io::Error::from).and_then(|file| read_pieces(&file, each));
    read.map_err(|error| named(path, error))
}

/// An error with the path it happened at.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", self.shown())]
struct Named {
    path: PathBuf,
    source: io::Error,
}

impl Named {
    /// Made safe only when it is shown: most errors say that something is not there, and are not.
    fn shown(&self) -> String {
        findings::clean(&String::from_utf8_lossy(self.path.as_os_str().as_bytes()), 300)
    }
}

/// Puts the path into the error, keeping its kind and its number.
pub(super) fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), Named { path: path.to_owned(), source: error })
}

/// The path that an error carries, and the error without it.
pub fn place(error: &io::Error) -> Option<(&Path, &io::Error)> {
    let named = error.get_ref()?.downcast_ref::<Named>()?;
    Some((&named.path, &named.source))
}

/// Whether what was asked for is not there, or not any more: no such file, no such process.
pub fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || findings::errno(error) == Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_more_than_the_cap() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, vec![b'x'; 5000]).unwrap();
        assert_eq!(read_capped(&path, 5000).unwrap().len(), 5000);
        assert_eq!(read_capped(&path, 4999).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn pieces_are_of_whole_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let line = |n: usize| format!("{n} {}\n", "x".repeat(n * 37 % 40_000));
        let text: String = (0..200).map(line).chain(["the end".to_owned()]).collect();
        std::fs::write(&path, &text).unwrap();
        let (mut all, mut pieces) = (Vec::new(), 0);
        read_lines_of(&path, |lines| {
            pieces += 1;
            assert!(lines.ends_with(b"\n") || lines.ends_with(b"the end"));
            all.extend_from_slice(lines);
            ControlFlow::Continue(())
        })
        .unwrap();
        assert!(all == text.as_bytes() && pieces > 20, "{pieces}");
        std::fs::write(&path, vec![b'x'; MAX_LINE_BYTES + 1]).unwrap();
        assert!(read_lines_of(&path, |_| ControlFlow::Continue(())).is_err());
    }

    #[test]
    fn a_fifo_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        nix::unistd::mkfifo(&path, Mode::S_IRWXU).unwrap();
        assert_eq!(read_capped(&path, 10).unwrap(), b"");
    }

    /// The tests run as root.
    #[test]
    fn only_a_plain_file_of_root_is_read() {
        use std::os::unix::fs::{PermissionsExt, chown, symlink};

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let write = |mode: u32, owner: u32| {
            std::fs::write(&path, "text").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            chown(&path, Some(owner), None).unwrap();
            read_text_of_root(&path, 4).map_err(|error| error.to_string())
        };
        assert_eq!(write(0o644, 0).unwrap(), "text");
        assert!(write(0o664, 0).unwrap_err().contains("may be written by others"));
        assert!(write(0o646, 0).unwrap_err().contains("may be written by others"));
        assert!(write(0o600, 65534).unwrap_err().contains("does not belong to root"));
        assert_eq!(write(0o600, 0).unwrap(), "text");
        assert!(read_text_of_root(&path, 3).is_err(), "too long");
        symlink("f", dir.path().join("link")).unwrap();
        for other in [dir.path().join("link"), dir.path().to_owned(), "/dev/null".into()] {
            let error = read_text_of_root(&other, 4).unwrap_err().to_string();
            assert!(error.ends_with("is no regular file"), "{error}");
        }
    }

    #[test]
    fn an_error_names_the_path() {
        let error = read_capped(Path::new("/proc/nothing-here"), 10).unwrap_err();
        assert!(error.to_string().starts_with("/proc/nothing-here: "));
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let error = read_capped(Path::new("/proc/\u{1b}[2J"), 10).unwrap_err();
        assert!(error.to_string().starts_with("/proc/\\u{1b}[2J: "), "{error}");
    }
}
