//! One conversation for all questions of a look: one connection, one handshake.

use std::pin::Pin;

use client::{ApiClient, Client, Config, retrying};
use tokio::sync::{mpsc, oneshot};

use super::{CHECK, Credentials, fault};
use crate::observation::{Fault, FaultKind, Seen, Source};

/// The API server, over one connection.
#[derive(Clone)]
pub(super) struct Server {
    pub url: String,
    /// With which credentials, and how, it is asked.
    pub config: Config,
    /// Asks again when the server says that it is busy.
    pub patient: ApiClient,
    pub once: ApiClient,
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;
type Question = Box<dyn FnOnce(Result<Server, Fault>) -> Task + Send>;

/// A thread and a runtime of its own: a credential plugin in a kubeconfig is waited for without
/// yielding, and must not hold up the other sources.
pub struct Conversation {
    questions: mpsc::UnboundedSender<Question>,
}

impl Conversation {
    /// Starts the thread; it ends when this is dropped.
    pub fn open(credentials: Credentials) -> Result<Self, Fault> {
        let (questions, asked) = mpsc::unbounded_channel();
        let thread = std::thread::Builder::new().name("api".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(answer(credentials, asked)),
                // The questions are dropped, and each caller gets that as its answer.
                Err(error) => tracing::debug!(%error, "no runtime for the API server"),
            }
        });
        thread.map_err(|error| Fault::new(Source::ApiServer, error))?;
        Ok(Conversation { questions })
    }

    /// Asks, and waits for the answer until the deadline.
    pub(super) async fn ask<T, F>(&self, talk: impl FnOnce(Server) -> F + Send + 'static) -> Seen<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send,
    {
        let (sender, answer) = oneshot::channel();
        let question = move |server: Result<Server, Fault>| -> Task {
            Box::pin(async move {
                let answer = match server {
                    Ok(server) => talk(server).await,
                    Err(fault) => Err(fault),
                };
                // The caller has given up when it took too long.
                let _ = sender.send(answer);
            })
        };
        let failed = |kind: FaultKind, says: String| Seen::failed(Source::ApiServer, (kind, says));
        // If the thread has ended the question is dropped, and the answer fails.
        let _ = self.questions.send(Box::new(question));
        match tokio::time::timeout(CHECK.request_timeout, answer).await {
            Ok(Ok(Ok(facts))) => Seen::Seen(facts),
            Ok(Ok(Err(fault))) => Seen::Failed(fault),
            Ok(Err(_)) => failed(FaultKind::Failed, "the question was dropped".to_owned()),
            Err(_) => failed(FaultKind::TimedOut, format!("did not answer within {:?}", CHECK.request_timeout)),
        }
    }
}

async fn answer(credentials: Credentials, mut asked: mpsc::UnboundedReceiver<Question>) {
    let server = connect(credentials).await.map_err(fault);
    while let Some(question) = asked.recv().await {
        question(server.clone()).await;
    }
}

async fn connect(credentials: Credentials) -> anyhow::Result<Server> {
    let config = credentials.config(CHECK).await?;
    let (url, client) = (config.cluster_url.to_string(), Client::try_from(config.clone())?);
    let patient = ApiClient::new(retrying(client.clone()), CHECK);
    Ok(Server { url, config, patient, once: ApiClient::new(client, CHECK) })
}
