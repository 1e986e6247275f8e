//! Typed values over a stream, each as its length and then JSON. The other end may be in anybody's hand: what
//! it sends is bounded before it is read.

use serde::{Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::observation::{FaultKind, Reason};

/// Why there is no value.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The other end is closed.
    #[error("the other end is closed")]
    Closed,
    /// It is longer than agreed.
    #[error("{bytes} bytes are more than the {limit} that are allowed")]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// It is no such value.
    #[error("it is malformed: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error(transparent)]
    Stream(std::io::Error),
}

impl From<std::io::Error> for FrameError {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
        match error.kind() {
            UnexpectedEof | BrokenPipe | ConnectionReset => FrameError::Closed,
            _ => FrameError::Stream(error),
        }
    }
}

impl From<FrameError> for Reason {
    fn from(error: FrameError) -> Self {
        let kind = match &error {
            FrameError::Closed => FaultKind::Gone,
            FrameError::TooLong { .. } => FaultKind::TooLarge,
            FrameError::Malformed(_) => FaultKind::Malformed,
            FrameError::Stream(error) => return Reason::from(error),
        };
        Reason::new(kind, error)
    }
}

/// Sends `value`, unless it has more than `limit` bytes: then nothing is sent.
pub async fn send<T: Serialize>(
    stream: &mut (impl AsyncWrite + Unpin),
    value: &T,
    limit: usize,
) -> Result<(), FrameError> {
    let body = serde_json::to_vec(value)?;
    let length = match u32::try_from(body.len()) {
        Ok(length) if body.len() <= limit => length,
        _ => return Err(FrameError::TooLong { bytes: body.len(), limit }),
    };
    stream.write_all(&length.to_be_bytes()).await?;
    stream.write_all(&body).await?;
    Ok(stream.flush().await?)
}

/// Receives one value of at most `limit` bytes.
pub async fn receive<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
    limit: usize,
) -> Result<T, FrameError> {
    let length = stream.read_u32().await?;
    let bytes = usize::try_from(length).unwrap_or(usize::MAX);
    if bytes > limit {
        return Err(FrameError::TooLong { bytes, limit });
    }
    // It grows with what comes, not by what was announced.
    let mut body = Vec::new();
    stream.take(length.into()).read_to_end(&mut body).await?;
    if body.len() < bytes {
        return Err(FrameError::Closed);
    }
    Ok(serde_json::from_slice(&body)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    async fn received(bytes: &[u8], limit: usize) -> Result<Vec<String>, FrameError> {
        receive(&mut &*bytes, limit).await
    }

    #[tokio::test]
    async fn what_is_sent_is_received() {
        let (mut one, mut other) = tokio::io::duplex(16);
        let words = vec!["a\u{1b}".to_owned(), "b".repeat(1000)];
        let (sent, heard) = tokio::join!(send(&mut one, &words, 2000), receive::<Vec<String>>(&mut other, 2000));
        sent.unwrap();
        assert_eq!(heard.unwrap(), words);
    }

    #[tokio::test]
    async fn what_is_wrong_is_told_by_its_kind() {
        let kind = |error: FrameError| Reason::from(error).kind;
        let long = received(b"\xff\xff\xff\xffx", 100).await.unwrap_err();
        assert_eq!(kind(long), FaultKind::TooLarge);
        assert_eq!(kind(received(b"\0\0\0\x02{}", 100).await.unwrap_err()), FaultKind::Malformed);
        assert_eq!(kind(received(b"\0\0\0\x09[\"a", 100).await.unwrap_err()), FaultKind::Gone, "cut off");
        assert_eq!(kind(received(b"", 100).await.unwrap_err()), FaultKind::Gone);
        let sent = send(&mut tokio::io::sink(), &"x".repeat(100), 100).await.unwrap_err();
        assert_eq!(kind(sent), FaultKind::TooLarge);
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let _ = runtime.block_on(received(&bytes, 64));
        }
    }
}
