//! A gRPC call that failed, as a fault.

use cri::RpcError;
use findings::FaultKind;

use crate::observation::Reason;

/// A missing socket is one without a listener.
pub(super) fn reason(error: &RpcError) -> Reason {
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
