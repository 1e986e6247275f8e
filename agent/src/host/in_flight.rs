//! Descriptors that were sent over a unix socket and not received: `fdinfo` of the receiving socket counts them.

use std::time::{Duration, Instant};

use super::{descriptors, mounts::living, process_index::ProcessIndex, processes::owner};
use crate::observation::InFlight;
use crate::parse;
use crate::sys::ProcDir;
use crate::sys::limits::MAX_LINE_BYTES;

/// More owners are not named.
const MAX_OWNERS: usize = 32;

/// Whose sockets have some, as far as the time reaches: every socket of the node is looked at.
pub fn owners(process_index: &ProcessIndex, deadline: Duration) -> Vec<InFlight> {
    let end = Instant::now() + deadline;
    let mut owners = Vec::new();
    let pids: Vec<u32> = process_index.group_by_mount_ns().pids.values().flatten().copied().collect();
    let candidates = descriptors::candidates(&pids, end, |visit, fd, link| {
        link.starts_with(b"socket:") && visit.fdinfo(fd, link).is_ok_and(|info| count(&info).is_some())
    });
    for pid in candidates {
        if Instant::now() >= end || owners.len() >= MAX_OWNERS {
            break;
        }
        let Ok((dir, _)) = living(pid) else { continue };
        let mut waiting: Option<(u32, u32)> = None;
        descriptors::walk(&dir, end, |fd, link| {
            if link.starts_with(b"socket:") && waiting.is_none() {
                waiting = waiting_count(&dir, fd, link).map(|count| (fd, count));
            }
        });
        owners.extend(waiting.and_then(|(fd, count)| owner_of(pid, &dir, fd, count)));
    }
    owners
}

fn waiting_count(dir: &ProcDir, fd: u32, link: &[u8]) -> Option<u32> {
    count(&dir.fdinfo(fd, link).ok()?)
}

fn count(fdinfo: &[u8]) -> Option<u32> {
    parse::fdinfo(fdinfo).scm_fds.filter(|count| *count > 0)
}

fn owner_of(pid: u32, dir: &ProcDir, fd: u32, count: u32) -> Option<InFlight> {
    let stat = parse::stat(&dir.read("stat", MAX_LINE_BYTES).ok()?)?;
    let (owner, mount_ns) = (owner(dir, stat.exiting()), dir.namespace("mnt").ok());
    Some(InFlight {
        pid,
        start_ticks: stat.start_ticks,
        state: stat.state,
        fd,
        count,
        mount_ns,
        owner,
        comm: stat.comm,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::IoSlice;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

    #[test]
    fn a_socket_that_was_sent_a_descriptor() {
        let (here, there) = UnixStream::pair().unwrap();
        let me = std::process::id();
        let (dir, _) = living(me).unwrap();
        let fd = |socket: &UnixStream| u32::try_from(socket.as_raw_fd()).unwrap();
        let in_flight = |socket| waiting_count(&dir, fd(socket), b"socket:[1]");
        assert_eq!(in_flight(&there), None);
        let sent = [here.as_raw_fd()];
        let message = [ControlMessage::ScmRights(&sent)];
        sendmsg::<()>(here.as_raw_fd(), &[IoSlice::new(b"x")], &message, MsgFlags::empty(), None).unwrap();
        assert_eq!((in_flight(&there), in_flight(&here)), (Some(1), None));
        let owner = owner_of(me, &dir, fd(&there), 1).unwrap();
        assert_eq!((owner.pid, owner.fd), (me, fd(&there)));
        assert!(owner.mount_ns.is_some());
    }
}
