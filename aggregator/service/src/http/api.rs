//! `/api/v1`: the plugin's own JSON, cut to what the caller may see.

use std::sync::Arc;

use crate::incidents::{Incident, markdown};
use aggregator_core::report::{ClusterReport, Counts, Held, Root, TerminatingNormally};
use aggregator_core::state::ObjectRef;
use axum::Json;
use axum::extract::{FromRequestParts, Path, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use findings::{Verdict, cause};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Shared;
use super::caller::{Caller, Refused};
use super::review::User;
use super::visibility::Rights;

/// What could not be answered. Without permission to see something the caller gets the same answer as for what does not
/// exist.
pub enum Refusal {
    /// It is not there, or not for this caller.
    NothingToSee,
    /// Nothing has been judged.
    TooEarly,
    /// The API server does not say what the caller may see.
    RightsUnknown,
}

impl Refusal {
    pub fn words(&self) -> &'static str {
        match self {
            Refusal::NothingToSee => "not found, or you have no permission to see it",
            Refusal::TooEarly => "nothing has been judged yet",
            Refusal::RightsUnknown => "the API server does not say what you may see; ask again",
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let code = match self {
            Refusal::NothingToSee => StatusCode::NOT_FOUND,
            Refusal::TooEarly | Refusal::RightsUnknown => StatusCode::SERVICE_UNAVAILABLE,
        };
        (code, Json(serde_json::json!({"error": self.words()}))).into_response()
    }
}

/// A judgement, and what the caller may see of it.
pub struct Seen {
    whole: Arc<ClusterReport>,
    incidents: Arc<Vec<Arc<Incident>>>,
    /// Since when the API server has not been heard.
    pub silent_since: Option<Timestamp>,
    /// When the kind was scanned whose last scan is the oldest.
    pub oldest_scan: Option<Timestamp>,
    rights: Rights,
}

impl Seen {
    /// What of the report the caller may see.
    pub fn report(&self) -> ClusterReport {
        self.rights.report(&self.whole)
    }

    /// What to ask for to see all of this root of [`Self::report`]; none where all of it is shown.
    pub fn ask_for(&self, root: &Root) -> Option<String> {
        let whole = self.whole.roots.iter().find(|whole| whole.id == root.id)?;
        self.rights.ask_for_root(whole)
    }

    fn answer<T>(&self, content: T) -> Answer<T> {
        Answer { silent_since: self.silent_since, sees_all: self.rights.may_see_all(), content }
    }

    /// The incidents that the caller may see.
    pub fn visible_incidents(&self) -> Vec<Incident> {
        self.rights.incidents(self.incidents.iter().map(Arc::as_ref))
    }
}

impl FromRequestParts<Shared> for Seen {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Response> {
        let caller = Caller::from_request_parts(parts, shared).await.map_err(Refused::into_response)?;
        see(shared, &caller.user).await.map_err(Refusal::into_response)
    }
}

/// What there is, and what of it this user may see.
pub async fn see(shared: &Shared, user: &User) -> Result<Seen, Refusal> {
    let (report, incidents, silent_since, oldest_scan) = {
        let published = shared.served.published.borrow();
        (published.report.clone(), published.incidents.clone(), published.silent_since, published.oldest_scan)
    };
    let whole = report.ok_or(Refusal::TooEarly)?;
    let rights = Rights::ask(&shared.reviews, user, &whole, &incidents).await.map_err(|_| Refusal::RightsUnknown)?;
    Ok(Seen { whole, incidents, silent_since, oldest_scan, rights })
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answer<T> {
    /// Since when the API server has not been heard: what follows is of before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    silent_since: Option<Timestamp>,
    /// Whether the caller has permission to list everything. If not, more objects may be stuck, and causes may be hidden.
    sees_all: bool,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stuck {
    /// When the kind was scanned whose last scan is the oldest: what was deleted of it since may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    oldest_scan: Option<Timestamp>,
    #[serde(flatten)]
    report: ClusterReport,
}

pub async fn stuck(headers: HeaderMap, seen: Seen) -> Response {
    tagged(&headers, &seen.answer(Stuck { oldest_scan: seen.oldest_scan, report: seen.report() }))
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RootLine {
    /// What alerts, the page's address and the plugin's `--explain` call it.
    id: String,
    /// Its entry in the registry.
    cause: &'static str,
    /// What that means, in a few words.
    title: &'static str,
    /// What it is: a process, a node, a webhook.
    root: String,
    /// Whether it holds for good.
    verdict: Verdict,
    /// How many objects it holds that the caller may see.
    victims: usize,
    /// Since when the oldest of them should have been gone.
    #[schemars(with = "Option<String>")]
    oldest_since: Option<Timestamp>,
}

#[derive(Serialize, JsonSchema)]
pub struct Roots {
    roots: Vec<RootLine>,
    /// Objects that are being deleted and of which no cause is known.
    unexplained: usize,
    /// Of all objects that the caller may see.
    counts: Counts,
}

/// One line for each root that the caller may see.
pub fn root_lines(seen: &Seen) -> Answer<Roots> {
    let report = seen.report();
    let at = report.at.parse::<Timestamp>().ok();
    let since = |seconds: u64| {
        let seconds = i64::try_from(seconds).ok()?;
        Timestamp::from_second(at?.as_second().checked_sub(seconds)?).ok()
    };
    let line = |root: &Root| RootLine {
        id: root.id.to_string(),
        cause: root.finding.cause.id,
        title: root.finding.cause.title,
        root: root.finding.chain.last().map(|link| link.subject.clone()).unwrap_or_default(),
        verdict: root.verdict,
        victims: root.objects(),
        oldest_since: root.oldest().and_then(since),
    };
    let (counts, unexplained) = (report.counts, report.unexplained.len());
    seen.answer(Roots { roots: report.roots.iter().map(line).collect(), unexplained, counts })
}

pub async fn roots(headers: HeaderMap, seen: Seen) -> Response {
    tagged(&headers, &root_lines(&seen))
}

#[derive(Serialize, JsonSchema)]
pub struct ObjectAnswer {
    object: ObjectRef,
    roots: Vec<Root>,
    unexplained: Vec<Held>,
    terminating_normally: Vec<TerminatingNormally>,
}

/// `-` stands for the core group and for no namespace.
pub async fn object(
    headers: HeaderMap,
    seen: Seen,
    Path((group, kind, namespace, name)): Path<(String, String, String, String)>,
) -> Result<Response, Refusal> {
    let report = seen.report();
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
    let mut terminating_normally = report.terminating_normally.clone();
    terminating_normally.retain(|one| holds(&one.held.thing));
    let object = found.ok_or(Refusal::NothingToSee)?;
    let content = ObjectAnswer { object, roots, unexplained, terminating_normally };
    Ok(tagged(&headers, &seen.answer(content)))
}

#[derive(Serialize, JsonSchema)]
pub struct NodeAnswer {
    node: String,
    roots: Vec<Root>,
}

pub async fn node(headers: HeaderMap, seen: Seen, Path(name): Path<String>) -> Result<Response, Refusal> {
    let mut roots = seen.report().roots;
    let on_node = |subject: &str| subject == format!("Node {name}");
    roots.retain(|root| {
        let is_told = root.told_by.as_ref().is_some_and(|by| by.node == name);
        is_told || root.links().any(|link| on_node(&link.subject))
    });
    if roots.is_empty() {
        return Err(Refusal::NothingToSee);
    }
    Ok(tagged(&headers, &seen.answer(NodeAnswer { node: name, roots })))
}

#[derive(Serialize, JsonSchema)]
pub struct Incidents {
    incidents: Vec<Incident>,
}

pub async fn all_incidents(headers: HeaderMap, seen: Seen) -> Response {
    tagged(&headers, &seen.answer(Incidents { incidents: seen.visible_incidents() }))
}

#[derive(Deserialize)]
pub struct Format {
    format: Option<String>,
}

pub async fn one_incident(
    State(shared): State<Shared>,
    headers: HeaderMap,
    seen: Seen,
    Path(id): Path<String>,
    Query(Format { format }): Query<Format>,
) -> Result<Response, Refusal> {
    let incident = seen.incidents.iter().map(Arc::as_ref).find(|incident| incident.id == id);
    let incident = seen.rights.incidents(incident).pop().ok_or(Refusal::NothingToSee)?;
    if format.as_deref() == Some("md") {
        let text = markdown(&incident, shared.served.clock.now());
        return Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], text).into_response());
    }
    Ok(tagged(&headers, &incident))
}

#[derive(Serialize, JsonSchema)]
pub struct CauseLine {
    id: &'static str,
    title: &'static str,
    meaning: &'static str,
    proof: &'static str,
}

/// The registry is no secret.
pub async fn causes(headers: HeaderMap) -> Response {
    let line = |cause: &'static findings::Cause| CauseLine {
        id: cause.id,
        title: cause.title,
        meaning: cause.meaning,
        proof: cause.proof,
    };
    tagged(&headers, &cause::all().map(line).collect::<Vec<_>>())
}

/// JSON with a tag: a client that has it already gets a few bytes.
pub fn tagged(headers: &HeaderMap, content: &impl Serialize) -> Response {
    let Ok(body) = serde_json::to_vec(content) else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    super::cached_response::answer(headers, "application/json", body)
}
