//! A process at the runtime's socket that tries to exhaust the memory of its caller.

use std::fs::{File, OpenOptions};
use std::future::poll_fn;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use h2::server::{self, SendResponse};
use http::{HeaderMap, HeaderValue, Response};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{UnixListener, UnixStream};

/// The most that a runtime may answer.
const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// What is given to HTTP/2 at a time.
const PIECE_BYTES: usize = 16 << 10;
const STATUS_BYTES: usize = 1 << 20;
const CONTAINERS: usize = 1000;

/// A false runtime.
#[derive(Debug, clap::Args)]
pub struct FalseRuntime {
    /// Where it listens.
    #[arg(long)]
    socket: PathBuf,
    /// A file for the names of the calls that it gets.
    #[arg(long)]
    calls: PathBuf,
    /// The uid of the pod whose containers it lists.
    #[arg(long)]
    pod: String,
    /// How it answers.
    #[arg(long, value_enum)]
    manner: Manner,
}

/// How a runtime answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Manner {
    /// Bytes without end, as a message of the longest that is allowed.
    Endless,
    /// A byte every 100 ms.
    Slow,
    /// Bytes without end that are no HTTP/2.
    Garbage,
    /// As many empty containers and sandboxes as a message holds.
    Empty,
    /// As many labels and annotations as a message holds.
    Pairs,
    /// Containers and sandboxes with long ids.
    Ids,
    /// A runtime with a long name.
    Name,
    /// A thousand containers and sandboxes, each with a status of 1 MiB.
    Statuses,
}

impl FalseRuntime {
    /// Serves until it is killed.
    pub fn run(self) -> anyhow::Result<()> {
        let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        executor.block_on(self.serve())
    }

    async fn serve(self) -> anyhow::Result<()> {
        let listener = UnixListener::bind(&self.socket).context("listen")?;
        let (list, status) = (list(self.manner, &self.pod), Bytes::from(status()));
        loop {
            let (stream, _) = listener.accept().await?;
            let calls = OpenOptions::new().create(true).append(true).open(&self.calls)?;
            let (list, status) = (list.clone(), status.clone());
            tokio::spawn(async move {
                // It ends when the caller hangs up.
                let _ = answer(stream, self.manner, calls, list, status).await;
            });
        }
    }
}

async fn answer(
    mut stream: UnixStream,
    manner: Manner,
    mut calls: File,
    list: Bytes,
    status: Bytes,
) -> anyhow::Result<()> {
    if manner == Manner::Garbage {
        writeln!(calls, "connection")?;
        loop {
            stream.write_all(&[0x5a; PIECE_BYTES]).await?;
        }
    }
    let mut connection = server::handshake(stream).await?;
    while let Some(call) = connection.accept().await {
        let (request, response) = call?;
        let method = request.uri().path();
        writeln!(calls, "{method}")?;
        let is_attack = matches!(manner, Manner::Slow | Manner::Name)
            || ["/List", "/GetInfo"].iter().any(|part| method.contains(part));
        let message = match () {
            () if is_attack => list.clone(),
            () if method.ends_with("Status") => status.clone(),
            () => Bytes::from([field(2, b"containerd"), field(3, b"v2")].concat()),
        };
        tokio::spawn(send(response, manner, message));
    }
    Ok(())
}

async fn send(mut response: SendResponse<Bytes>, manner: Manner, message: Bytes) -> anyhow::Result<()> {
    let head = Response::builder().header("content-type", "application/grpc").body(())?;
    let mut stream = response.send_response(head, false)?;
    let length = u32::try_from(message.len())?.to_be_bytes();
    let mut left = Bytes::from([&[0], length.as_slice(), &message].concat());
    while !left.is_empty() {
        let bytes = if manner == Manner::Slow { 1 } else { left.len().min(PIECE_BYTES) };
        stream.reserve_capacity(bytes);
        while stream.capacity() < bytes {
            poll_fn(|context| stream.poll_capacity(context)).await.context("the stream has ended")??;
        }
        stream.send_data(left.split_to(bytes), false)?;
        match manner {
            Manner::Slow => tokio::time::sleep(Duration::from_millis(100)).await,
            Manner::Endless if left.is_empty() && message.len() == MAX_MESSAGE_BYTES => left = message.clone(),
            _ => {}
        }
    }
    stream.send_trailers(HeaderMap::from_iter([("grpc-status".parse()?, HeaderValue::from_static("0"))]))?;
    Ok(())
}

/// One message for both lists, or for every call.
fn list(manner: Manner, pod: &str) -> Bytes {
    let pair = |key: &str, value: &str| [field(1, key.as_bytes()), field(2, value.as_bytes())].concat();
    let item = |id: &str| {
        let metadata = [field(1, b"db"), field(2, pod.as_bytes()), field(3, b"shop")].concat();
        let uid = field(8, &pair("io.kubernetes.pod.uid", pod));
        field(1, &[field(1, id.as_bytes()), field(2, &metadata), uid].concat())
    };
    let bytes = match manner {
        Manner::Garbage => Vec::new(),
        Manner::Endless | Manner::Slow => vec![b'x'; MAX_MESSAGE_BYTES],
        Manner::Empty => field(1, b"").repeat(MAX_MESSAGE_BYTES / 2),
        Manner::Pairs => {
            // Annotations of a sandbox, and of a container.
            let pairs = (0..8000).map(|key| [6, 9].map(|tag| field(tag, &pair(&format!("{key}"), ""))).concat());
            let item = field(1, &pairs.collect::<Vec<_>>().concat());
            item.repeat(MAX_MESSAGE_BYTES / item.len())
        }
        Manner::Ids => item(&"x".repeat(MAX_MESSAGE_BYTES - 1000)),
        Manner::Name => field(2, "x".repeat(MAX_MESSAGE_BYTES - 1000).as_bytes()),
        Manner::Statuses => (0..CONTAINERS).map(|number| item(&format!("{number:064}"))).collect::<Vec<_>>().concat(),
    };
    Bytes::from(bytes)
}

fn status() -> Vec<u8> {
    let info = format!("{{\"pid\":1,\"config\":\"{}\"}}", "x".repeat(STATUS_BYTES));
    field(2, &[field(1, b"info"), field(2, info.as_bytes())].concat())
}

/// A string or message of protobuf.
fn field(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag << 3 | 2];
    // A vector grows.
    let _ = prost::encode_length_delimiter(content.len(), &mut bytes);
    bytes.extend(content);
    bytes
}
