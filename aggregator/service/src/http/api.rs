//! `/api/v1`: the plugin's own JSON, cut to what the caller may see.

use std::sync::Arc;

use aggregator_core::report::{ClusterReport, Held, Root};
use aggregator_core::state::ObjectRef;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing::get};
use findings::cause;
use incidents::{Incident, markdown};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Shared;
use super::caller::Caller;
use super::visible::Rights;

/// The routes.
pub fn router() -> Router<Shared> {
    Router::new()
        .route("/stuck", get(stuck))
        .route("/roots", get(roots))
        .route("/objects/{group}/{kind}/{namespace}/{name}", get(object))
        .route("/nodes/{name}", get(node))
        .route("/incidents", get(all_incidents))
        .route("/incidents/{id}", get(one_incident))
        .route("/causes", get(causes))
}

/// What could not be answered. Whoever may not see something hears what they hear of what is not there.
enum Refusal {
    NothingToSee,
    TooEarly,
    RightsUnknown,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (code, message) = match self {
            Refusal::NothingToSee => (StatusCode::NOT_FOUND, "there is no such thing, or you may not see it"),
            Refusal::TooEarly => (StatusCode::SERVICE_UNAVAILABLE, "nothing has been judged yet"),
            Refusal::RightsUnknown => {
                (StatusCode::SERVICE_UNAVAILABLE, "the API server does not say what you may see; ask again")
            }
        };
        (code, Json(serde_json::json!({"error": message}))).into_response()
    }
}

/// A judgement, and what the caller may see of it.
struct Seen {
    whole: Arc<ClusterReport>,
    incidents: Arc<Vec<Incident>>,
    silent_since: Option<Timestamp>,
    rights: Rights,
}

async fn see(shared: &Shared, Caller(user): &Caller) -> Result<Seen, Refusal> {
    let (report, incidents, silent_since) = {
        let published = shared.published.borrow();
        (published.report.clone(), published.incidents.clone(), published.silent_since)
    };
    let whole = report.ok_or(Refusal::TooEarly)?;
    let rights = Rights::ask(&shared.reviews, user, &whole, &incidents).await.map_err(|_| Refusal::RightsUnknown)?;
    Ok(Seen { whole, incidents, silent_since, rights })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<T> {
    /// Since when the API server has not been heard: what follows is of before.
    #[serde(skip_serializing_if = "Option::is_none")]
    silent_since: Option<Timestamp>,
    #[serde(flatten)]
    content: T,
}

async fn stuck(State(shared): State<Shared>, headers: HeaderMap, caller: Caller) -> Result<Response, Refusal> {
    let seen = see(&shared, &caller).await?;
    let content = seen.rights.report(&seen.whole);
    Ok(tagged(&headers, &Answer { silent_since: seen.silent_since, content }))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RootLine {
    cause: &'static str,
    title: &'static str,
    root: String,
    verdict: findings::Verdict,
    victims: usize,
    oldest_seconds: Option<u64>,
}

#[derive(Serialize)]
struct Roots {
    roots: Vec<RootLine>,
    unexplained: usize,
}

async fn roots(State(shared): State<Shared>, headers: HeaderMap, caller: Caller) -> Result<Response, Refusal> {
    let seen = see(&shared, &caller).await?;
    let report = seen.rights.report(&seen.whole);
    let line = |root: &Root| RootLine {
        cause: root.finding.cause.id,
        title: root.finding.cause.title,
        root: root.finding.chain.last().map(|link| link.subject.clone()).unwrap_or_default(),
        verdict: root.verdict,
        victims: root.victims.len(),
        oldest_seconds: root.victims.iter().filter_map(|victim| victim.held.overdue()).max(),
    };
    let content = Roots { roots: report.roots.iter().map(line).collect(), unexplained: report.unexplained.len() };
    Ok(tagged(&headers, &Answer { silent_since: seen.silent_since, content }))
}

#[derive(Serialize)]
struct ObjectAnswer {
    object: ObjectRef,
    roots: Vec<Root>,
    unexplained: Vec<Held>,
}

/// `-` stands for the core group and for no namespace.
async fn object(
    State(shared): State<Shared>,
    headers: HeaderMap,
    caller: Caller,
    Path((group, kind, namespace, name)): Path<(String, String, String, String)>,
) -> Result<Response, Refusal> {
    let seen = see(&shared, &caller).await?;
    let report = seen.rights.report(&seen.whole);
    let none = |text: &str| if text == "-" { String::new() } else { text.to_owned() };
    let (group, namespace) = (none(&group), none(&namespace));
    let is_it = |object: &ObjectRef| {
        let is_kind = object.kind.eq_ignore_ascii_case(&kind) || object.resource.plural == kind;
        object.resource.group == group
            && is_kind
            && object.namespace.as_deref().unwrap_or_default() == namespace
            && object.name == name
    };
    let mut found = None;
    let mut holds = |object: &ObjectRef| {
        if is_it(object) {
            found = Some(object.clone());
        }
        is_it(object)
    };
    let mut roots = report.roots.clone();
    roots.retain_mut(|root| {
        let is_on_the_way = root.on_the_way.iter().any(&mut holds);
        root.victims.retain(|victim| holds(&victim.held.thing));
        is_on_the_way || !root.victims.is_empty()
    });
    let mut unexplained = report.unexplained.clone();
    unexplained.retain(|held| holds(&held.thing));
    let content = ObjectAnswer { object: found.ok_or(Refusal::NothingToSee)?, roots, unexplained };
    Ok(tagged(&headers, &Answer { silent_since: seen.silent_since, content }))
}

#[derive(Serialize)]
struct NodeAnswer {
    node: String,
    roots: Vec<Root>,
}

async fn node(
    State(shared): State<Shared>,
    headers: HeaderMap,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Response, Refusal> {
    let seen = see(&shared, &caller).await?;
    let mut roots = seen.rights.report(&seen.whole).roots;
    let on_node = |subject: &str| subject == format!("Node {name}");
    roots.retain(|root| {
        let is_told = root.told_by.as_ref().is_some_and(|by| by.node == name);
        let chains = root.victims.iter().map(|victim| &victim.chain).chain([&root.finding.chain]);
        is_told || chains.flatten().any(|link| on_node(&link.subject))
    });
    if roots.is_empty() {
        return Err(Refusal::NothingToSee);
    }
    Ok(tagged(&headers, &Answer { silent_since: seen.silent_since, content: NodeAnswer { node: name, roots } }))
}

#[derive(Serialize)]
struct Incidents {
    incidents: Vec<Incident>,
}

async fn all_incidents(State(shared): State<Shared>, headers: HeaderMap, caller: Caller) -> Result<Response, Refusal> {
    let seen = see(&shared, &caller).await?;
    let visible = seen.incidents.iter().filter_map(|incident| seen.rights.incident(incident, &seen.whole));
    let content = Incidents { incidents: visible.collect() };
    Ok(tagged(&headers, &Answer { silent_since: seen.silent_since, content }))
}

#[derive(Deserialize)]
struct Format {
    format: Option<String>,
}

async fn one_incident(
    State(shared): State<Shared>,
    headers: HeaderMap,
    caller: Caller,
    Path(id): Path<String>,
    Query(Format { format }): Query<Format>,
) -> Result<Response, Refusal> {
    let seen = see(&shared, &caller).await?;
    let incident = seen.incidents.iter().find(|incident| incident.id == id);
    let incident = incident.and_then(|incident| seen.rights.incident(incident, &seen.whole));
    let incident = incident.ok_or(Refusal::NothingToSee)?;
    if format.as_deref() == Some("md") {
        let text = markdown(&incident, Timestamp::now());
        return Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], text).into_response());
    }
    Ok(tagged(&headers, &incident))
}

#[derive(Serialize)]
struct CauseLine {
    id: &'static str,
    title: &'static str,
    meaning: &'static str,
    proof: &'static str,
}

/// The registry is no secret.
async fn causes(headers: HeaderMap) -> Response {
    let line = |cause: &'static findings::Cause| CauseLine {
        id: cause.id,
        title: cause.title,
        meaning: cause.meaning,
        proof: cause.proof,
    };
    tagged(&headers, &cause::all().map(line).collect::<Vec<_>>())
}

/// JSON with a tag: who has it already is told so in a few bytes.
fn tagged(headers: &HeaderMap, content: &impl Serialize) -> Response {
    let Ok(body) = serde_json::to_vec(content) else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    super::answer::answer(headers, "application/json", body)
}
