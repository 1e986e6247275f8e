//! What `helm test` runs: a pod of the chart is made to stick, and the service must say what holds it.
//!
//! This is all of the project that deletes or patches an object, and it is its own pod: by its name, by a finalizer of its
//! own, and with an account that may do so to no other.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use client::{ApiClient, Client, Connection, Content, Fault, Limits, Response, connect, part};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::http::HIDDEN;
use crate::serve::ended_by_signal;

const USER_AGENT: &str = concat!("why-terminating-test/", env!("CARGO_PKG_VERSION"));
/// The test puts it on the pod, so that the pod stays when it is deleted. Were it the chart's, a test that never runs would
/// leave a pod, and a namespace, that no controller releases.
const FINALIZER: &str = "why-terminating/helm-test";
/// What the service must say of it to an account that can read all that this rests on.
const CAUSE: &str = "FinalizerOwnerUnknown";
/// No request takes longer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// No answer is longer.
const LIMITS: Limits = Limits::new(REQUEST_TIMEOUT, 64 << 20);
/// A pod that nothing holds any more is gone after that.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub struct HelmTest {
    /// The namespace of the pod.
    pub namespace: String,
    /// The pod that is deleted and held.
    pub pod: String,
    pub service: SocketAddr,
    /// The token with which it is asked. Its certificate is not checked: without a Secret each replica makes its own.
    pub token_file: PathBuf,
    /// Another way to the API server than that of a pod.
    pub kubeconfig: Option<PathBuf>,
    /// How long the service may take.
    pub patience: Duration,
}

/// Holds the pod and deletes it, waits until the service says what holds it, and lets it go. Says what was seen.
pub async fn helm_test(test: &HelmTest) -> anyhow::Result<String> {
    let connection = Connection {
        kubeconfig: test.kubeconfig.clone(),
        request_timeout: REQUEST_TIMEOUT,
        user_agent: USER_AGENT,
        ..Connection::default()
    };
    let (client, _) = connect(&connection).await.context("connect to the API server")?;
    let pod = PodClient::new(client, test);
    let began = Instant::now();
    let ended = tokio::select! {
        ended = hold_and_ask(&pod, test) => ended,
        signal = ended_by_signal() => signal.map_err(anyhow::Error::from).and(Err(anyhow::anyhow!("was ended"))),
    };
    let took = began.elapsed();
    // Whatever the outcome, and also where it is unknown whether the finalizer was put on: nothing is left behind.
    let released = pod.release().await;
    let answer = ended?;
    released?;
    let (namespace, pod) = (&test.namespace, &test.pod);
    Ok(format!("{namespace}/{pod}: {answer}, reported after {:.1} s; released and deleted", took.as_secs_f64()))
}

/// The pod of the test.
struct PodClient {
    api: ApiClient,
    path: String,
}

impl PodClient {
    fn new(client: Client, test: &HelmTest) -> Self {
        let path = format!("/api/v1/namespaces/{}/pods/{}", part(&test.namespace), part(&test.pod));
        PodClient { api: ApiClient::new(client, LIMITS), path }
    }

    async fn get(&self) -> anyhow::Result<Option<Value>> {
        self.api.get(&self.path).await.context("get the pod of the test")
    }

    async fn patch_metadata(&self, metadata: Value) -> Result<Response, Fault> {
        self.api.send(Method::PATCH, &self.path, Content::MergePatch(&json!({"metadata": metadata}))).await
    }

    /// Puts the finalizer on, if nothing else holds the pod.
    async fn hold(&self) -> anyhow::Result<()> {
        let pod = self.get().await?.context("the pod of the test is not there")?;
        let of_others: Vec<&str> = finalizers(&pod).filter(|finalizer| *finalizer != FINALIZER).collect();
        anyhow::ensure!(of_others.is_empty(), "the pod is held by {of_others:?}, which are not the test's");
        // With the version, so that what another has put on meanwhile is not taken off.
        let held = json!({"resourceVersion": pod["metadata"]["resourceVersion"], "finalizers": [FINALIZER]});
        let held = self.patch_metadata(held).await.and_then(Response::success);
        held.map(drop).context("put the finalizer on the pod of the test")
    }

    async fn delete(&self) -> anyhow::Result<()> {
        let deleted = self.api.send(Method::DELETE, &self.path, Content::Nothing).await;
        deleted.and_then(Response::success).map(drop).context("delete the pod of the test")
    }

    /// Takes the finalizer off, and waits until the pod is gone, if it is being deleted.
    async fn release(&self) -> anyhow::Result<()> {
        let begin = Instant::now();
        loop {
            let Some(pod) = self.get().await? else { return Ok(()) };
            if finalizers(&pod).any(|finalizer| finalizer == FINALIZER) {
                let others: Vec<&str> = finalizers(&pod).filter(|finalizer| *finalizer != FINALIZER).collect();
                let patched = self.patch_metadata(json!({"finalizers": others})).await;
                if patched.as_ref().is_ok_and(|patched| patched.status == StatusCode::NOT_FOUND) {
                    return Ok(());
                }
                patched.and_then(Response::success).context("take the finalizer off the pod of the test")?;
            } else if pod["metadata"]["deletionTimestamp"].is_null() {
                return Ok(());
            }
            anyhow::ensure!(begin.elapsed() < REMOVAL_TIMEOUT, "the pod has no finalizer of the test and is not gone");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}

fn finalizers(pod: &Value) -> impl Iterator<Item = &str> {
    pod["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

async fn hold_and_ask(pod: &PodClient, test: &HelmTest) -> anyhow::Result<String> {
    pod.hold().await?;
    pod.delete().await?;
    until_explained(test).await
}

/// Asks the service until it names the pod with its cause, or says that the account lacks the rights to see it.
async fn until_explained(test: &HelmTest) -> anyhow::Result<String> {
    let token = std::fs::read_to_string(&test.token_file);
    let token = token.with_context(|| format!("read {}", test.token_file.display()))?;
    let connection = Connection {
        server: Some(format!("https://{}", test.service)),
        token: Some(token.trim().to_owned()),
        insecure_skip_tls_verify: true,
        request_timeout: REQUEST_TIMEOUT,
        user_agent: USER_AGENT,
        ..Connection::default()
    };
    let (service, _) = connect(&connection).await.context("connect to the service")?;
    let service = ApiClient::new(service, LIMITS);
    let begin = Instant::now();
    loop {
        let said = match service.get::<Value>("/api/v1/stuck").await {
            Ok(answer) => match reports(&answer.unwrap_or_default(), test).as_slice() {
                [] => "the service says nothing of it".to_owned(),
                [report] if *report == CAUSE || report.starts_with(HIDDEN) => return Ok((*report).to_owned()),
                other => format!("the service says {}", other.join(", ")),
            },
            Err(fault) => format!("the service does not answer: {fault}"),
        };
        anyhow::ensure!(begin.elapsed() < test.patience, "{said}, after {:?}", test.patience);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// The causes of which the pod is a victim, or why none is shown; for a minute they are only what it waits for.
fn reports<'a>(answer: &'a Value, test: &HelmTest) -> Vec<&'a str> {
    let is_it = |victim: &Value| {
        let thing = &victim["thing"];
        thing["kind"] == "Pod" && thing["namespace"] == test.namespace.as_str() && thing["name"] == test.pod.as_str()
    };
    let list = |name: &str| answer[name].as_array().map_or(&[][..], Vec::as_slice).iter();
    let holds =
        list("roots").filter(|root| root["victims"].as_array().is_some_and(|victims| victims.iter().any(is_it)));
    let normal = list("terminating_normally").filter(|one| is_it(one)).map(|one| &one["cause"]);
    let unexplained = list("unexplained").filter(|one| is_it(one)).map(|one| &one["words"]);
    let reports = holds.map(|root| &root["finding"]["cause"]).chain(normal).chain(unexplained);
    reports.filter_map(Value::as_str).collect()
}
