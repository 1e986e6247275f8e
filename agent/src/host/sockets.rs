//! Who connects to the sockets of the node.

use std::{io, path::Path, sync::Arc, time::Duration};

use cri::{Connection, RpcError};

use super::{broker::Broker, healthz};
use crate::observation::{Healthz, HostPath, Reason, Seen};
use crate::sys::{self, SocketPath};
use findings::FaultKind;

#[derive(Clone, Debug, Default)]
pub enum Sockets {
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
    /// Prepares a connection to `socket` of the host, which this process finds `at`; the first call connects.
    pub fn connect(&self, at: &Path, socket: &HostPath, deadline: Duration) -> Result<Connected, RpcError> {
        match self {
            Sockets::Own => {
                let path = SocketPath::new(at).map_err(|error| unreachable(&error))?;
                Ok(Connected { connection: Connection::new(path.path(), deadline)?, _path: Some(path) })
            }
            Sockets::Broker(broker) => {
                let connection = Connection::carried(Arc::new(broker.clone()), socket.as_path(), deadline);
                Ok(Connected { connection, _path: None })
            }
        }
    }

    /// As [`sys::listener`], of `socket` of the host, which this process finds `at`.
    pub async fn listener(&self, at: &Path, socket: &HostPath) -> io::Result<Option<u32>> {
        match self {
            Sockets::Own => sys::listener(at),
            Sockets::Broker(broker) => broker.listener(socket).await,
        }
    }

    /// What the kubelet says of its health on this port.
    pub async fn healthz(&self, port: u16) -> Seen<Healthz> {
        match self {
            Sockets::Own => healthz::answer(port).await,
            Sockets::Broker(broker) => broker.healthz(port).await,
        }
    }

    /// Where a running kubelet keeps things: a broker that has opened other directories ends, and the agent starts again.
    pub async fn verify(&self, runtime: Option<&HostPath>, kubelet_root: &HostPath) {
        if let Sockets::Broker(broker) = self {
            broker.verify(runtime, kubelet_root).await;
        }
    }
}

/// A missing socket is one without a listener.
pub(super) fn rpc_reason(error: &RpcError) -> Reason {
    let kind = match error {
        RpcError::Unreachable { errno, .. } => {
            let kind = match errno.map(FaultKind::from_errno) {
                Some(FaultKind::Gone) => FaultKind::Refused,
                kind => kind.unwrap_or_default(),
            };
            return Reason { errno: *errno, ..Reason::new(kind, error) };
        }
        RpcError::TimedOut(_) => FaultKind::TimedOut,
        RpcError::NotFound => FaultKind::Gone,
        RpcError::TooLarge(_) => FaultKind::TooLarge,
        RpcError::Unimplemented | RpcError::Failed(_) => FaultKind::Failed,
    };
    Reason::new(kind, error)
}

/// Nothing could be asked, for this reason.
pub(super) fn unreachable(error: &std::io::Error) -> RpcError {
    RpcError::Unreachable { errno: findings::errno(error), why: error.to_string() }
}
