//! The API server, through another process: this one has no credentials.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use super::CHECK;
use crate::{
    host::{PodFilter, kubelet::KubeletListener},
    observation::{ApiFacts, Fault, FaultKind, KubeletCounters, PersistentVolume, Seen, Source},
};

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

/// The answer to one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ApiAnswer {
    /// To [`ApiQuestion::Pods`].
    Pods(Seen<ApiFacts>),
    /// To [`ApiQuestion::Volumes`].
    Volumes(Seen<Vec<PersistentVolume>>),
    /// To [`ApiQuestion::KubeletCounters`].
    KubeletCounters(Seen<KubeletCounters>),
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
        match self.ask(ApiQuestion::Pods(only.cloned())).await {
            Ok(ApiAnswer::Pods(answer)) => answer,
            Ok(_) => Seen::Failed(other_question()),
            Err(fault) => Seen::Failed(fault),
        }
    }

    /// As [`Conversation::volumes`](super::Conversation::volumes).
    pub async fn volumes(&self, names: Vec<String>) -> Seen<Vec<PersistentVolume>> {
        match self.ask(ApiQuestion::Volumes(names)).await {
            Ok(ApiAnswer::Volumes(answer)) => answer,
            Ok(_) => Seen::Failed(other_question()),
            Err(fault) => Seen::Failed(fault),
        }
    }

    /// What the kubelet counts, now and some minutes before.
    pub async fn kubelet_counters(&self, listener: KubeletListener, volumes: Vec<String>) -> Seen<KubeletCounters> {
        match self.ask(ApiQuestion::KubeletCounters { listener, volumes }).await {
            Ok(ApiAnswer::KubeletCounters(answer)) => answer,
            Ok(_) => Seen::Failed(other_question()),
            Err(fault) => Seen::Failed(fault),
        }
    }

    async fn ask(&self, question: ApiQuestion) -> Result<ApiAnswer, Fault> {
        let (sender, answer) = oneshot::channel();
        let failed = |kind, says: &str| Fault::new(Source::ApiServer, (kind, says));
        let gone = || failed(FaultKind::Gone, "the talker has ended");
        self.0.send((question, sender)).await.map_err(|_| gone())?;
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(answer) => answer.map_err(|_| gone()),
            Err(_) => Err(failed(FaultKind::TimedOut, "the talker did not answer in time")),
        }
    }
}

fn other_question() -> Fault {
    Fault::new(Source::ApiServer, (FaultKind::Malformed, "another question was answered"))
}
