//! The few things that are asked for.

use std::time::{Duration, Instant};

use findings::event::{CONTROLLER, Carried, EventName, NAMESPACE};
use k8s_openapi::api::events::v1::Event;
use kube::{Api, ResourceExt, api::ListParams};

use super::{Cluster, Failure, in_time};
use crate::{
    host::api::{LiteNode, LitePod, pod},
    observation::ApiPod,
    run::{brain::OwnEvent, index::NodeWord, ledger::Existing},
};

/// Pods per page.
const PODS: u32 = 500;
/// More pods than this no node has.
const MOST_PODS: usize = 5000;
/// Events per page: whoever else may write Events may make large ones, and a page must fit in memory.
const EVENTS: u32 = 25;
/// Of so many Events of ours the rest is left to expire.
const MOST_EVENTS: usize = 2000;
/// All pages together take no longer.
const ALL_PAGES: Duration = Duration::from_secs(45);

impl Cluster {
    /// The pods of this node: as they are now, or as the API server's cache has them, which spares
    /// it a search through all pods of the cluster.
    pub async fn pods(&self, consistent: bool) -> Result<Vec<ApiPod>, String> {
        let api: Api<LitePod> = Api::all(self.client.clone());
        let page = ListParams::default().fields(&format!("spec.nodeName={}", self.node)).limit(PODS);
        let page = if consistent { page } else { page.match_any() };
        let (pods, all) = self.pages(&api, page, MOST_PODS).await.map_err(Failure::into_words)?;
        if !all {
            return Err(format!("it lists more than {MOST_PODS} pods for this node"));
        }
        Ok(pods.into_iter().filter_map(pod).collect())
    }

    /// The Node.
    pub async fn node(&self) -> Result<Option<NodeWord>, String> {
        let api: Api<LiteNode> = Api::all(self.client.clone());
        let node = in_time(api.get_opt(&self.node)).await.map_err(Failure::into_words)?;
        Ok(node.map(|node| NodeWord {
            uid: node.metadata.uid.unwrap_or_default(),
            kubelet_version: node.status.node_info.kubelet_version,
            boot_id: node.status.node_info.boot_id.filter(|id| !id.is_empty()),
        }))
    }

    /// The Events that agents of this node have written and that have not expired.
    pub async fn own_events(&self) -> Result<Vec<OwnEvent>, String> {
        let api: Api<Event> = Api::namespaced(self.client.clone(), NAMESPACE);
        let selector = format!("reportingController={CONTROLLER},regarding.name={}", self.node);
        let page = ListParams::default().fields(&selector).limit(EVENTS);
        match self.pages(&api, page, MOST_EVENTS).await {
            Ok((events, all)) => {
                if !all {
                    tracing::warn!("more than {MOST_EVENTS} Events bear our name; the rest ends by itself");
                }
                Ok(events.into_iter().filter_map(own).collect())
            }
            // A kubelet's identity may write Events and not list them.
            Err(Failure::Forbidden(why)) => {
                tracing::warn!(%why, "Events of an earlier run cannot be gone on with; they end by themselves");
                Ok(Vec::new())
            }
            Err(Failure::Other(why)) => Err(why),
        }
    }

    /// The Event that stands under this name.
    pub async fn existing(&self, name: &EventName) -> Result<Option<Existing>, String> {
        let api: Api<Event> = Api::namespaced(self.client.clone(), NAMESPACE);
        let found = in_time(api.get_opt(name.as_str())).await.map_err(Failure::into_words)?;
        Ok(found.map(|event| existing(&event)))
    }

    /// Page by page, and whether that was all.
    async fn pages<K>(&self, api: &Api<K>, mut page: ListParams, most: usize) -> Result<(Vec<K>, bool), Failure>
    where
        K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        let end = Instant::now() + ALL_PAGES;
        let mut found = Vec::new();
        while Instant::now() < end {
            let list = in_time(api.list(&page)).await?;
            found.extend(list.items);
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) if found.len() < most => page.continue_token = Some(token),
                Some(_) => return Ok((found, false)),
                None => return Ok((found, true)),
            }
        }
        Err(Failure::Other(format!("its pages took longer than {ALL_PAGES:?}")))
    }
}

fn own(event: Event) -> Option<OwnEvent> {
    // Anyone who may write Events could have written it: what cannot be read is not ours.
    let carried = Carried::from_annotation(event.annotations().get(findings::event::ANNOTATION)?).ok()?;
    let since_s = since_s(&carried)?;
    let last = event.series.as_ref().map(|series| &series.last_observed_time).or(event.event_time.as_ref())?;
    Some(OwnEvent {
        name: EventName::from_api(&event.name_any()),
        node_uid: event.regarding.as_ref()?.uid.clone().unwrap_or_default(),
        has_related: event.related.is_some(),
        warning: event.type_.as_deref() == Some("Warning"),
        written_s: last.0.as_second(),
        existing: existing(&event),
        carried,
        since_s,
    })
}

fn since_s(carried: &Carried) -> Option<i64> {
    Some(carried.since.parse::<jiff::Timestamp>().ok()?.as_second())
}

fn existing(event: &Event) -> Existing {
    let time = event.event_time.as_ref().map(|time| time.0.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string());
    Existing {
        event_time: time.unwrap_or_default(),
        note: event.note.clone().unwrap_or_default(),
        count: event.series.as_ref().map_or(1, |series| series.count),
        since_s: event
            .annotations()
            .get(findings::event::ANNOTATION)
            .and_then(|text| Carried::from_annotation(text).ok())
            .and_then(|carried| since_s(&carried)),
    }
}
