//! A connection whose peer has to take what it is sent: one that reads too slowly is closed.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// So long nothing needs to be taken, of all waits together,
const MAX_STALL: Duration = Duration::from_secs(10);
/// and with every so many bytes that are taken, for a second more.
const MIN_BYTES_PER_SECOND: u32 = 64 << 10;

/// Fails a write for which it has waited too long.
pub struct MinWriteRate<S> {
    stream: S,
    /// For how much longer it may wait.
    patience: Duration,
    waits_since: Option<Instant>,
    timer: Pin<Box<Sleep>>,
}

impl<S> MinWriteRate<S> {
    /// Of a connection that is new.
    pub fn new(stream: S) -> Self {
        MinWriteRate { stream, patience: MAX_STALL, waits_since: None, timer: Box::pin(sleep(MAX_STALL)) }
    }

    fn watch(&mut self, context: &mut Context, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => {
                let waited = self.waits_since.take().map_or(Duration::ZERO, |since| since.elapsed());
                let earned = Duration::from_secs(1) * u32::try_from(bytes).unwrap_or(u32::MAX) / MIN_BYTES_PER_SECOND;
                self.patience = self.patience.saturating_sub(waited).saturating_add(earned);
                Poll::Ready(Ok(bytes))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                if self.waits_since.is_none() {
                    let now = Instant::now();
                    self.waits_since = Some(now);
                    self.timer.as_mut().reset(now + self.patience);
                }
                ready!(self.timer.as_mut().poll(context));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MinWriteRate<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context, into: &mut ReadBuf) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MinWriteRate<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.watch(context, written)
    }

    fn poll_write_vectored(self: Pin<&mut Self>, context: &mut Context, bytes: &[IoSlice]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, bytes);
        this.watch(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn who_takes_nothing_is_left_and_who_takes_enough_is_not() {
        let (ours, theirs) = duplex(64 << 10);
        let mut ours = MinWriteRate { patience: Duration::from_millis(300), ..MinWriteRate::new(ours) };
        let sent = vec![0; 1 << 20];
        let slow = ours.write_all(&sent).await.unwrap_err();
        assert_eq!(slow.kind(), io::ErrorKind::TimedOut);
        drop(theirs);

        let (ours, mut theirs) = duplex(64 << 10);
        let mut ours = MinWriteRate { patience: Duration::from_millis(300), ..MinWriteRate::new(ours) };
        let reader = tokio::spawn(async move {
            let mut part = vec![0; 64 << 10];
            while theirs.read(&mut part).await.is_ok_and(|read| read > 0) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        ours.write_all(&sent).await.unwrap();
        drop(ours);
        reader.await.unwrap();
    }
}
