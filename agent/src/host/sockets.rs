//! Who connects to the sockets of the node.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use cri::{Connection, RpcError};

use super::{broker::Broker, healthz, rpc_fault::unreachable};
use crate::{
    observation::{Healthz, Seen},
    sys::{self, SocketPath},
};

/// Who connects.
#[derive(Clone, Debug, Default)]
pub enum Sockets {
    /// This process.
    #[default]
    Own,
    /// Its broker: this process may not.
    Broker(Broker),
}

/// A connection, and what its socket is found by as long as it is in use.
pub struct Connected {
    /// Over which calls are made.
    pub connection: Connection,
    _path: Option<SocketPath>,
}

impl Sockets {
    /// Prepares a connection; the first call connects. `bound` as for [`Connection::bounded`].
    pub fn connect(&self, socket: &Path, deadline: Duration, bound: Option<u32>) -> Result<Connected, RpcError> {
        match self {
            Sockets::Own => {
                let path = SocketPath::new(socket).map_err(|error| unreachable(&error))?;
                let connection = match bound {
                    Some(bytes) => Connection::bounded(path.path(), deadline, bytes),
                    None => Connection::new(path.path(), deadline),
                }?;
                Ok(Connected { connection, _path: Some(path) })
            }
            Sockets::Broker(broker) => {
                let connection =
                    Connection::carried(Arc::new(broker.clone()), &shareable_path(socket), deadline, bound);
                Ok(Connected { connection, _path: None })
            }
        }
    }

    /// As [`sys::listener`].
    pub async fn listener(&self, socket: &Path) -> io::Result<Option<u32>> {
        match self {
            Sockets::Own => sys::listener(socket),
            Sockets::Broker(broker) => broker.listener(&shareable_path(socket)).await,
        }
    }

    /// What the kubelet says of its health on this port.
    pub async fn healthz(&self, port: u16) -> Seen<Healthz> {
        match self {
            Sockets::Own => healthz::answer(port).await,
            Sockets::Broker(broker) => broker.healthz(port).await,
        }
    }
}

/// The same file for another process, which has a `/proc/self` of its own.
fn shareable_path(path: &Path) -> PathBuf {
    match path.strip_prefix("/proc/self") {
        Ok(below) => Path::new("/proc").join(std::process::id().to_string()).join(below),
        Err(_) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::{fd::AsRawFd, unix::net::UnixListener};

    use nix::{
        fcntl::{OFlag, open},
        sys::{
            stat::Mode,
            wait::{WaitStatus, waitpid},
        },
        unistd::{ForkResult, fork},
    };

    use super::*;

    #[test]
    fn another_process_finds_what_this_one_holds_open() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("s");
        let _listener = UnixListener::bind(&socket).unwrap();
        assert_eq!(shareable_path(&socket), socket);
        let held = open(&socket, OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty()).unwrap();
        let path = shareable_path(Path::new(&format!("/proc/self/fd/{}", held.as_raw_fd())));
        // SAFETY: the copy makes a few system calls and ends.
        #[allow(unsafe_code)]
        let status = match unsafe { fork() }.unwrap() {
            // SAFETY: the descriptor is this copy's own, and nothing of it is used afterwards.
            ForkResult::Child => unsafe {
                libc::close(held.as_raw_fd());
                libc::_exit(i32::from(!matches!(sys::listener(&path), Ok(Some(_)))))
            },
            ForkResult::Parent { child } => waitpid(child, None).unwrap(),
        };
        assert!(matches!(status, WaitStatus::Exited(_, 0)), "{status:?}");
    }
}
