//! Large answers are compressed for clients that accept that, as a real server does (kubernetes:
//! staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/writers.go).

use std::io::Write as _;

use axum::{body::Bytes, http::header};
use flate2::{Compression, write::GzEncoder};

use crate::request::Asked;

/// Answers that are not larger are sent as they are.
const THRESHOLD: usize = 128 * 1024;

/// The level of a real server: the least work.
const LEVEL: u32 = 1;

/// The body with gzip; none when it is sent as it is.
pub(crate) fn packed(asked: &Asked, body: &Bytes) -> Option<Bytes> {
    let accepts = asked.header(header::ACCEPT_ENCODING).split(',').any(|coding| coding.trim() == "gzip");
    if !accepts || body.len() <= THRESHOLD {
        return None;
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 8), Compression::new(LEVEL));
    encoder.write_all(body).ok()?;
    encoder.finish().ok().map(Bytes::from)
}
