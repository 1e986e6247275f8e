//! `version`: of the plugin, of the API server, and of what of this project runs in the cluster.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use findings::clean;
use findings::render::Style;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, ListParams};
use serde::Serialize;

use super::answer::print;
use super::args::{ConnectionFlags, VersionOutput};
use client::{connect, words};

/// The labels of its pods, as `deploy/` sets them.
const OURS: &str = "app.kubernetes.io/name=why-terminating";
const COMPONENT: &str = "app.kubernetes.io/component";
/// Pods of one page, and how many pages are read: more nodes than that no cluster has.
const PAGE: u32 = 500;
const PAGES: usize = 20;
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
    server_version: Known<String>,
    installed: Known<Vec<Installed>>,
}

/// A failure is an answer too: what may not be seen is not absent.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Known<T> {
    Seen(T),
    NotSeen(String),
}

/// The pods of one image. A digest tells no version, so the image is told as it is named.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Installed {
    component: String,
    image: String,
    pods: usize,
    ready: usize,
}

/// Says them; fails when the server does not say its own.
pub async fn version(flags: &ConnectionFlags, is_of_client: bool, form: VersionOutput) -> Result<ExitCode> {
    let mut versions = Versions { client_version: env!("CARGO_PKG_VERSION"), server: None };
    if !is_of_client {
        versions.server = Some(match connect(&flags.given()).await {
            Ok((client, _)) => tokio::time::timeout(flags.request_timeout, query(&client))
                .await
                .unwrap_or_else(|_| Server::not_seen(&format!("waited {:?}", flags.request_timeout))),
            Err(error) => Server::not_seen(&words(&error)),
        });
    }
    let text = match form {
        VersionOutput::Text => text(&versions)?,
        VersionOutput::Json => serde_json::to_string_pretty(&versions).context("writing the versions as JSON")? + "\n",
    };
    print(&text, Style::Plain)?;
    let is_known = versions.server.is_none_or(|server| matches!(server.server_version, Known::Seen(_)));
    Ok(if is_known { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Server {
    fn not_seen(why: &str) -> Self {
        let why = clean(why, MAX_ERROR_CHARS);
        Server { server_version: Known::NotSeen(why.clone()), installed: Known::NotSeen(why) }
    }
}

async fn query(client: &Client) -> Server {
    let (version, installed) = tokio::join!(client.apiserver_version(), installed(client));
    let server_version = version.map(|version| clean(&version.git_version, MAX_ERROR_CHARS));
    Server { server_version: known(server_version), installed: known(installed) }
}

fn known<T>(asked: Result<T, kube::Error>) -> Known<T> {
    let said = |error: kube::Error| match &error {
        kube::Error::Api(status) => clean(&status.message, MAX_ERROR_CHARS),
        other => clean(&words(other), MAX_ERROR_CHARS),
    };
    asked.map_or_else(|error| Known::NotSeen(said(error)), Known::Seen)
}

async fn installed(client: &Client) -> Result<Vec<Installed>, kube::Error> {
    let pods: Api<Pod> = Api::all(client.clone());
    let mut counts: BTreeMap<(String, String), (usize, usize)> = BTreeMap::new();
    let mut parameters = ListParams::default().labels(OURS).limit(PAGE);
    for _ in 0..PAGES {
        let page = pods.list(&parameters).await?;
        for pod in &page.items {
            let (pods, ready) = counts.entry(named(pod)).or_default();
            *pods += 1;
            *ready += usize::from(is_ready(pod));
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters.continue_token = Some(token),
            None => break,
        }
    }
    let told = counts.into_iter();
    Ok(told.map(|((component, image), (pods, ready))| Installed { component, image, pods, ready }).collect())
}

/// Its component, and the image of its first container: both containers of an agent have the same.
fn named(pod: &Pod) -> (String, String) {
    let component = pod.metadata.labels.as_ref().and_then(|labels| labels.get(COMPONENT)).map_or("", String::as_str);
    let container = pod.spec.as_ref().and_then(|spec| spec.containers.first());
    let image = container.and_then(|container| container.image.as_deref()).unwrap_or_default();
    (clean(component, MAX_ERROR_CHARS), clean(image, MAX_ERROR_CHARS))
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().filter_map(|status| status.conditions.as_ref()).flatten();
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// As `kubectl version` says it.
fn text(versions: &Versions) -> Result<String, std::fmt::Error> {
    let mut text = format!("Client Version: {}\n", versions.client_version);
    let Some(server) = &versions.server else { return Ok(text) };
    match &server.server_version {
        Known::Seen(version) => writeln!(text, "Server Version: {version}")?,
        Known::NotSeen(why) => writeln!(text, "Server Version: not seen: {why}")?,
    }
    match &server.installed {
        Known::NotSeen(why) => writeln!(text, "In the cluster: not seen: {why}")?,
        Known::Seen(none) if none.is_empty() => writeln!(text, "In the cluster: no agent and no service")?,
        Known::Seen(all) => {
            for Installed { component, image, pods, ready } in all {
                writeln!(text, "In the cluster: {component}: {image}, {ready} of {pods} pods ready")?;
            }
        }
    }
    Ok(text)
}
