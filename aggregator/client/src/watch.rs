//! What has changed, line by line. kube's own watcher reads a line of any length.

use std::ops::Range;
use std::pin::Pin;
use std::time::Duration;

use findings::FaultKind;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use kube::Client;
use kube::client::Body;
use memchr::memmem;
use serde::Deserialize;
use tokio::time::{Instant, timeout};

use crate::fault::{Fault, kind, words};
use crate::path::{Selector, part, selected};
use crate::request::METADATA;

/// No object is longer: etcd takes no more than 1.5 MiB, and JSON is a little longer than what is stored.
const MAX_LINE_BYTES: usize = 4 << 20;
/// A refusal has a few hundred bytes.
const MAX_REFUSAL_BYTES: usize = 64 << 10;
/// So much room for lines is kept, whatever has come.
const MAX_KEPT_BYTES: usize = 64 << 10;
/// So long a server lets a watch live, in seconds: client-go asks for no more.
const LIVES: u32 = 290;
/// Ends what there was when a watch began (kubernetes: `InitialEventsAnnotationKey`).
const LISTED: &[u8] = b"\"k8s.io/initial-events-end\"";
/// A watch whose end is not heard of is half open.
const OVERDUE: Duration = Duration::from_secs(310);

/// What a line of a watch says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The object as it is now, as JSON.
    Applied(Vec<u8>),
    /// It is gone, or not selected any more.
    Deleted {
        uid: String,
        /// The object as it was last, as JSON.
        object: Vec<u8>,
    },
    /// The watch has sent all that existed when it began.
    Listed,
}

/// What to follow.
#[derive(Clone, Copy, Debug)]
pub struct Changes<'a> {
    /// The path of the collection.
    pub path: &'a str,
    /// Which of its objects.
    pub selector: Selector<'a>,
    /// What has changed since that version. Without one it begins with all there is, one object at a time instead of as a
    /// list: most servers before 1.32 refuse that.
    pub since: Option<&'a str>,
    /// Whether of each object its metadata is enough.
    pub metadata_only: bool,
    /// Whether only what is being deleted is read; all else is dropped as it comes.
    pub terminating_only: bool,
}

/// A collection that is followed.
pub struct Watch {
    body: Body,
    read: Vec<u8>,
    /// How many bytes of `read` were passed on.
    told: usize,
    terminating_only: bool,
    version: String,
    /// The last line, where nothing of it counts but its version, should the watch end.
    passed: Vec<u8>,
    end: Instant,
}

#[derive(Deserialize)]
struct Line<'a> {
    r#type: &'a str,
    object: Head,
}

/// What every object has, and the `Status` of a watch that has failed.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Head {
    metadata: Meta,
    code: u16,
    message: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Meta {
    uid: String,
    resource_version: String,
    deletion_timestamp: Option<String>,
}

impl Watch {
    /// Begins to follow; the server has as long as `begin_timeout` to agree.
    pub(crate) async fn begin(client: &Client, changes: Changes<'_>, begin_timeout: Duration) -> Result<Watch, Fault> {
        let Changes { path, selector, since, metadata_only, terminating_only } = changes;
        let from = match since {
            Some(version) => format!("resourceVersion={}", part(version)),
            None => "sendInitialEvents=true&resourceVersionMatch=NotOlderThan".to_owned(),
        };
        let path = selected(path, selector);
        let path = format!("{path}watch=true&allowWatchBookmarks=true&timeoutSeconds={LIVES}&{from}");
        let accept = if metadata_only { METADATA } else { "application/json" };
        // What is packed may wait in the packer of a proxy for what comes after it.
        let request = Request::get(path).header(header::ACCEPT, accept).header(header::ACCEPT_ENCODING, "identity");
        let request = request.body(Body::empty())?;
        let late = |_| Fault::timed_out(begin_timeout);
        let (head, body) = timeout(begin_timeout, client.send(request)).await.map_err(late)??.into_parts();
        if head.status != StatusCode::OK {
            let body = timeout(begin_timeout, Limited::new(body, MAX_REFUSAL_BYTES).collect()).await;
            let body = body.ok().and_then(Result::ok).map(|body| body.to_bytes()).unwrap_or_default();
            return Err(Fault::answered(head.status, &body));
        }
        Ok(Watch {
            body,
            read: Vec::new(),
            told: 0,
            terminating_only,
            version: since.unwrap_or_default().to_owned(),
            passed: Vec::new(),
            end: Instant::now() + OVERDUE,
        })
    }

    /// The version of the last line, from which a new watch goes on.
    pub fn version(&mut self) -> &str {
        if let Ok(line) = serde_json::from_slice::<Line>(&std::mem::take(&mut self.passed)) {
            self.version = line.object.metadata.resource_version;
        }
        &self.version
    }

    /// The next change that counts; none when the watch has ended.
    pub async fn next(&mut self) -> Result<Option<Change>, Fault> {
        loop {
            let Some(line) = self.line().await? else { return Ok(None) };
            // Not copied: what is passed over is nearly all that comes.
            let read = std::mem::take(&mut self.read);
            let change = self.understand(&read[line]);
            self.read = read;
            if let Some(change) = change? {
                return Ok(Some(change));
            }
        }
    }

    /// Where the next line stands in what was read.
    async fn line(&mut self) -> Result<Option<Range<usize>>, Fault> {
        let mut searched = self.told;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.read[searched..]) {
                let end = searched + at + 1;
                let line = std::mem::replace(&mut self.told, end)..end;
                return if line.len() > MAX_LINE_BYTES { Err(too_large()) } else { Ok(Some(line)) };
            }
            self.read.drain(..self.told);
            self.told = 0;
            searched = self.read.len();
            if searched < MAX_KEPT_BYTES {
                self.read.shrink_to(MAX_KEPT_BYTES);
            }
            if searched > MAX_LINE_BYTES {
                return Err(too_large());
            }
            let frame = match tokio::time::timeout_at(self.end, Pin::new(&mut self.body).frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => return Err(Fault::new(kind(&error), words(&error))),
                // One that is cut off in the middle comes again.
                Ok(None) | Err(_) => return Ok(None),
            };
            if let Ok(data) = frame.into_data() {
                self.read.extend_from_slice(&data);
            }
        }
    }

    fn understand(&mut self, line: &[u8]) -> Result<Option<Change>, Fault> {
        self.passed.clear();
        if self.terminating_only && is_of_living(line) {
            self.passed.extend_from_slice(line);
            return Ok(None);
        }
        let Line { r#type, object: Head { metadata, code, message } } = serde_json::from_slice(line)?;
        if r#type == "ERROR" {
            return Err(Fault { kind: FaultKind::from_status(code), status: Some(code), says: message });
        }
        self.version = metadata.resource_version;
        Ok(match r#type {
            "DELETED" => Some(Change::Deleted { uid: metadata.uid, object: object(line)? }),
            "BOOKMARK" if memmem::find(line, LISTED).is_some() => Some(Change::Listed),
            "ADDED" | "MODIFIED" if !self.terminating_only || metadata.deletion_timestamp.is_some() => {
                Some(Change::Applied(object(line)?))
            }
            _ => None,
        })
    }
}

fn too_large() -> Fault {
    Fault::too_large("one object of a watch", MAX_LINE_BYTES)
}

/// Whether the object that was added or modified is not being deleted, which is nearly every event: found without parsing
/// the object.
fn is_of_living(line: &[u8]) -> bool {
    let is_there = [&b"{\"type\":\"ADDED\""[..], b"{\"type\":\"MODIFIED\""].iter().any(|head| line.starts_with(head));
    is_there && memmem::find(line, b"\"deletionTimestamp\"").is_none()
}

/// The object of a line, as it stands there: `{"type":"ADDED","object":{…}}`.
fn object(line: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let between = line.trim_ascii_end().strip_suffix(b"}").and_then(|line| {
        let (head, rest) = line.split_at_checked(memmem::find(line, b"\"object\":")?)?;
        // Else the object stands first, or something of it is called so.
        (head.len() < 24 && memmem::find(head, b"\"type\"").is_some())
            .then(|| rest.trim_ascii_start().get(9..))
            .flatten()
    });
    match between {
        Some(between) => Ok(between.to_vec()),
        None => serde_json::from_slice::<serde_json::Value>(line).and_then(|line| serde_json::to_vec(&line["object"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_taken_from_its_line_in_any_order() {
        for line in [
            r#"{"type":"ADDED","object":{"a":{"object":1}}}"#,
            r#"{"object":{"a":{"object":1}},"type":"ADDED"}"#,
            r#" { "type" : "ADDED" , "object" : {"a":{"object":1}} } "#,
        ] {
            let taken = object(format!("{line}\n").as_bytes()).unwrap();
            let taken: serde_json::Value = serde_json::from_slice(&taken).unwrap();
            assert_eq!(taken, serde_json::json!({"a": {"object": 1}}), "{line}");
        }
    }
}
