//! Writes what is reported of namespaces as Events, while this replica leads.

use std::sync::Arc;
use std::time::Duration;

use client::{ApiClient, Client, Content, Fault, Limits, Response};
use findings::event::NAMESPACE;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

use crate::incidents::Incident;
use crate::leader::Leader;
use crate::namespace_events::{ACTION, Announcer, CONTROLLER, Note};
use crate::published::Published;
use crate::server_clock::ServerClock;

/// Between two rounds.
const ROUND_INTERVAL: Duration = Duration::from_secs(10);
/// One write takes no longer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// No answer is longer.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Why an Event is not there.
#[derive(Debug, thiserror::Error)]
enum NotWritten {
    #[error("the API server did not answer")]
    NoAnswer,
    #[error("the API server said {0}")]
    Refused(StatusCode),
    #[error("the request failed")]
    Sent(#[from] Fault),
    #[error("this replica leads no more")]
    NotLeading,
}

pub struct Writer {
    api: ApiClient,
    leader: Leader,
    clock: Arc<ServerClock>,
    /// `reportingInstance`.
    identity: String,
}

impl Writer {
    /// Writes through `client`.
    pub fn new(client: Client, leader: Leader, clock: Arc<ServerClock>, identity: String) -> Self {
        Writer { api: ApiClient::new(client, Limits::new(WRITE_TIMEOUT, MAX_ANSWER_BYTES)), leader, clock, identity }
    }

    /// Writes for ever what is due.
    pub async fn run(self, mut published: Receiver<Published>) {
        let mut announcer = Announcer::default();
        let (begin, mut failed) = (Instant::now(), false);
        loop {
            let (incidents, unconfirmed) = {
                let published = published.borrow_and_update();
                (published.incidents.clone(), published.unconfirmed.clone())
            };
            announcer.forget(incidents.iter().map(Arc::as_ref));
            let due = match self.leader.remaining() {
                Some(_) => {
                    // An Event cannot be corrected.
                    let is_certain = |one: &&Incident| one.end.is_some() || !unconfirmed.contains(&one.uid);
                    let certain = incidents.iter().map(Arc::as_ref).filter(is_certain);
                    announcer.due(certain, begin.elapsed(), self.clock.now())
                }
                // The other does it.
                None => Vec::new(),
            };
            for note in due {
                match self.write(&note).await {
                    Ok(()) => {
                        announcer.written(&note, begin.elapsed());
                        failed = false;
                    }
                    Err(error) => {
                        // Said once: the right may be missing for ever.
                        if !failed {
                            let error = anyhow::Error::from(error);
                            tracing::warn!(error = format!("{error:#}"), "an Event cannot be written");
                        }
                        failed = true;
                        break;
                    }
                }
            }
            tokio::time::sleep(ROUND_INTERVAL).await;
        }
    }

    async fn write(&self, note: &Note) -> Result<(), NotWritten> {
        if note.renewals > 0 && self.renew(&note.name, note.renewals).await? {
            return Ok(());
        }
        if self.create(&note.name, note).await? || self.stands(note).await? {
            return Ok(());
        }
        // Another program's Event has this name. A name that is drawn now cannot be taken already.
        let other = format!("{}-{:08x}", note.name, fastrand::u32(..));
        self.create(&other, note).await.map(drop)
    }

    /// False: there is one of this name.
    async fn create(&self, name: &str, note: &Note) -> Result<bool, NotWritten> {
        let event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "eventTime": self.clock.now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string(),
            "type": if note.is_warning { "Warning" } else { "Normal" },
            "reason": note.reason, "action": ACTION, "note": note.note,
            "reportingController": CONTROLLER, "reportingInstance": self.identity,
            "regarding": {"apiVersion": "v1", "kind": "Namespace", "name": note.namespace, "uid": note.uid},
        });
        let answer = self.send(Method::POST, &collection(), Content::Json(&event)).await?;
        match answer.status {
            StatusCode::OK | StatusCode::CREATED => is_of_api_server(&answer, name),
            StatusCode::CONFLICT => Ok(false),
            code => Err(NotWritten::Refused(code)),
        }
    }

    /// Whether what has the name says the same: another replica wrote it, or this one before it was started again. An end is
    /// written once, though a replica without an earlier Event of the namespace might name another of several causes.
    async fn stands(&self, note: &Note) -> Result<bool, NotWritten> {
        let answer = self.send(Method::GET, &object(&note.name), Content::Nothing).await?;
        let event: Value = answer.json().unwrap_or_default();
        let is_said = |field: &str, value: &str| event[field] == value;
        Ok(answer.status == StatusCode::OK
            && is_said("reportingController", CONTROLLER)
            && (!note.is_warning || is_said("note", &note.note))
            && event["regarding"]["uid"] == note.uid.as_str())
    }

    /// False: it is gone.
    async fn renew(&self, name: &str, renewals: i32) -> Result<bool, NotWritten> {
        let now = self.clock.now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
        let patch = json!({"series": {"count": renewals.saturating_add(1), "lastObservedTime": now}});
        let answer = self.send(Method::PATCH, &object(name), Content::MergePatch(&patch)).await?;
        match answer.status {
            StatusCode::OK => is_of_api_server(&answer, name),
            StatusCode::NOT_FOUND => Ok(false),
            code => Err(NotWritten::Refused(code)),
        }
    }

    /// Asked for anew before each request: a write that began before a pause ends with it, and none begins after.
    async fn send(&self, method: Method, path: &str, content: Content<'_>) -> Result<Response, NotWritten> {
        let left = self.leader.remaining().ok_or(NotWritten::NotLeading)?;
        let sent = tokio::time::timeout(left, self.api.send(method, path, content)).await;
        Ok(sent.map_err(|_| NotWritten::NoAnswer)??)
    }
}

/// Else another server has answered OK for it, such as a proxy.
fn is_of_api_server(answer: &Response, name: &str) -> Result<bool, NotWritten> {
    let event: Value = answer.json().unwrap_or_default();
    if event["metadata"]["name"] == name { Ok(true) } else { Err(NotWritten::NoAnswer) }
}

fn collection() -> String {
    format!("/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events")
}

fn object(name: &str) -> String {
    format!("{}/{name}", collection())
}

#[cfg(test)]
mod tests {
    use apiserver::{Fault, Faults, Rule};

    use super::*;

    /// With the rights that the chart grants.
    fn writer(store: &apiserver::Store) -> Writer {
        let client = Client::new(apiserver::service(store, apiserver::VERSION).unwrap(), "default");
        Writer::new(client, Leader::alone(), Arc::default(), "only".to_owned())
    }

    fn note(name: &str, is_warning: bool, note: &str) -> Note {
        let (namespace, uid, note) = ("shop".to_owned(), "u".to_owned(), note.to_owned());
        Note { name: name.to_owned(), namespace, uid, is_warning, reason: "FinalizerOwnerUnknown", note, renewals: 0 }
    }

    #[tokio::test]
    async fn who_leads_after_an_end_was_told_tells_it_no_second_time() {
        let dir = tempfile::tempdir().unwrap();
        let store = apiserver::Store::new(dir.path()).asked_by(&["why-terminating-aggregator"]);
        let writer = writer(&store);
        for by in ["held by A", "held by B"] {
            writer.write(&note("shop.1.over", false, by)).await.unwrap();
            writer.write(&note("shop.1", true, by)).await.unwrap();
        }
        let events = store.list("events").unwrap();
        let said = |by: &str| events.iter().filter(|event| event["note"] == by).count();
        assert_eq!((said("held by A"), said("held by B")), (2, 1), "{events:#?}");
    }

    /// They wait half an hour otherwise.
    #[tokio::test]
    async fn an_event_is_renewed_until_it_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let store = apiserver::Store::new(dir.path()).asked_by(&["why-terminating-aggregator"]);
        let (writer, mut note) = (writer(&store), note("shop.1", true, "shop: held"));
        store.set_faults(&Rule::new(Fault::Nonsense).into()).unwrap();
        assert!(writer.write(&note).await.is_err(), "OK was answered, and no Event");
        store.set_faults(&Faults::none()).unwrap();
        writer.write(&note).await.unwrap();
        note.renewals = 1;
        writer.write(&note).await.unwrap();
        let event = || store.get("events", Some("default"), "shop.1").unwrap();
        assert_eq!(event().unwrap()["series"]["count"], 2);
        store.remove("events", Some("default"), "shop.1").unwrap();
        writer.write(&note).await.unwrap();
        assert!(event().unwrap()["series"].is_null(), "it is written anew");
    }
}
