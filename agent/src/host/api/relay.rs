//! The API server, through another process: this one has no credentials.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use super::CHECK;
use crate::host::PodFilter;
use crate::host::kubelet::KubeletListener;
use crate::observation::{ApiFacts, Fault, FaultKind, KubeletCounters, PersistentVolume, Seen, Source};

/// A question to the API server, from the half that scans the node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ApiQuestion {
    /// The pods of this node, or only that one.
    Pods(Option<PodFilter>),
    /// These PersistentVolumes.
    Volumes(Vec<String>),
    /// What the kubelet counts, of the kubelet.
    KubeletCounters {
        /// Where it is asked, and who answers there.
        listener: KubeletListener,
        /// The volumes that are to be unmounted.
        volumes: Vec<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ApiAnswer {
    /// To [`ApiQuestion::Pods`].
    Pods(Seen<ApiFacts>),
    /// To [`ApiQuestion::Volumes`].
    Volumes(Seen<Vec<PersistentVolume>>),
    /// To [`ApiQuestion::KubeletCounters`].
    KubeletCounters(Seen<KubeletCounters>),
    /// To any.
    Failed(Fault),
}

/// A question on its way, and where its answer goes.
pub type Relayed = (ApiQuestion, oneshot::Sender<ApiAnswer>);

/// Each caller has a deadline of its own; this is for one that is gone.
const PATIENCE: Duration = CHECK.request_timeout.saturating_mul(2);

/// Hands questions on.
#[derive(Clone, Debug)]
pub struct Relay(mpsc::Sender<Relayed>);

impl Relay {
    /// The questions come out at the other end.
    pub fn new() -> (Self, mpsc::Receiver<Relayed>) {
        let (sender, questions) = mpsc::channel(1);
        (Relay(sender), questions)
    }

    /// As [`Conversation::facts`](super::Conversation::facts), for the caller's node.
    pub async fn pods(&self, only: Option<&PodFilter>) -> Seen<ApiFacts> {
        let question = ApiQuestion::Pods(only.cloned());
        self.ask(question, |answer| if let ApiAnswer::Pods(pods) = answer { Some(pods) } else { None }).await
    }

    /// As [`Conversation::volumes`](super::Conversation::volumes).
    pub async fn volumes(&self, names: Vec<String>) -> Seen<Vec<PersistentVolume>> {
        let question = ApiQuestion::Volumes(names);
        self.ask(question, |answer| if let ApiAnswer::Volumes(volumes) = answer { Some(volumes) } else { None }).await
    }

    /// What the kubelet counts, now and some minutes before.
    pub async fn kubelet_counters(&self, listener: KubeletListener, volumes: Vec<String>) -> Seen<KubeletCounters> {
        let question = ApiQuestion::KubeletCounters { listener, volumes };
        self.ask(question, |answer| if let ApiAnswer::KubeletCounters(now) = answer { Some(now) } else { None }).await
    }

    async fn ask<T>(&self, question: ApiQuestion, to_it: fn(ApiAnswer) -> Option<Seen<T>>) -> Seen<T> {
        let (sender, answer) = oneshot::channel();
        let failed = |kind, says: &str| Seen::failed(Source::ApiServer, (kind, says));
        let gone = || failed(FaultKind::Gone, "the talker has ended");
        if self.0.send((question, sender)).await.is_err() {
            return gone();
        }
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(ApiAnswer::Failed(fault))) => Seen::Failed(fault),
            Ok(Ok(answer)) => {
                to_it(answer).unwrap_or_else(|| failed(FaultKind::Malformed, "another question was answered"))
            }
            Ok(Err(_)) => gone(),
            Err(_) => failed(FaultKind::TimedOut, "the talker did not answer in time"),
        }
    }
}
