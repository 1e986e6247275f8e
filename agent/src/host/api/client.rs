//! Questions to the API server: each bounded in time and in length, and its failure a value.

use std::{
    marker::PhantomData,
    pin::{Pin, pin},
    time::Duration,
};

use findings::FaultKind;
use futures::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use kube::{
    Client, Resource,
    api::{GetParams, WatchParams},
    core::{Request, WatchEvent},
};
use serde::de::DeserializeOwned;

use super::types::Small;
use crate::observation::{Fault, Reason, Source};

/// No answer, no page and no line of a watch is read further, in bytes.
pub const LONGEST: usize = 4 << 20;
/// So long a server lets a watch live, as client-go asks for at most.
const WATCH: u32 = 290;
/// A watch whose end is not heard of is half open.
const WATCH_OVERDUE: Duration = Duration::from_secs(310);

/// How long is waited.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    /// For a connection.
    pub connect: Duration,
    /// For one answer; kube itself would wait for ever for one that has begun.
    pub answer: Duration,
    /// For all pages of a list.
    pub list: Duration,
}

/// While somebody waits at a terminal. kube's own retries run inside it.
pub const CHECK: Deadlines = Deadlines {
    connect: Duration::from_millis(1500),
    answer: Duration::from_millis(1500),
    list: Duration::from_millis(1500),
};
/// While nobody does.
pub const RUN: Deadlines =
    Deadlines { connect: Duration::from_secs(10), answer: Duration::from_secs(10), list: Duration::from_secs(45) };

/// The API server.
#[derive(Clone)]
pub struct ApiClient {
    client: Client,
    deadlines: Deadlines,
}

impl ApiClient {
    /// Asks through `client`.
    pub fn new(client: Client, deadlines: Deadlines) -> Self {
        ApiClient { client, deadlines }
    }

    /// What it asks through.
    pub fn http(&self) -> &Client {
        &self.client
    }

    /// How long is waited.
    pub fn deadlines(&self) -> Deadlines {
        self.deadlines
    }

    /// One object; none when there is none of that name.
    pub async fn get<K: Small>(&self, namespace: Option<&str>, name: &str) -> Result<Option<K>, Fault> {
        let path = K::Of::url_path(&(), namespace);
        let request = Request::new(path).get(name, &GetParams::default()).map_err(fault)?;
        match self.read(request).await {
            Ok(Some(body)) => parse(&body).map(Some),
            Ok(None) => Err(too_long("an object")),
            Err(fault) if fault.kind == FaultKind::Gone => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Begins a watch of what has changed since `version`.
    pub async fn watch<K: Small>(&self, fields: &str, version: &str) -> Result<Watch<K>, Fault> {
        let params = WatchParams::default().fields(fields).timeout(WATCH);
        let request = Request::new(K::Of::url_path(&(), None)).watch(&params, version).map_err(fault)?;
        let body = self.in_time(self.client.request_stream(request)).await?;
        let end = tokio::time::Instant::now() + WATCH_OVERDUE;
        Ok(Watch { body: Box::pin(body), end, of: PhantomData })
    }

    /// The body of an answer; none when it is too long.
    pub(super) async fn read(&self, request: http::Request<Vec<u8>>) -> Result<Option<Vec<u8>>, Fault> {
        let read = async {
            let body = pin!(self.client.request_stream(request).await?);
            let mut bytes = Vec::new();
            let read = body.take(LONGEST as u64 + 1).read_to_end(&mut bytes).await;
            read.map_err(kube::Error::ReadEvents)?;
            Ok(bytes)
        };
        let bytes = self.in_time(read).await?;
        Ok((bytes.len() <= LONGEST).then_some(bytes))
    }

    async fn in_time<T>(&self, answer: impl Future<Output = kube::Result<T>>) -> Result<T, Fault> {
        match tokio::time::timeout(self.deadlines.answer, answer).await {
            Ok(answer) => answer.map_err(fault),
            Err(_) => Err(timed_out("did not answer within", self.deadlines.answer)),
        }
    }
}

/// What has changed, line by line.
pub struct Watch<K> {
    body: Pin<Box<dyn AsyncBufRead + Send>>,
    end: tokio::time::Instant,
    of: PhantomData<fn() -> K>,
}

impl<K: Small> Watch<K> {
    /// The next change; none when the watch has ended.
    pub async fn next(&mut self) -> Result<Option<WatchEvent<K>>, Fault> {
        let mut line = Vec::new();
        let mut rest = (&mut self.body).take(LONGEST as u64 + 1);
        match tokio::time::timeout_at(self.end, rest.read_until(b'\n', &mut line)).await {
            Err(_) => return Ok(None),
            Ok(read) => read.map_err(|error| fault(kube::Error::ReadEvents(error)))?,
        };
        if line.len() > LONGEST {
            return Err(too_long("one object of a watch"));
        }
        // One that is cut off in the middle comes again.
        if line.last() != Some(&b'\n') {
            return Ok(None);
        }
        match parse(&line)? {
            WatchEvent::Error(status) => Err(fault(kube::Error::Api(status))),
            event => Ok(Some(event)),
        }
    }
}

pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(body).map_err(|error| of_server((FaultKind::Malformed, error)))
}

pub(super) fn too_long(what: &str) -> Fault {
    of_server((FaultKind::TooLarge, format!("{what} has more than {LONGEST} bytes")))
}

pub(super) fn timed_out(what: &str, deadline: Duration) -> Fault {
    of_server((FaultKind::TimedOut, format!("{what} {deadline:?}")))
}

fn of_server(reason: impl Into<Reason>) -> Fault {
    Fault::new(Source::ApiServer, reason)
}

/// Whatever failed on the way to an answer.
pub fn fault(error: impl Into<anyhow::Error>) -> Fault {
    let error = error.into();
    let of_server_itself = error.chain().find_map(|cause| match cause.downcast_ref::<kube::Error>()? {
        kube::Error::Api(status) => Some(FaultKind::of_status(status.code)),
        _ => None,
    });
    let of_system = || error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>().map(FaultKind::of_io));
    let kind = of_server_itself.or_else(of_system).unwrap_or_default();
    of_server((kind, findings::clean(&format!("{error:#}"), 300)))
}
