//! A budget of bytes over all answers that are made and not read: it is of those who read them, and none takes all of it.
//! What the kernel may keep for a connection counts too, until the connection ends: a cgroup of version 2 counts it.

use std::sync::{Arc, OnceLock};

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use findings::{ConcurrencyLimit, Permit};

const UNIT_BYTES: usize = 16 << 10;
/// Of all, and of one caller, in units: one answer is no longer than 8 MiB.
const MAX_UNITS: usize = (16 << 20) / UNIT_BYTES;
const MAX_UNITS_OF_ONE: usize = (10 << 20) / UNIT_BYTES;
/// What the kernel keeps of what is sent to one connection.
pub const SEND_BUFFER_BYTES: u32 = 64 << 10;
/// The kernel gives a connection twice what it is asked for, to have room for its own records.
const KERNEL_UNITS: usize = 2 * SEND_BUFFER_BYTES as usize / UNIT_BYTES;

/// Who asked; empty for what is public.
#[derive(Clone, Debug, Default)]
pub struct Asker(Arc<OnceLock<String>>);

impl Asker {
    /// It is known now.
    pub fn is(&self, name: &str) {
        let _ = self.0.set(name.to_owned());
    }
}

/// What the kernel may keep for one connection, once it was given an answer that counts.
#[derive(Clone, Default)]
pub struct SendBuffer(Arc<OnceLock<Permit<String>>>);

#[derive(Clone)]
pub struct UnreadAnswers(Arc<ConcurrencyLimit<String>>);

impl Default for UnreadAnswers {
    fn default() -> Self {
        UnreadAnswers(ConcurrencyLimit::new(MAX_UNITS, MAX_UNITS_OF_ONE))
    }
}

/// The bytes of an answer, which count until the last of them is sent.
struct Counted {
    bytes: Bytes,
    _places: Permit<String>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl UnreadAnswers {
    /// Counts an answer, or refuses it. What is sent as it comes has nothing unread, and a short answer is of no weight.
    pub async fn counted(&self, asker: &Asker, buffer: &SendBuffer, answer: Response) -> Response {
        let (head, body) = answer.into_parts();
        let Some(size) = body.size_hint().exact().and_then(|size| usize::try_from(size).ok()) else {
            return Response::from_parts(head, body);
        };
        if size <= UNIT_BYTES {
            return Response::from_parts(head, body);
        }
        let who = asker.0.get().cloned().unwrap_or_default();
        let kept = buffer.0.get().is_some() || {
            let kept = self.0.take_many(who.clone(), KERNEL_UNITS);
            kept.is_some_and(|kept| buffer.0.set(kept).is_ok())
        };
        let Some(places) = self.0.take_many(who, size.div_ceil(UNIT_BYTES)).filter(|_| kept) else {
            return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "5")]).into_response();
        };
        match axum::body::to_bytes(body, size).await {
            Ok(bytes) => Response::from_parts(head, Body::from(Bytes::from_owner(Counted { bytes, _places: places }))),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}
