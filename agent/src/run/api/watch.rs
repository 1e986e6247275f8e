//! The one watch: the pods of this node, into small types.

use std::pin::pin;

use futures::StreamExt;
use kube::{Api, runtime::watcher};
use tokio::sync::mpsc::Sender;

use super::Cluster;
use crate::{
    host::api::{LitePod, pod},
    run::{brain::Answer, clock, index::Told, patience::Patience},
};

/// Watches for ever; ends when nobody listens any more.
pub async fn watch(cluster: Cluster, tell: Sender<Answer>) {
    let config = watcher::Config::default().fields(&format!("spec.nodeName={}", cluster.node)).any_semantic();
    let mut events = pin!(watcher(Api::<LitePod>::all(cluster.client), config));
    // kube's own back-off begins anew with each list that begins, also when every list fails.
    let mut patience = Patience::new(clock::now().wall_ms);
    while let Some(event) = events.next().await {
        match &event {
            Err(_) => {
                patience.failed(None, clock::now());
                tokio::time::sleep(patience.wait(clock::now())).await;
            }
            Ok(watcher::Event::Init | watcher::Event::InitApply(_)) => {}
            Ok(_) => patience.succeeded(),
        }
        if let Some(told) = told(event)
            && tell.send(Answer::Told(told)).await.is_err()
        {
            return;
        }
    }
}

fn told(event: watcher::Result<watcher::Event<LitePod>>) -> Option<Told> {
    Some(match event {
        Ok(watcher::Event::Init) => Told::Begin,
        Ok(watcher::Event::InitApply(object)) => Told::Listed(pod(object)?),
        Ok(watcher::Event::InitDone) => Told::Complete,
        Ok(watcher::Event::Apply(object)) => Told::Changed(pod(object)?),
        Ok(watcher::Event::Delete(object)) => Told::Gone(pod(object)?.uid),
        Err(error) => Told::Broken(findings::clean(&error.to_string(), 300)),
    })
}
