//! Who connects to the sockets of the node.

use std::{io, path::Path, sync::Arc, time::Duration};

use cri_api::{Connection, RpcError};

use super::{broker::Broker, healthz, rpc::unreachable};
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
                let connection = Connection::carried(Arc::new(broker.clone()), socket, deadline, bound);
                Ok(Connected { connection, _path: None })
            }
        }
    }

    /// As [`sys::listener`].
    pub async fn listener(&self, socket: &Path) -> io::Result<Option<u32>> {
        match self {
            Sockets::Own => sys::listener(socket),
            Sockets::Broker(broker) => broker.listener(socket).await,
        }
    }

    /// What the kubelet says of its health on this port.
    pub async fn healthz(&self, port: u16) -> Seen<Healthz> {
        match self {
            Sockets::Own => healthz::look(port).await,
            Sockets::Broker(broker) => broker.healthz(port).await,
        }
    }
}
