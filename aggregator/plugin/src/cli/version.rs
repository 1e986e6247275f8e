//! `version`: of the plugin, of the API server, and of what of this project runs in the cluster.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use findings::clean;
use findings::render::Style;
use http::Method;
use serde::Serialize;
use serde_json::Value;

use super::answer::print;
use super::args::{self, VersionOutput};
use client::{ApiClient, Connection, Content, Fault, Limits, List, Response, Selector, connect, words};

/// The labels of its pods, as `deploy/` sets them.
const OURS: &str = "app.kubernetes.io/name=why-terminating";
const COMPONENT: &str = "app.kubernetes.io/component";
/// Pods of one page, and how many pages are read: more nodes than that no cluster has.
const PAGE_PODS: u32 = 500;
const MAX_PAGES: usize = 20;
/// No answer is longer.
const MAX_ANSWER_BYTES: usize = 64 << 20;
/// The longest name of an image that is shown.
const MAX_ERROR_CHARS: usize = 300;

/// All that is known of versions.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Versions {
    client_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Server>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Server {
    server_version: Observed<String>,
    installed: Observed<Vec<Installed>>,
}

/// A failure is an answer too: what may not be seen is not absent.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Observed<T> {
    Seen(T),
    NotSeen(String),
}

/// The pods of one image. A digest shows no version, so the image is shown as it is named.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Installed {
    component: String,
    image: String,
    pods: usize,
    ready: usize,
}

/// Says them; fails when the server does not say its own.
pub async fn version(flags: &Connection, is_of_client: bool, form: VersionOutput) -> Result<ExitCode> {
    let mut versions = Versions { client_version: env!("CARGO_PKG_VERSION"), server: None };
    if !is_of_client {
        versions.server = Some(match connect(&args::connection(flags)).await {
            Ok((client, _)) => {
                query(&ApiClient::new(client, Limits::new(flags.request_timeout, MAX_ANSWER_BYTES))).await
            }
            Err(error) => Server::not_seen(&words(&error)),
        });
    }
    let text = match form {
        VersionOutput::Text => sentences(&versions)?,
        VersionOutput::Json => serde_json::to_string_pretty(&versions).context("writing the versions as JSON")? + "\n",
    };
    print(&text, Style::Plain)?;
    let is_known = versions.server.is_none_or(|server| matches!(server.server_version, Observed::Seen(_)));
    Ok(if is_known { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Server {
    fn not_seen(why: &str) -> Self {
        let why = clean(why, MAX_ERROR_CHARS);
        Server { server_version: Observed::NotSeen(why.clone()), installed: Observed::NotSeen(why) }
    }
}

/// What `/version` answers with, as far as it is shown.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerInfo {
    git_version: String,
}

async fn query(api: &ApiClient) -> Server {
    let (version, installed) = tokio::join!(api.send(Method::GET, "/version", Content::Nothing), installed(api));
    let version = version.and_then(Response::success).and_then(|answer| answer.json::<ServerInfo>());
    let version = version.map(|version| clean(&version.git_version, MAX_ERROR_CHARS));
    Server { server_version: observed(version), installed: observed(installed) }
}

fn observed<T>(asked: Result<T, Fault>) -> Observed<T> {
    asked.map_or_else(|fault| Observed::NotSeen(clean(&fault.to_string(), MAX_ERROR_CHARS)), Observed::Seen)
}

async fn installed(api: &ApiClient) -> Result<Vec<Installed>, Fault> {
    let mut counts: BTreeMap<(String, String), (usize, usize)> = BTreeMap::new();
    let mut pages = 0;
    let take = |page: Vec<Value>| {
        for pod in page {
            let (pods, ready) = counts.entry(named(&pod)).or_default();
            *pods += 1;
            *ready += usize::from(is_ready(&pod));
        }
        pages += 1;
        if pages < MAX_PAGES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    api.list(List::new("/api/v1/pods", Selector::Labels(OURS), PAGE_PODS), take).await?;
    let told = counts.into_iter();
    Ok(told.map(|((component, image), (pods, ready))| Installed { component, image, pods, ready }).collect())
}

/// Its component, and the image of its first container: both containers of an agent have the same.
fn named(pod: &Value) -> (String, String) {
    let (component, image) = (&pod["metadata"]["labels"][COMPONENT], &pod["spec"]["containers"][0]["image"]);
    (clean(text(component), MAX_ERROR_CHARS), clean(text(image), MAX_ERROR_CHARS))
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// As `kubectl version` says it.
fn sentences(versions: &Versions) -> Result<String, std::fmt::Error> {
    let mut text = format!("Client Version: {}\n", versions.client_version);
    let Some(server) = &versions.server else { return Ok(text) };
    match &server.server_version {
        Observed::Seen(version) => writeln!(text, "Server Version: {version}")?,
        Observed::NotSeen(why) => writeln!(text, "Server Version: not seen: {why}")?,
    }
    match &server.installed {
        Observed::NotSeen(why) => writeln!(text, "In the cluster: not seen: {why}")?,
        Observed::Seen(none) if none.is_empty() => writeln!(text, "In the cluster: no agent and no service")?,
        Observed::Seen(all) => {
            for Installed { component, image, pods, ready } in all {
                writeln!(text, "In the cluster: {component}: {image}, {ready} of {pods} pods ready")?;
            }
        }
    }
    Ok(text)
}
