//! The Events of an earlier run. Whoever else may write Events in that namespace can make large ones that bear our
//! name, so a page is read up to a bound, and made small before the next is asked for.

use std::{pin::pin, time::Instant};

use findings::event::{ANNOTATION, CONTROLLER, Carried, EventName, MAX_BYTES, NAMESPACE};
use futures::AsyncReadExt;
use k8s_openapi::api::events::v1::Event;
use kube::{
    Api, Resource, ResourceExt,
    api::{ListParams, ObjectList},
    core::Request,
};

use super::{Cluster, Failure, in_time, read::ALL_PAGES};
use reconcile::{event::Identity, reconciler::OwnEvent, tracker::ExistingEvent};

/// Events of the first page; with large ones there are fewer on the next.
const EVENTS: u32 = 25;
/// A longer page is not read to its end, in bytes.
const PAGE_CAP: usize = 2 << 20;
/// Of so many Events of ours the rest is left to expire.
const MOST_EVENTS: usize = 2000;
/// And when what they carry is longer, in bytes.
const MOST_CARRIED: usize = 256 * MAX_BYTES;

impl Cluster {
    /// The Events that agents of this node have written and that have not expired.
    pub async fn own_events(&self) -> Result<Vec<OwnEvent>, String> {
        let mut found = Vec::new();
        match self.each_own(&mut found).await {
            Ok(true) => {}
            Ok(false) => tracing::warn!("too many Events bear our name; the rest ends by itself"),
            // A kubelet's identity may write Events and not list them.
            Err(Failure::Forbidden(why)) => {
                tracing::warn!(%why, "Events of an earlier run cannot be gone on with; they end by themselves");
            }
            Err(Failure::Other(why)) => return Err(why),
        }
        Ok(found)
    }

    /// Page by page, and whether that was all.
    async fn each_own(&self, found: &mut Vec<OwnEvent>) -> Result<bool, Failure> {
        let selector = format!("reportingController={CONTROLLER},regarding.name={}", self.node);
        let mut page = ListParams::default().fields(&selector).limit(EVENTS);
        let (end, mut carried) = (Instant::now() + ALL_PAGES, 0);
        while Instant::now() < end {
            let Some(list) = self.page(&page).await? else {
                match page.limit.map(|limit| limit / 2) {
                    Some(fewer @ 1..) => page.limit = Some(fewer),
                    _ => {
                        tracing::warn!("an Event that bears our name has more than {PAGE_CAP} bytes");
                        return Ok(false);
                    }
                }
                continue;
            };
            for event in list.items {
                carried += event.annotations().get(ANNOTATION).map_or(0, String::len).min(2 * MAX_BYTES);
                found.extend(own(event));
            }
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(_) if found.len() >= MOST_EVENTS || carried >= MOST_CARRIED => return Ok(false),
                Some(token) => page.continue_token = Some(token),
                None => return Ok(true),
            }
        }
        Err(Failure::Other(format!("its pages took longer than {ALL_PAGES:?}")))
    }

    /// One page; none when it is too long.
    async fn page(&self, page: &ListParams) -> Result<Option<ObjectList<Event>>, Failure> {
        let failed = |why: &dyn std::fmt::Display| Failure::Other(findings::clean(&why.to_string(), 300));
        let request = Request::new(Event::url_path(&(), Some(NAMESPACE))).list(page).map_err(|why| failed(&why))?;
        let read = async {
            let body = pin!(self.client.request_stream(request).await?);
            let mut bytes = Vec::new();
            let read = body.take(PAGE_CAP as u64 + 1).read_to_end(&mut bytes).await;
            read.map_err(kube::Error::ReadEvents)?;
            Ok(bytes)
        };
        let bytes = in_time(read).await?;
        if bytes.len() > PAGE_CAP {
            return Ok(None);
        }
        serde_json::from_slice(&bytes).map(Some).map_err(|why| failed(&why))
    }

    /// The Event that stands under this name.
    pub async fn existing(&self, name: &EventName) -> Result<Option<Box<ExistingEvent>>, String> {
        let api: Api<Event> = Api::namespaced(self.client.clone(), NAMESPACE);
        let found = in_time(api.get_opt(name.as_str())).await.map_err(Failure::into_words)?;
        Ok(found.map(|event| Box::new(existing(&event))))
    }
}

fn own(event: Event) -> Option<OwnEvent> {
    // Anyone who may write Events could have written it: what cannot be read is not ours.
    let carried = Carried::from_annotation(event.annotations().get(ANNOTATION)?).ok()?;
    let since_s = since_s(&carried)?;
    let last = event.series.as_ref().map(|series| &series.last_observed_time).or(event.event_time.as_ref())?;
    Some(OwnEvent {
        name: EventName::from_api(&event.name_any()),
        written_s: last.0.as_second(),
        existing: existing(&event),
        carried,
        since_s,
    })
}

fn identity(event: &Event) -> Identity {
    serde_json::to_value(event).and_then(serde_json::from_value).unwrap_or_default()
}

fn since_s(carried: &Carried) -> Option<i64> {
    Some(carried.since.parse::<jiff::Timestamp>().ok()?.as_second())
}

fn existing(event: &Event) -> ExistingEvent {
    let time = event.event_time.as_ref().map(|time| time.0.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string());
    ExistingEvent {
        identity: identity(event),
        event_time: time.unwrap_or_default(),
        note: event.note.clone().unwrap_or_default(),
        count: event.series.as_ref().map_or(1, |series| series.count),
        since_s: event
            .annotations()
            .get(ANNOTATION)
            .and_then(|text| Carried::from_annotation(text).ok())
            .and_then(|carried| since_s(&carried)),
    }
}
