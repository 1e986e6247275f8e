//! The reader's side: scans, one after another, for each connection.

use std::path::PathBuf;

use anyhow::{Context, bail};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;

use super::Judged;
use super::message::{MAX_TO_READER_BYTES, MAX_TO_TALKER_BYTES, ToReader, ToTalker, Wanted};
use crate::frame::{self, FrameError};
use crate::host::Sockets;
use crate::host::api::{Relay, Relayed};
use crate::host::broker::{self, Broker};
use crate::host::prober::Prober;
use crate::host::scan::{self, ScanOptions};
use crate::observation::Fault;
use crate::sys;
use crate::sys::sandbox::{self, Role};

/// The talker has another uid, and only these two can enter the directory they share.
const SOCKET_MODE: u32 = 0o666;

/// What the reader needs to know.
#[derive(Clone, Debug)]
pub struct Options {
    pub socket: PathBuf,
    /// How the node is looked at, as far as no talker says so.
    pub look: scan::Options,
}

/// Serves until it is killed, or until its broker ends. Must be called before any thread is started.
pub fn run(options: Options) -> anyhow::Result<()> {
    let listener = sys::bind(&options.socket, SOCKET_MODE)
        .with_context(|| format!("listening on {}", options.socket.display()))?;
    let stream =
        broker::start(|| scan::directories(&options.look), sandbox::confine_broker).context("starting the broker")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    sandbox::filter(Role::Reader).context("giving up system calls")?;
    runtime.block_on(async {
        let listener = UnixListener::from_std(listener)?;
        let broker = Broker::new(stream)?;
        let look = scan::Options { sockets: Sockets::Broker(broker.clone()), ..options.look };
        tracing::info!(version = env!("CARGO_PKG_VERSION"), "reading");
        let prober = Prober::default();
        loop {
            let stream = tokio::select! {
                accepted = listener.accept() => accepted?.0,
                () = broker.ended() => bail!("the broker has ended"),
            };
            if let Err(error) = converse(stream, &look, &prober).await {
                tracing::debug!(%error, "a conversation has ended early");
            }
        }
    })
}

/// Answers what one talker asks, until it goes.
async fn converse(mut stream: UnixStream, look: &scan::Options, prober: &Prober) -> Result<(), FrameError> {
    loop {
        let (scan, wanted) = match frame::receive(&mut stream, MAX_TO_READER_BYTES).await {
            Ok(ToReader::Scan(scan, wanted)) => (*scan, wanted),
            Ok(ToReader::Answer(_)) | Err(FrameError::Closed) => return Ok(()),
            Err(error) => return refuse(&mut stream, error).await,
        };
        let answer = scan_for(scan, wanted, &mut stream, look, prober).await?;
        match frame::send(&mut stream, &answer, wanted.max_bytes()).await {
            Err(error @ FrameError::TooLong { .. }) => return refuse(&mut stream, error).await,
            sent => sent?,
        }
    }
}

async fn refuse(stream: &mut UnixStream, error: FrameError) -> Result<(), FrameError> {
    frame::send(stream, &ToTalker::Failed(Fault::new("reader", error)), MAX_TO_TALKER_BYTES).await
}

/// Scans; what it wants to know of the API server meanwhile is asked of the talker.
async fn scan_for(
    scan: ScanOptions,
    wanted: Wanted,
    stream: &mut UnixStream,
    look: &scan::Options,
    prober: &Prober,
) -> Result<ToTalker, FrameError> {
    let (relay, mut questions) = Relay::new();
    let options = scan::Options { scan, relay: Some(relay), ..look.clone() };
    let scan = async {
        match wanted {
            Wanted::Judged => ToTalker::Judged(Box::new(Judged::scan(&options, prober).await)),
            Wanted::Observation => ToTalker::Observation(Box::new(scan::scan(&options, prober).await)),
        }
    };
    tokio::select! {
        told = scan => Ok(told),
        ended = relay_all(&mut questions, stream) => Err(ended),
    }
}

/// Asks the talker, question by question; ends when the talker has.
async fn relay_all(questions: &mut Receiver<Relayed>, stream: &mut UnixStream) -> FrameError {
    while let Some((question, reply)) = questions.recv().await {
        if let Err(error) = relay(question, reply, stream).await {
            return error;
        }
    }
    std::future::pending().await
}

async fn relay(
    question: crate::host::api::ApiQuestion,
    reply: oneshot::Sender<crate::host::api::ApiAnswer>,
    stream: &mut UnixStream,
) -> Result<(), FrameError> {
    frame::send(stream, &ToTalker::Ask(question), MAX_TO_TALKER_BYTES).await?;
    match frame::receive(stream, MAX_TO_READER_BYTES).await? {
        ToReader::Answer(answer) => {
            // The scan may have given up meanwhile.
            let _ = reply.send(answer);
            Ok(())
        }
        ToReader::Scan(..) => Err(FrameError::Closed),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::host::api::{ApiAnswer, ApiQuestion};
    use crate::observation::{FaultKind, Seen};

    async fn refused(bytes: &[u8]) -> Fault {
        let (mut talker, reader) = UnixStream::pair().unwrap();
        let (look, prober) = (scan::Options::default(), Prober::default());
        talker.write_all(bytes).await.unwrap();
        let (ended, told) =
            tokio::join!(converse(reader, &look, &prober), frame::receive(&mut talker, MAX_TO_TALKER_BYTES));
        ended.unwrap();
        match told.unwrap() {
            ToTalker::Failed(fault) => fault,
            told => unreachable!("{told:?}"),
        }
    }

    #[tokio::test]
    async fn what_is_no_question_is_refused_and_the_next_talker_is_served() {
        assert_eq!(refused(b"\0\0\0\x04nope").await.kind, FaultKind::Malformed);
        assert_eq!(refused(b"\x7f\xff\xff\xff").await.kind, FaultKind::TooLarge);
    }

    #[tokio::test]
    async fn a_talker_that_goes_is_no_failure() {
        let (talker, reader) = UnixStream::pair().unwrap();
        drop(talker);
        assert!(converse(reader, &scan::Options::default(), &Prober::default()).await.is_ok());
    }

    #[tokio::test]
    async fn the_talker_is_asked_for_what_the_api_server_knows() {
        let (relay, mut questions) = Relay::new();
        let (mut talker, mut reader) = UnixStream::pair().unwrap();
        let answers = async {
            let question = frame::receive(&mut talker, MAX_TO_TALKER_BYTES).await.unwrap();
            assert!(matches!(question, ToTalker::Ask(ApiQuestion::Volumes(names)) if names == ["pv"]));
            let answer = ApiAnswer::Volumes(Seen::Seen(Vec::new()));
            frame::send(&mut talker, &ToReader::Answer(answer), MAX_TO_READER_BYTES).await.unwrap();
            // It goes before the next question.
            drop(talker);
        };
        let asks = async {
            assert_eq!(relay.volumes(vec!["pv".into()]).await, Seen::Seen(Vec::new()));
            relay.pods(None).await
        };
        let relayed = async {
            let ended = relay_all(&mut questions, &mut reader).await;
            assert!(matches!(ended, FrameError::Closed), "{ended}");
            drop(questions);
        };
        let ((), unanswered, ()) = tokio::join!(answers, asks, relayed);
        assert_eq!(unanswered.fault().unwrap().kind, FaultKind::Gone);
    }
}
