//! Who is at the other end of a connection within this machine: other users get nothing with the account's token.

use std::net::SocketAddr;

/// Whether this system shows the owner of a connection.
pub const ARE_KNOWN: bool = cfg!(target_os = "linux");

/// Whether the peer of a connection is a process of this user, or of root.
#[cfg(target_os = "linux")]
pub fn is_own(peer: SocketAddr) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let own = std::fs::metadata("/proc/self").map(|own| own.uid());
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let owner = owner(&table, peer);
    owner.is_some_and(|owner| owner == 0 || own.is_ok_and(|own| own == owner))
}

#[cfg(not(target_os = "linux"))]
pub fn is_own(_peer: SocketAddr) -> bool {
    true
}

/// The uid beside the local address of a socket, in the table of `/proc/net/tcp`.
#[cfg(target_os = "linux")]
fn owner(table: &str, local: SocketAddr) -> Option<u32> {
    let SocketAddr::V4(local) = local else { return None };
    let wanted = format!("{:08X}:{:04X}", u32::from_ne_bytes(local.ip().octets()), local.port());
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        (fields.get(1) == Some(&wanted.as_str())).then(|| fields.get(7)?.parse().ok()).flatten()
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_owner_stands_beside_the_own_address() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_accepted, peer) = listener.accept().unwrap();
        assert!(is_own(peer));
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:1F90 0100007F:A1B2 01 00000000:00000000 00:00000000 00000000  1001        0 1 1\n";
        let little_endian = cfg!(target_endian = "little");
        assert_eq!(owner(table, "127.0.0.1:8080".parse().unwrap()), little_endian.then_some(1001));
        assert_eq!(owner(table, "127.0.0.1:8081".parse().unwrap()), None);
    }
}
