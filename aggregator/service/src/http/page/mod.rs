//! The page: a public shell without data, and pieces of it that are made for each caller.

mod chain_diagram;
#[cfg(test)]
mod contrast;
mod filter;
mod merged;
mod root_card;
mod root_details;
mod root_list;
mod svg;
mod timeline;

use aggregator_core::report::ClusterReport;
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use jiff::Timestamp;
use maud::{DOCTYPE, Markup, html};
use serde::Deserialize;

use super::Shared;
use super::api::{Refusal, Seen, tagged};
use super::cached_response::answer;
use super::caller::{Caller, Refused};
use filter::Filter;
use root_list::List;

/// Only what is served here runs and is queried, and no other site shows it in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub fn router() -> Router<Shared> {
    let asset = |kind: &'static str, text: &'static str| {
        get(move |headers: HeaderMap| async move { guarded(answer(&headers, kind, text.as_bytes().to_vec())) })
    };
    Router::new()
        .route("/", get(|headers: HeaderMap| async move { page(&headers, &shell()) }))
        .route("/page/app.js", asset("text/javascript; charset=utf-8", include_str!("assets/app.js")))
        .route("/page/style.css", asset("text/css; charset=utf-8", include_str!("assets/style.css")))
        .route("/page/icon.svg", asset("image/svg+xml", include_str!("assets/icon.svg")))
        .route("/page/session", get(session))
        .route("/page/roots", get(roots))
        .route("/page/roots/{id}", get(root))
}

/// Whose rights the caller has, and in which cluster. A request without a token is no error: the page asks so whether what
/// it comes through adds one.
async fn session(State(shared): State<Shared>, headers: HeaderMap, caller: Result<Caller, Refused>) -> Response {
    if !headers.contains_key(header::AUTHORIZATION) {
        return StatusCode::NO_CONTENT.into_response();
    }
    match caller {
        Ok(caller) => {
            let cluster = &shared.served.cluster_name;
            tagged(&headers, &serde_json::json!({"user": caller.user.username, "cluster": cluster}))
        }
        Err(refused) => refused.into_response(),
    }
}

#[derive(Deserialize)]
struct Typed {
    #[serde(default)]
    q: String,
}

async fn roots(State(shared): State<Shared>, headers: HeaderMap, seen: Seen, Query(typed): Query<Typed>) -> Response {
    let (report, incidents) = (seen.report(), seen.visible_incidents());
    let list = List {
        report: &report,
        silent_since: seen.silent_since,
        oldest_scan: seen.oldest_scan,
        incidents: &incidents,
        filter: Filter::new(&typed.q),
        now: shared.served.clock.now(),
    };
    page(&headers, &list.markup())
}

/// The list of this report while the API server answers.
pub(super) fn root_list(report: &ClusterReport) -> String {
    let now = report.at.parse().unwrap_or(Timestamp::UNIX_EPOCH);
    List { report, silent_since: None, oldest_scan: None, incidents: &[], filter: Filter::default(), now }
        .markup()
        .into_string()
}

async fn root(headers: HeaderMap, seen: Seen, Path(id): Path<String>) -> Result<Response, Refusal> {
    let report = seen.report();
    let root = report.roots.iter().find(|root| root.id.to_string() == id).ok_or(Refusal::NothingToSee)?;
    let ask_for = seen.ask_for(root);
    Ok(page(&headers, &root_details::details(root, &seen.visible_incidents(), ask_for.as_deref())))
}

fn page(headers: &HeaderMap, markup: &Markup) -> Response {
    guarded(answer(headers, "text/html; charset=utf-8", markup.0.as_bytes().to_vec()))
}

fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin"));
    response.into_response()
}

fn shell() -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "why-terminating" }
                link rel="icon" href="/page/icon.svg";
                link rel="stylesheet" href="/page/style.css";
                script src="/page/app.js" defer {}
            }
            body {
                header {
                    h1 { "What is stuck in Terminating, and why" }
                    p #session hidden {
                        span { span #named { "Cluster " strong #cluster {} " · " } "rights of " strong #user {} }
                        button #sign-out type="button" { "Sign out" }
                    }
                    p #status role="status" aria-live="polite" { "Not signed in" }
                }
                main {
                    form #sign-in hidden {
                        label for="token" { "Token" }
                        input #token type="password" autocomplete="off" spellcheck="false" required aria-describedby="token-help";
                        button { "Show" }
                        p #token-help { "Kept only in this tab. Get one: " code { "kubectl -n NS create token SERVICEACCOUNT --audience why-terminating" } }
                    }
                    div #view hidden {
                        div.tools {
                            label for="filter" { "Filter" }
                            input #filter type="search" autocomplete="off" spellcheck="false" aria-describedby="filter-help" aria-keyshortcuts="/";
                            span #filter-help { "Text, " code { "ns:shop" } ", " code { "node:node-a" } ", " code { "kind:pod" } ". Key: " kbd { "/" } }
                        }
                        section #list aria-label="Root causes" tabindex="-1" {}
                        section #detail aria-label="Selected root cause" tabindex="-1" {
                            button #back type="button" { "← All root causes" }
                            div #one {}
                        }
                    }
                }
                noscript { p { "This page needs JavaScript, served from here. The API and kubectl why-terminating show the same." } }
            }
        }
    }
}
