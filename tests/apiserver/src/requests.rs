//! The log of requests.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

/// One request, a line of `requests.ndjson`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Identifies the request.
    pub id: u64,
    /// When it came, RFC 3339 with milliseconds.
    pub at: String,
    /// get, list, watch, create, update, patch or delete.
    pub verb: String,
    /// Without the query.
    pub path: String,
    /// As it was sent.
    pub query: String,
    /// HTTP status; 0 when there was no answer.
    pub status: u16,
    /// Who asked.
    pub user_agent: String,
    /// Bytes of the body that was sent.
    pub body_bytes: u64,
    /// Bytes of the answer's body, as far as it was sent.
    pub answered_bytes: u64,
    /// The same before it was compressed.
    #[serde(default)]
    pub plain_bytes: u64,
    /// Whether it is still being answered: a watch has a line when it begins and another when it ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
}

/// Appends requests to the log.
#[derive(Debug)]
pub(crate) struct RequestLog {
    file: Mutex<File>,
    next: AtomicU64,
}

impl RequestLog {
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .with_context(|| format!("open {}", path.display()))?;
        // A fake that is started again goes on with other numbers.
        let first = u64::try_from(jiff::Timestamp::now().as_microsecond()).unwrap_or_default();
        Ok(Self { file: Mutex::new(file), next: AtomicU64::new(first) })
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// One line, in one write: it is complete before the client has the answer.
    pub(crate) fn append(&self, request: &Request) {
        let Ok(mut line) = serde_json::to_vec(request) else { return };
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(&line) {
            eprintln!("the request log cannot be written: {error}");
        }
    }
}

/// Reads a log; the last line of a request stands for it.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Request>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("read {}", path.display())),
    };
    let mut requests: Vec<Request> = Vec::new();
    let mut open: HashMap<u64, usize> = HashMap::new();
    // The last line may be in the making.
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let request: Request = serde_json::from_str(line).with_context(|| format!("parse {}", path.display()))?;
        match open.get(&request.id) {
            Some(&at) => requests[at] = request,
            None => {
                if request.open {
                    open.insert(request.id, requests.len());
                }
                requests.push(request);
            }
        }
    }
    Ok(requests)
}

/// A request that is being answered: logged when it is dropped, however it ended.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    log: std::sync::Arc<RequestLog>,
    request: Request,
}

impl OpenRequest {
    /// Logs its begin.
    pub(crate) fn new(log: std::sync::Arc<RequestLog>, mut request: Request) -> Self {
        request.open = true;
        log.append(&request);
        Self { log, request }
    }

    pub(crate) fn answered(&mut self, bytes: usize) {
        self.request.answered_bytes += bytes as u64;
        self.request.plain_bytes += bytes as u64;
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.request.open = false;
        self.log.append(&self.request);
    }
}
