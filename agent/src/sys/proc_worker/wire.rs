//! Questions and answers between this process and its copy.

use std::io::{self, BufReader, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use nix::sys::stat::Mode;

use super::super::linux::link;
use super::super::read::read_all;

/// A file that is longer than was asked for has no number of an error.
const TOO_LONG: i32 = -1;

/// Sends the questions with the directory, and takes the answers; an error when they are late or the copy is gone.
pub(super) fn exchange(
    stream: &UnixStream,
    dir: &impl AsFd,
    questions: &[Question],
    deadline: Duration,
) -> io::Result<Vec<Answer>> {
    stream.set_read_timeout(Some(deadline))?;
    stream.set_write_timeout(Some(deadline))?;
    let mut body = Vec::new();
    for Question { kind, name } in questions {
        kind.encode().into_iter().for_each(|number| put(&mut body, number));
        put(&mut body, length(name.len()));
        body.extend_from_slice(name);
    }
    let mut head = Vec::new();
    put(&mut head, length(questions.len()));
    put(&mut head, length(body.len()));
    let descriptors = [dir.as_fd().as_raw_fd()];
    let with = [ControlMessage::ScmRights(&descriptors)];
    sendmsg::<()>(stream.as_raw_fd(), &[IoSlice::new(&head)], &with, MsgFlags::MSG_NOSIGNAL, None)?;
    let mut to = stream;
    to.write_all(&body)?;
    // The copy says nothing but what was asked, so nothing is read that is not of these.
    let mut answers = BufReader::new(stream);
    questions.iter().map(|_| answer(&mut answers)).collect()
}

fn answer(stream: &mut impl Read) -> io::Result<Answer> {
    let [error, length] = [take(stream)?, take(stream)?];
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    stream.read_exact(&mut bytes)?;
    Ok(match i32::from_ne_bytes(error.to_ne_bytes()) {
        0 => Ok(bytes),
        TOO_LONG => Err(io::Error::new(io::ErrorKind::FileTooLarge, "is longer than the kernel writes it")),
        error => Err(io::Error::from_raw_os_error(error)),
    })
}

/// The copy's whole life: it answers until the other end closes.
pub(super) fn serve(stream: &UnixStream) -> Result<(), Errno> {
    loop {
        let Some((count, length, dir)) = head(stream)? else { return Ok(()) };
        let mut body = vec![0; usize::try_from(length).unwrap_or(0)];
        let mut from = stream;
        from.read_exact(&mut body).map_err(|_| Errno::EPIPE)?;
        let mut rest = body.as_slice();
        let mut output = Vec::new();
        for _ in 0..count {
            let (error, bytes) = match perform(&dir, &mut rest) {
                Ok(bytes) => (0, bytes),
                Err(error) if error.kind() == io::ErrorKind::FileTooLarge => (TOO_LONG, Vec::new()),
                Err(error) => (error.raw_os_error().unwrap_or(libc::EIO), Vec::new()),
            };
            output.extend_from_slice(&error.to_ne_bytes());
            put(&mut output, self::length(bytes.len()));
            output.extend_from_slice(&bytes);
        }
        let mut to = stream;
        to.write_all(&output).map_err(|_| Errno::EPIPE)?;
    }
}

/// How many questions, how many bytes, and about which directory.
fn head(stream: &UnixStream) -> Result<Option<(u32, u32, OwnedFd)>, Errno> {
    let mut head = [0; 8];
    let mut pieces = [IoSliceMut::new(&mut head)];
    let mut room = nix::cmsg_space!(RawFd);
    let flags = MsgFlags::MSG_WAITALL | MsgFlags::MSG_CMSG_CLOEXEC;
    let got = recvmsg::<()>(stream.as_raw_fd(), &mut pieces, Some(&mut room), flags)?;
    if got.bytes < 8 {
        return Ok(None);
    }
    let descriptors = got.cmsgs()?.find_map(|one| match one {
        ControlMessageOwned::ScmRights(fds) => fds.first().copied(),
        _ => None,
    });
    // SAFETY: the kernel has just made this descriptor for us.
    #[allow(unsafe_code)]
    let dir = unsafe { OwnedFd::from_raw_fd(descriptors.ok_or(Errno::EBADF)?) };
    let mut head = head.as_slice();
    Ok(Some((take(&mut head).map_err(|_| Errno::EPIPE)?, take(&mut head).map_err(|_| Errno::EPIPE)?, dir)))
}

fn perform(dir: &OwnedFd, body: &mut &[u8]) -> Answer {
    let kind = Kind::decode([take(body)?, take(body)?])?;
    let length = take(body)?;
    let mut name = vec![0; usize::try_from(length).unwrap_or(0)];
    body.read_exact(&mut name)?;
    let read_only = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    match kind {
        Kind::File { cap } => {
            read_all(&openat(dir, name.as_slice(), read_only, Mode::empty())?, usize::try_from(cap).unwrap_or(0))
        }
        Kind::Link => link(dir, &name),
    }
}

fn put(bytes: &mut Vec<u8>, number: u32) {
    bytes.extend_from_slice(&number.to_ne_bytes());
}

fn take(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_ne_bytes(bytes))
}

fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// What is asked about a file below a directory.
#[derive(Clone, Debug)]
pub struct Question {
    pub kind: Kind,
    pub name: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// All of it, of at most so many bytes.
    File {
        /// In bytes.
        cap: u32,
    },
    /// Where the link leads.
    Link,
}

impl Kind {
    /// Its number on the wire, and the most bytes of a file.
    pub fn encode(self) -> [u32; 2] {
        match self {
            Kind::File { cap } => [0, cap],
            Kind::Link => [1, 0],
        }
    }

    pub fn decode(encoded: [u32; 2]) -> io::Result<Self> {
        Ok(match encoded {
            [0, cap] => Kind::File { cap },
            [1, _] => Kind::Link,
            _ => return Err(io::ErrorKind::InvalidData.into()),
        })
    }
}

/// What an answer is: the bytes of a file, or where a link leads.
pub type Answer = io::Result<Vec<u8>>;
