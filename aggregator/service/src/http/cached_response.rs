//! A body with its tag, packed when that spares something.

use std::io::Write as _;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest as _, Sha256};

/// Shorter bodies fit in one packet as they are.
const MIN_GZIP_BYTES: usize = 1200;

/// Answers with `body`, or that the caller has it already.
pub fn answer(headers: &HeaderMap, kind: &'static str, body: Vec<u8>) -> Response {
    let digest: String = Sha256::digest(&body).iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    // Weak: packed and unpacked it is the same answer.
    let tag = format!("W/\"{digest}\"");
    let tag_value = HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("\"\""));
    let head = [
        (header::ETAG, tag_value),
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::VARY, HeaderValue::from_static("authorization, accept-encoding")),
    ];
    if lists(headers, header::IF_NONE_MATCH, &tag) {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    if body.len() < MIN_GZIP_BYTES || !lists(headers, header::ACCEPT_ENCODING, "gzip") {
        return (head, body).into_response();
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    match packed.write_all(&body).and_then(|()| packed.finish()) {
        Ok(packed) => (head, [(header::CONTENT_ENCODING, "gzip")], packed).into_response(),
        Err(_) => (head, body).into_response(),
    }
}

/// Whether one of the header's values is this; what is said not to be wanted (`q=0`) is not.
fn lists(headers: &HeaderMap, name: header::HeaderName, wanted: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|one| {
        let (value, weight) = one.split_once(";q=").unwrap_or((one, "1"));
        value.trim() == wanted && weight.trim().parse::<f32>().is_ok_and(|weight| weight > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_wanted_is_packed() {
        let asks = |value: &'static str| {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(value))]);
            let answer = answer(&headers, "text/plain", vec![b'a'; 5000]);
            answer.headers().contains_key(header::CONTENT_ENCODING)
        };
        assert!(asks("gzip") && asks("br, gzip;q=0.5"));
        assert!(!asks("br") && !asks("gzip;q=0") && !asks("x-gzip"));
    }
}
