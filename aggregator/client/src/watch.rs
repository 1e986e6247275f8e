//! What has changed, line by line. kube's own watcher reads a line of any length.

use std::pin::Pin;
use std::time::Duration;

use aggregator_core::state::{Answer, Detail, Fault, Question, Scope, Select};
use findings::FaultKind;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use memchr::memmem;
use serde::Deserialize;
use tokio::time::Instant;

use super::fault::{kind, said, words};
use super::paths::{part, path};
use super::server::{Bounds, ask};

/// Of each object only its metadata.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
/// No object is longer: etcd takes no more than 1.5 MiB, and JSON is a little longer than what is stored.
const LONGEST: usize = 4 << 20;
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
        /// Its uid.
        uid: String,
    },
    /// All that there was when the watch began has been told.
    Listed,
}

/// What is followed: the objects that a question asks for.
pub struct Watch {
    body: Body,
    read: Vec<u8>,
    /// So much of that has been told.
    told: usize,
    /// Only what is being deleted is read; all else is dropped as it comes.
    is_terminating: bool,
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

/// The version a watch may begin at: what is listed later has all that the watch does not tell.
pub async fn version(client: &Client, question: &Question, bounds: Bounds) -> Answer<String> {
    #[derive(Deserialize)]
    struct List {
        metadata: Meta,
    }
    let path = format!("{}limit=1", selected(question));
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
    let body = ask(client, &path, accept, bounds).await.map(|response| response.body);
    body.and_then(|body| match serde_json::from_slice::<List>(&body) {
        Ok(list) => Answer::Seen(list.metadata.resource_version),
        Err(error) => Answer::failed(FaultKind::Malformed, error),
    })
}

fn selected(question: &Question) -> String {
    let Question::Objects { resource, scope, select, .. } = question else { return String::new() };
    let path = path(resource, if matches!(scope, Scope::Named(..)) { &Scope::All } else { scope });
    match select {
        Select::Fields(selector) => format!("{path}?fieldSelector={}&", part(selector)),
        Select::Labels(selector) => format!("{path}?labelSelector={}&", part(selector)),
        Select::Every | Select::Terminating | Select::Local => format!("{path}?"),
    }
}

impl Watch {
    /// Begins to follow what has changed since `version`.
    pub async fn begin(client: &Client, question: &Question, version: &str, bounds: Bounds) -> Result<Watch, Fault> {
        let from = format!("resourceVersion={}", part(version));
        Watch::from(client, question, &from, version, bounds).await
    }

    /// Begins with all there is, told one by one instead of as a list. Servers before 1.32 refuse that, most of them.
    pub async fn streaming(client: &Client, question: &Question, bounds: Bounds) -> Result<Watch, Fault> {
        let from = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
        Watch::from(client, question, from, "", bounds).await
    }

    async fn from(
        client: &Client,
        question: &Question,
        from: &str,
        version: &str,
        bounds: Bounds,
    ) -> Result<Watch, Fault> {
        let path = format!("{}watch=true&allowWatchBookmarks=true&timeoutSeconds={LIVES}&{from}", selected(question));
        let accept = match question {
            Question::Objects { detail: Detail::Metadata, .. } => METADATA,
            _ => "application/json",
        };
        // What is packed may wait in the packer of a proxy for what comes after it.
        let request = Request::get(path).header(header::ACCEPT, accept).header(header::ACCEPT_ENCODING, "identity");
        let request = request.body(Body::empty());
        let request = request.map_err(|error| Fault::new(FaultKind::NotAsked, error.to_string()))?;
        let answered = tokio::time::timeout(bounds.request_timeout, client.send(request)).await;
        let response =
            answered.map_err(|_| Fault::new(FaultKind::TimedOut, format!("waited {:?}", bounds.request_timeout)))?;
        let (head, body) = response.map_err(|error| Fault::new(kind(&error), words(&error)))?.into_parts();
        if head.status != StatusCode::OK {
            let whole =
                tokio::time::timeout(bounds.request_timeout, http_body_util::Limited::new(body, 64 << 10).collect());
            let body = whole.await.ok().and_then(Result::ok).map(|body| body.to_bytes()).unwrap_or_default();
            return Err(Fault::answered(head.status.as_u16(), said(&body)));
        }
        let is_terminating = matches!(question, Question::Objects { select: Select::Terminating, .. });
        Ok(Watch {
            body,
            read: Vec::new(),
            told: 0,
            is_terminating,
            version: version.to_owned(),
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
            if let Some(change) = self.understand(&line)? {
                return Ok(Some(change));
            }
        }
    }

    async fn line(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let mut searched = self.told;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.read[searched..]) {
                let end = searched + at + 1;
                let line = self.read[self.told..end].to_vec();
                self.told = end;
                return Ok(Some(line));
            }
            self.read.drain(..self.told);
            self.told = 0;
            searched = self.read.len();
            if searched > LONGEST {
                let says = format!("one object of a watch has more than {LONGEST} bytes");
                return Err(Fault::new(FaultKind::TooLarge, says));
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
        if self.is_terminating && is_of_living(line) {
            self.passed.extend_from_slice(line);
            return Ok(None);
        }
        let malformed = |error: serde_json::Error| Fault::new(FaultKind::Malformed, error.to_string());
        let Line { r#type, object: Head { metadata, code, message } } =
            serde_json::from_slice(line).map_err(malformed)?;
        if r#type == "ERROR" {
            return Err(Fault::answered(code, message));
        }
        self.version = metadata.resource_version;
        Ok(match r#type {
            "DELETED" => Some(Change::Deleted { uid: metadata.uid }),
            "BOOKMARK" if memmem::find(line, LISTED).is_some() => Some(Change::Listed),
            "ADDED" | "MODIFIED" if !self.is_terminating || metadata.deletion_timestamp.is_some() => {
                Some(Change::Applied(object(line).map_err(malformed)?))
            }
            _ => None,
        })
    }
}

/// Whether an object has come or changed that does not go, which is nearly everything that is told: found without reading
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
