//! The one watch: the pods of this node, into small types.

use std::pin::pin;

use futures::StreamExt;
use kube::{Api, runtime::watcher};
use tokio::sync::mpsc::Sender;

use reconcile::{Backoff, index::WatchEvent, reconciler::Input};

use super::Cluster;
use crate::{
    host::api::{LitePod, pod},
    run::clock,
};

/// Watches for ever; ends when nobody listens any more.
pub async fn watch(cluster: Cluster, inputs: Sender<Input>) {
    let config = watcher::Config::default().fields(&format!("spec.nodeName={}", cluster.node)).any_semantic();
    let mut events = pin!(watcher(Api::<LitePod>::all(cluster.client), config));
    // kube's own back-off begins anew with each list that begins, also when every list fails.
    let mut backoff = Backoff::new(clock::now().wall_ms);
    while let Some(event) = events.next().await {
        match &event {
            Err(_) => {
                backoff.failed(None, clock::now());
                tokio::time::sleep(backoff.wait(clock::now())).await;
            }
            Ok(watcher::Event::Init | watcher::Event::InitApply(_)) => {}
            Ok(_) => backoff.succeeded(),
        }
        if let Some(event) = reduced(event)
            && inputs.send(Input::Watch(event)).await.is_err()
        {
            return;
        }
    }
}

fn reduced(event: watcher::Result<watcher::Event<LitePod>>) -> Option<WatchEvent> {
    Some(match event {
        Ok(watcher::Event::Init) => WatchEvent::Init,
        Ok(watcher::Event::InitApply(object)) => WatchEvent::InitApply(pod(object)?),
        Ok(watcher::Event::InitDone) => WatchEvent::InitDone,
        Ok(watcher::Event::Apply(object)) => WatchEvent::Apply(pod(object)?),
        Ok(watcher::Event::Delete(object)) => WatchEvent::Delete(pod(object)?.uid),
        Err(error) => WatchEvent::Failed(findings::clean(&error.to_string(), 300)),
    })
}
