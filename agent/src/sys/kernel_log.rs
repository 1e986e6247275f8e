//! The kernel's ring of messages. `/dev/kmsg` has it too, and a container may open a device only when it is privileged.

use std::io;

use nix::errno::Errno;

/// `SYSLOG_ACTION_READ_ALL` (syslog(2)): copies the newest messages, takes none away and waits for none.
pub const SYSLOG_READ_ALL: u64 = 3;
/// Older messages are left out.
const MAX_BYTES: usize = 256 << 10;

/// Its newest messages.
pub fn kernel_log() -> io::Result<Vec<u8>> {
    let mut bytes = vec![0_u8; MAX_BYTES];
    // SAFETY: the kernel writes at most as many bytes as the buffer has.
    #[allow(unsafe_code)]
    let length =
        unsafe { libc::klogctl(SYSLOG_READ_ALL as libc::c_int, bytes.as_mut_ptr().cast(), MAX_BYTES as libc::c_int) };
    let length = Errno::result(length).map_err(|error| match error {
        Errno::EPERM => io::Error::new(io::ErrorKind::PermissionDenied, "syslog(2): CAP_SYSLOG is missing"),
        other => other.into(),
    })?;
    bytes.truncate(usize::try_from(length).unwrap_or(0));
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_without_waiting_or_refused() {
        match kernel_log() {
            Ok(ring) => assert!(ring.len() <= MAX_BYTES),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        }
    }
}
