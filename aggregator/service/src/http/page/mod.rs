//! The page: a shell without data that everybody may have, and pieces of it that are made for each caller.

mod chain_diagram;
#[cfg(test)]
mod contrast;
mod root_details;
mod root_list;
mod svg;

use aggregator_core::report::ClusterReport;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use maud::{DOCTYPE, Markup, html};

use super::Shared;
use super::api::{Refusal, see};
use super::cached_response::answer;
use super::caller::Caller;

/// Only what is served here runs and is asked, and nobody else shows it in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The routes.
pub fn router() -> Router<Shared> {
    let asset = |kind: &'static str, text: &'static str| {
        get(move |headers: HeaderMap| async move { guarded(answer(&headers, kind, text.as_bytes().to_vec())) })
    };
    Router::new()
        .route("/", get(|headers: HeaderMap| async move { page(&headers, &shell()) }))
        .route("/page/app.js", asset("text/javascript; charset=utf-8", include_str!("assets/app.js")))
        .route("/page/style.css", asset("text/css; charset=utf-8", include_str!("assets/style.css")))
        .route("/page/icon.svg", asset("image/svg+xml", include_str!("assets/icon.svg")))
        .route("/page/roots", get(roots))
        .route("/page/roots/{id}", get(root))
}

async fn roots(State(shared): State<Shared>, headers: HeaderMap, caller: Caller) -> Result<Response, Refusal> {
    let seen = see(&shared, &caller.user).await?;
    Ok(page(&headers, &root_list::list(&seen.report(), seen.silent_since)))
}

/// The list of this report while the API server is heard.
pub(super) fn root_list(report: &ClusterReport) -> String {
    root_list::list(report, None).into_string()
}

async fn root(
    State(shared): State<Shared>,
    headers: HeaderMap,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let seen = see(&shared, &caller.user).await?;
    let report = seen.report();
    let root = report.roots.iter().find(|root| root.id.to_string() == id).ok_or(Refusal::NothingToSee)?;
    Ok(page(&headers, &root_details::details(root, &seen.visible_incidents())))
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
                    p #status role="status" aria-live="polite" { "Not signed in" }
                }
                form #sign-in {
                    label for="token" { "Token" }
                    input #token type="password" autocomplete="off" spellcheck="false" required;
                    button { "Show" }
                    p { "It stays in the memory of this tab. " code { "kubectl create token NAME --audience why-terminating" } " makes one." }
                }
                main #main hidden {
                    div.tools {
                        label for="filter" { "Filter" }
                        input #filter type="search" autocomplete="off";
                    }
                    div.columns {
                        section #list aria-label="Root causes" {}
                        section #one aria-label="The root cause that was chosen" tabindex="-1" {}
                    }
                }
                noscript { p { "The page needs its script, which is served from here. The same is told by the API and by kubectl why-terminating." } }
            }
        }
    }
}
