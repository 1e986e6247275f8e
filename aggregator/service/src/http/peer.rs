//! Who is at the other end of a connection.

use std::net::IpAddr;

/// Where a request comes from. A header of a proxy is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer(pub IpAddr);
