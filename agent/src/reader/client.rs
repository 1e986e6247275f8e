//! The talker's side.

use std::{cell::OnceCell, path::PathBuf, time::Duration};

use tokio::{net::UnixStream, time::Instant};

use super::message::{MAX_TO_READER_BYTES, ToReader, ToTalker, Wanted};
use crate::frame;
use crate::host::api::{ApiAnswer, ApiQuestion, Conversation, CounterHistory, Credentials};
use crate::host::scan::ScanOptions;
use crate::observation::{Fault, FaultKind, HostPath, Reason, Source};

/// Between two tries to connect.
const CONNECT_INTERVAL: Duration = Duration::from_millis(500);

/// The reader behind one socket. Each scan is a connection of its own.
pub struct Client {
    socket: PathBuf,
    /// How long a reader that is not there is waited for: it may be starting.
    patience: Duration,
    node: Option<String>,
    credentials: Option<Credentials>,
    api: OnceCell<Result<Conversation, Fault>>,
    counters: CounterHistory,
}

impl Client {
    /// Asks nothing yet. What the reader wants to know of the API server is asked with these credentials, and of
    /// this node only.
    pub fn new(socket: PathBuf, patience: Duration, node: Option<String>, credentials: Option<Credentials>) -> Self {
        Client { socket, patience, node, credentials, api: OnceCell::new(), counters: CounterHistory::default() }
    }

    /// Has the node scanned. However long it takes: a scan that hangs is not over.
    pub async fn scan(&self, options: ScanOptions, wanted: Wanted) -> Result<ToTalker, Fault> {
        let mut stream = self.connect().await?;
        let asked = ToReader::Scan(Box::new(ScanOptions { node_name: self.node.clone(), ..options }), wanted);
        frame::send(&mut stream, &asked, MAX_TO_READER_BYTES).await.map_err(|error| self.fault(error))?;
        loop {
            match frame::receive(&mut stream, wanted.max_bytes()).await.map_err(|error| self.fault(error))? {
                ToTalker::Ask(question) => {
                    let answer = ToReader::Answer(self.answer(question).await);
                    frame::send(&mut stream, &answer, MAX_TO_READER_BYTES).await.map_err(|error| self.fault(error))?;
                }
                ToTalker::Failed(fault) => return Err(fault),
                told => return Ok(told),
            }
        }
    }

    async fn connect(&self) -> Result<UnixStream, Fault> {
        let end = Instant::now() + self.patience;
        loop {
            match UnixStream::connect(&self.socket).await {
                Ok(stream) => return Ok(stream),
                Err(error) if Instant::now() + CONNECT_INTERVAL >= end => return Err(self.fault(error)),
                Err(_) => tokio::time::sleep(CONNECT_INTERVAL).await,
            }
        }
    }

    async fn answer(&self, question: ApiQuestion) -> ApiAnswer {
        let none = || Fault::new(Source::ApiServer, (FaultKind::NotAsked, "there are no credentials to ask it with"));
        let open = || self.credentials.clone().ok_or_else(none).and_then(Conversation::open);
        let api = match self.api.get_or_init(open) {
            Ok(api) => api,
            Err(fault) => return ApiAnswer::Failed(fault.clone()),
        };
        let node = self.node.as_deref().unwrap_or_default();
        match question {
            ApiQuestion::Pods(only) => ApiAnswer::Pods(api.facts(node, only.as_ref()).await),
            ApiQuestion::Volumes(names) => ApiAnswer::Volumes(api.volumes(names).await),
            ApiQuestion::KubeletCounters { listener, volumes } => {
                ApiAnswer::KubeletCounters(self.counters.read(api, node, listener, volumes).await)
            }
        }
    }

    fn fault(&self, reason: impl Into<Reason>) -> Fault {
        Fault::new(format!("reader unix://{}", HostPath::from(self.socket.clone()).show()), reason)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncWriteExt, net::UnixListener};

    use super::*;
    use crate::reader::{Judged, message::MAX_TO_TALKER_BYTES};

    /// A talker whose reader does this with the first connection.
    async fn answer_from<F: Future<Output = ()>>(reader: impl FnOnce(UnixStream) -> F) -> Result<ToTalker, Fault> {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("reader.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let client = Client::new(socket, Duration::ZERO, Some("node-7".to_owned()), None);
        let serve = async { reader(listener.accept().await.unwrap().0).await };
        tokio::join!(client.scan(ScanOptions::default(), Wanted::Judged), serve).0
    }

    async fn question(stream: &mut UnixStream) -> ToReader {
        frame::receive(stream, MAX_TO_READER_BYTES).await.unwrap()
    }

    #[tokio::test]
    async fn a_reader_that_is_not_there_is_a_fault_after_a_while() {
        let client = Client::new("/nothing-here".into(), Duration::from_millis(700), None, None);
        let begun = Instant::now();
        let fault = client.scan(ScanOptions::default(), Wanted::Judged).await.unwrap_err();
        assert_eq!((fault.kind, fault.errno), (FaultKind::Gone, Some(libc::ENOENT)));
        assert_eq!(fault.source.to_string(), "reader unix:///nothing-here");
        assert!(begun.elapsed() >= CONNECT_INTERVAL);
    }

    #[tokio::test]
    async fn what_is_no_answer_is_a_fault_of_its_kind() {
        let kind = |told: Result<ToTalker, Fault>| told.unwrap_err().kind;
        let dead = answer_from(async |mut stream| _ = question(&mut stream).await).await;
        assert_eq!(kind(dead), FaultKind::Gone);
        for (bytes, expected) in [
            (b"\0\0\0\x02{}".as_slice(), FaultKind::Malformed),
            (b"\xff\xff\xff\xff", FaultKind::TooLarge),
            (b"\0\0\0\x09{", FaultKind::Gone),
        ] {
            let answer = answer_from(async |mut stream| {
                question(&mut stream).await;
                stream.write_all(bytes).await.unwrap();
            });
            assert_eq!(kind(answer.await), expected, "{bytes:?}");
        }
    }

    #[tokio::test]
    async fn the_api_server_is_asked_for_the_reader_in_between() {
        let answer = answer_from(async |mut stream| {
            let ToReader::Scan(scan, _) = question(&mut stream).await else { unreachable!() };
            assert_eq!(scan.node_name.as_deref(), Some("node-7"));
            frame::send(&mut stream, &ToTalker::Ask(ApiQuestion::Volumes(vec!["pv".into()])), MAX_TO_TALKER_BYTES)
                .await
                .unwrap();
            let ToReader::Answer(ApiAnswer::Failed(fault)) = question(&mut stream).await else { unreachable!() };
            assert_eq!(fault.kind, FaultKind::NotAsked, "without credentials");
            let judged = Judged::nothing("node-7", &fault);
            frame::send(&mut stream, &ToTalker::Judged(Box::new(judged)), MAX_TO_TALKER_BYTES).await.unwrap();
        });
        assert!(matches!(answer.await, Ok(ToTalker::Judged(judged)) if judged.report.node == "node-7"));
    }
}
