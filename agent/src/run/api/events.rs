//! The Events of an earlier run. Other writers of Events in that namespace can make large ones with our name, so no more is
//! kept of each than an agent writes.

use std::ops::ControlFlow;

use client::{List, Selector, part};
use findings::FaultKind;
use findings::event::{CONTROLLER, EventName, FindingAnnotation, MAX_ANNOTATION_BYTES, NAMESPACE};
use jiff::Timestamp;
use reconcile::event::{Identity, Reference};
use reconcile::reconciler::OwnEvent;
use reconcile::tracker::ExistingEvent;
use serde::Deserialize;

use super::Cluster;
use crate::{host::api::fault, observation::Fault};

/// Events of the first page; with large ones there are fewer on the next.
const EVENTS: u32 = 25;
/// Of so many Events of ours the rest is left to expire.
const MOST_EVENTS: usize = 2000;
/// And when what they carry is longer, in bytes.
const MOST_CARRIED: usize = 256 * MAX_ANNOTATION_BYTES;
/// Who speaks of whom is said in fewer bytes.
const MOST_IDENTITY: usize = 2 << 10;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Event {
    metadata: Meta,
    event_time: Option<Timestamp>,
    series: Option<Series>,
    note: String,
    #[serde(rename = "type")]
    kind: String,
    reason: String,
    action: String,
    reporting_controller: String,
    reporting_instance: String,
    regarding: Reference,
    related: Option<Reference>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Meta {
    name: String,
    annotations: Annotations,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Annotations {
    #[serde(rename = "why-terminating/finding")]
    finding: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Series {
    count: i32,
    last_observed_time: Timestamp,
}

/// Where all of them are written.
fn collection() -> String {
    format!("/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events")
}

/// Where the Event of this name is.
pub(super) fn path(name: &EventName) -> String {
    format!("{}/{}", collection(), part(name.as_str()))
}

impl Cluster {
    /// The Events that agents of this node have written and that have not expired.
    pub async fn own_events(&self) -> Result<Vec<OwnEvent>, Fault> {
        let selector = format!("reportingController={CONTROLLER},regarding.name={}", self.node);
        let (path, selector) = (collection(), Selector::Fields(&selector));
        let list = List::new(&path, selector, EVENTS);
        let (mut found, mut carried) = (Vec::new(), 0);
        let take = |events: Vec<Event>| {
            for event in events {
                carried +=
                    event.metadata.annotations.finding.as_ref().map_or(0, String::len).min(2 * MAX_ANNOTATION_BYTES);
                found.extend(event.own());
            }
            let is_enough = found.len() >= MOST_EVENTS || carried >= MOST_CARRIED;
            if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        match self.api.list(list, take).await.map_err(fault) {
            Ok(Some(_)) => {}
            Ok(None) => tracing::warn!("too many Events bear our name; the rest ends by itself"),
            Err(fault) if fault.kind == FaultKind::TooLarge => {
                tracing::warn!("an Event that bears our name is too long; the rest ends by itself");
            }
            // A kubelet's identity may write Events and not list them.
            Err(fault) if fault.kind == FaultKind::Denied => {
                let why = findings::clean(&fault.says, 300);
                tracing::warn!(%why, "Events of an earlier run cannot be gone on with; they end by themselves");
            }
            Err(fault) => return Err(fault),
        }
        Ok(found)
    }

    /// The Event that stands under this name.
    pub async fn existing(&self, name: &EventName) -> Result<Option<Box<ExistingEvent>>, Fault> {
        let found = self.api.get::<Event>(&path(name)).await.map_err(fault)?;
        Ok(found.map(|event| Box::new(event.existing())))
    }
}

impl Event {
    fn own(self) -> Option<OwnEvent> {
        // Anyone who may write Events could have written it: what cannot be read is not ours.
        let annotation = FindingAnnotation::parse(self.metadata.annotations.finding.as_ref()?).ok()?;
        let since_s = annotation.since.parse::<Timestamp>().ok()?.as_second();
        let last = self.series.as_ref().map(|series| series.last_observed_time).or(self.event_time)?;
        let name = EventName::read(&self.metadata.name);
        let existing = self.existing();
        let is_short = serde_json::to_string(&existing.identity).is_ok_and(|text| text.len() <= MOST_IDENTITY);
        is_short.then_some(OwnEvent { name, existing, written_s: last.as_second(), annotation, since_s })
    }

    fn existing(self) -> ExistingEvent {
        let time = self.event_time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string());
        ExistingEvent {
            identity: Identity {
                kind: self.kind,
                reason: self.reason,
                action: self.action,
                reporting_controller: self.reporting_controller,
                reporting_instance: self.reporting_instance,
                regarding: self.regarding,
                related: self.related,
            },
            event_time: time.unwrap_or_default(),
            note: self.note,
            count: self.series.map_or(1, |series| series.count),
        }
    }
}
