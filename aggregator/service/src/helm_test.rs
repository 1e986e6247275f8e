//! What `helm test` runs: a pod of the chart is made to stick, and the service must say what holds it.
//!
//! This is all of the project that deletes or patches an object, and it is its own pod: by its name, by a finalizer that
//! nobody else uses, and with an account that may do so to no other.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use client::{Connection, connect};
use http::Request;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::serve::ended_by_signal;

const USER_AGENT: &str = concat!("why-terminating-test/", env!("CARGO_PKG_VERSION"));
/// The pod gets it from the test, so that it stays when it is deleted. Were it the chart's, a test that never runs would
/// leave a pod, and a namespace, that nobody lets go.
const FINALIZER: &str = "why-terminating/helm-test";
/// What must be said of it.
const CAUSE: &str = "FinalizerOwnerUnknown";
/// No request takes longer.
const REQUEST: Duration = Duration::from_secs(10);
/// A pod that nothing holds any more is gone after that.
const GONE_WITHIN: Duration = Duration::from_secs(30);

/// What is tested.
#[derive(Clone, Debug)]
pub struct HelmTest {
    /// The namespace of the pod.
    pub namespace: String,
    /// The pod that is deleted and held.
    pub pod: String,
    /// Where the service listens.
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
        request_timeout: REQUEST,
        user_agent: USER_AGENT,
        ..Connection::default()
    };
    let (client, _) = connect(&connection).await.context("connect to the API server")?;
    let pods: Api<Pod> = Api::namespaced(client, &test.namespace);
    let began = Instant::now();
    let told = tokio::select! {
        told = held_and_told(&pods, test) => told,
        signal = ended_by_signal() => signal.map_err(anyhow::Error::from).and(Err(anyhow::anyhow!("was ended"))),
    };
    let took = began.elapsed();
    // Whatever was told, and also where it is not known whether the finalizer was put on: nothing is left behind.
    let released = release(&pods, &test.pod).await;
    told?;
    released?;
    let (namespace, pod) = (&test.namespace, &test.pod);
    Ok(format!("{namespace}/{pod}: {CAUSE}, told after {:.1} s; released, and gone", took.as_secs_f64()))
}

/// Puts the finalizer on, if nothing else holds the pod.
async fn hold(pods: &Api<Pod>, name: &str) -> anyhow::Result<()> {
    let metadata = pods.get(name).await.context("get the pod of the test")?.metadata;
    let finalizers = metadata.finalizers.unwrap_or_default();
    let of_others: Vec<&String> = finalizers.iter().filter(|finalizer| *finalizer != FINALIZER).collect();
    anyhow::ensure!(of_others.is_empty(), "the pod is held by {of_others:?}, which are not the test's");
    // With the version, so that what another has put on meanwhile is not taken off.
    let held = json!({"metadata": {"resourceVersion": metadata.resource_version, "finalizers": [FINALIZER]}});
    let held = pods.patch(name, &PatchParams::default(), &Patch::Merge(held)).await;
    held.map(drop).context("put the finalizer on the pod of the test")
}

async fn held_and_told(pods: &Api<Pod>, test: &HelmTest) -> anyhow::Result<()> {
    hold(pods, &test.pod).await?;
    pods.delete(&test.pod, &DeleteParams::default()).await.context("delete the pod of the test")?;
    until_told(test).await
}

/// Asks the service until it names the pod with its cause.
async fn until_told(test: &HelmTest) -> anyhow::Result<()> {
    let token = std::fs::read_to_string(&test.token_file);
    let token = token.with_context(|| format!("read {}", test.token_file.display()))?;
    let connection = Connection {
        server: Some(format!("https://{}", test.service)),
        token: Some(token.trim().to_owned()),
        insecure_skip_tls_verify: true,
        request_timeout: REQUEST,
        user_agent: USER_AGENT,
        ..Connection::default()
    };
    let (service, _) = connect(&connection).await.context("connect to the service")?;
    let begin = Instant::now();
    loop {
        let said = match tokio::time::timeout(REQUEST, ask(&service)).await {
            Ok(Ok(answer)) => match causes(&answer, test).as_slice() {
                [] => "the service says nothing of it".to_owned(),
                [CAUSE] => return Ok(()),
                other => format!("the service says {}", other.join(", ")),
            },
            Ok(Err(error)) => format!("the service does not answer: {error:#}"),
            Err(_) => format!("the service does not answer within {REQUEST:?}"),
        };
        anyhow::ensure!(begin.elapsed() < test.patience, "{said}, after {:?}", test.patience);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn ask(service: &Client) -> anyhow::Result<Value> {
    Ok(service.request(Request::get("/api/v1/stuck").body(Vec::new())?).await?)
}

/// The causes of which the pod is a victim.
fn causes<'a>(answer: &'a Value, test: &HelmTest) -> Vec<&'a str> {
    let is_it = |victim: &Value| {
        let thing = &victim["thing"];
        thing["kind"] == "Pod" && thing["namespace"] == test.namespace.as_str() && thing["name"] == test.pod.as_str()
    };
    let roots = answer["roots"].as_array().into_iter().flatten();
    let holds = roots.filter(|root| root["victims"].as_array().is_some_and(|victims| victims.iter().any(is_it)));
    holds.filter_map(|root| root["finding"]["cause"].as_str()).collect()
}

/// Takes the finalizer off, and waits until the pod is gone, if it is being deleted.
async fn release(pods: &Api<Pod>, name: &str) -> anyhow::Result<()> {
    let begin = Instant::now();
    loop {
        let Some(pod) = pods.get_opt(name).await.context("get the pod of the test")? else { return Ok(()) };
        let mut finalizers = pod.metadata.finalizers.unwrap_or_default();
        if finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
            finalizers.retain(|finalizer| finalizer != FINALIZER);
            let patch = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
            match pods.patch(name, &PatchParams::default(), &patch).await {
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
                patched => drop(patched.context("take the finalizer off the pod of the test")?),
            }
        } else if pod.metadata.deletion_timestamp.is_none() {
            return Ok(());
        }
        anyhow::ensure!(begin.elapsed() < GONE_WITHIN, "{name} has no finalizer of the test and is not gone");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
