//! The conversation with the API server: one watch, a few reads, and Events.

mod count;
mod events;
mod read;
mod throttle;
mod watch;
mod write;

use std::{sync::Arc, time::Duration};

use kube::{Client, client::ClientBuilder};

pub use count::Requests;
pub use watch::watch;

use crate::host::api::{self, Credentials};

/// No single question takes longer. kube itself would wait for ever for an answer that has begun.
const DEADLINE: Duration = Duration::from_secs(10);

/// The API server, as one node's agent knows it.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    node: String,
}

impl Cluster {
    /// Takes the credentials; nothing is asked yet, so it succeeds while the API server is away.
    pub async fn new(credentials: Credentials, node: &str, requests: Arc<Requests>) -> anyhow::Result<Self> {
        let mut config = api::config(credentials).await?;
        // The agent has a budget for its requests; nobody retries behind its back.
        config.default_retry = false;
        // A watch is silent for minutes. Every other question has a deadline of its own.
        config.read_timeout = None;
        config.connect_timeout = Some(DEADLINE);
        let client =
            ClientBuilder::try_from(config)?.with_layer(&count::Layer(requests)).with_layer(&throttle::Layer).build();
        Ok(Cluster { client, node: node.to_owned() })
    }
}

/// Why there is no answer.
enum Failure {
    /// The rights are missing.
    Forbidden(String),
    /// Anything else.
    Other(String),
}

impl Failure {
    fn into_words(self) -> String {
        match self {
            Failure::Forbidden(why) | Failure::Other(why) => why,
        }
    }
}

/// Waits for an answer, but not for ever.
async fn in_time<T>(answer: impl Future<Output = kube::Result<T>>) -> Result<T, Failure> {
    match tokio::time::timeout(DEADLINE, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => {
            let is_forbidden = matches!(&error, kube::Error::Api(status) if status.code == 403);
            let why = findings::clean(&error.to_string(), 300);
            Err(if is_forbidden { Failure::Forbidden(why) } else { Failure::Other(why) })
        }
        Err(_) => Err(Failure::Other(format!("did not answer within {DEADLINE:?}"))),
    }
}
