//! What Prometheus may know, for those who may read `/metrics`: counts by kind, cause and verdict.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aggregator_core::report::{Counted, Held, Root};
use aggregator_core::shares::{in_turns, namespace};

use axum::extract::{FromRequestParts as _, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use findings::Verdict;
use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::{counter::Counter, family::Family, gauge::Gauge};
use prometheus_client::registry::{Registry, Unit};

use super::Shared;
use super::caller::{Caller, METRICS_PATH, Refused};
use super::review::Right;
use crate::published::{Findings, Published};
use crate::requests::{Outcome, Requests};
use crate::resource_usage;

/// Roots that are exported one by one; of the others only how many there are.
const MAX_ROOTS: usize = 50;
/// Namespaces that are named.
const MAX_NAMESPACES: usize = 200;

/// Prometheus waits ten seconds for all of a scrape.
const REVIEWED_WITHIN: Duration = Duration::from_secs(5);

/// Renders them for callers that may `get` this path, as a controller of controller-runtime does. While the API server
/// cannot review callers, every caller gets that fact, and nothing else: otherwise the silence could not be reported.
pub async fn render(State(shared): State<Shared>, mut parts: Parts) -> Response {
    let reviewed = tokio::time::timeout(REVIEWED_WITHIN, may_read(&mut parts, &shared)).await;
    let published = shared.served.published.borrow().clone();
    let text = match reviewed.unwrap_or(Err(Refused::Unreviewed)) {
        Ok(true) => text(&published, &shared),
        Ok(false) => return StatusCode::FORBIDDEN.into_response(),
        Err(Refused::Unreviewed) => silence_alone(&published, &shared),
        Err(refused) => return refused.into_response(),
    };
    match text {
        Ok(text) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn may_read(parts: &mut Parts, shared: &Shared) -> Result<bool, Refused> {
    let Caller { user, .. } = Caller::from_request_parts(parts, shared).await?;
    shared.reviews.may(&user, &Right::Path(METRICS_PATH)).await.map_err(|_| Refused::Unreviewed)
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ObjectLabel {
    kind: String,
    cause: &'static str,
    verdict: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RootLabel {
    cause: &'static str,
    /// Made from the root's key: names stay out of metrics.
    root: String,
    kind: String,
    /// What weighs most of what it holds: the alert's severity follows from it.
    holds: String,
    /// Not `namespace`: Prometheus sets that to the service's own where it is empty.
    root_namespace: Option<String>,
    /// Nothing is broken.
    in_use: bool,
    /// But that of a node: what its agent exports is about the same node, and so are the alerts of others.
    node: Option<String>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ResourceLabel {
    resource: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct NamespaceLabel {
    namespace: String,
    cause: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CodeLabel {
    code: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct NoLabel {}

/// A gauge with one value for each set of labels.
fn gauge<L: Clone + Hash + Eq + EncodeLabelSet + Debug + Send + Sync + 'static>(
    registry: &mut Registry,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (L, i64)>,
) {
    let family = Family::<L, Gauge>::default();
    for (labels, value) in values {
        family.get_or_create(&labels).inc_by(value);
    }
    registry.register(name, help, family);
}

const PREFIX: &str = "why_terminating_cluster";

/// Since when the API server has not been heard.
fn silence(all: &mut Registry, published: &Published, shared: &Shared) {
    let silent = published.silent_since.map_or(0, |since| shared.served.clock.now().as_second() - since.as_second());
    gauge(all, "api_silent_seconds", "Since when the API server has not been heard", [(NoLabel {}, silent)]);
}

fn silence_alone(published: &Published, shared: &Shared) -> Result<String, std::fmt::Error> {
    let mut alone = Registry::with_prefix(PREFIX);
    silence(&mut alone, published, shared);
    let mut text = String::new();
    encode(&mut text, &alone)?;
    Ok(text)
}

/// The roots that get an alert each, and how many more there are: the namespaces of what they hold take turns. What is on
/// its way should not be gone yet. Lost nodes come first: their agents no longer report them.
fn one_by_one<'r>(roots: impl Iterator<Item = &'r Root>) -> (Vec<&'r Root>, u64) {
    let holding = roots.filter(|root| root.verdict > Verdict::Progressing);
    let mut holding = in_turns(holding, |root| root.victims.first().map_or("", |victim| namespace(&victim.held.thing)));
    holding.sort_by_key(|root| !root.finding.cause.node_is_lost);
    let left_out = holding.len().saturating_sub(MAX_ROOTS);
    holding.truncate(MAX_ROOTS);
    (holding, left_out as u64)
}

/// What the report alone decides.
pub(super) fn of_report(published: &Published) -> Result<String, std::fmt::Error> {
    let mut all = Registry::with_prefix(PREFIX);
    objects(&mut all, published);
    roots(&mut all, published, false);
    let mut text = String::new();
    encode(&mut text, &all)?;
    Ok(text)
}

/// Made anew for each scrape, so that what has ended leaves no series behind.
fn text(published: &Published, shared: &Shared) -> Result<String, std::fmt::Error> {
    let mut exported = Registry::default();
    own_cost(&mut exported);
    let all = exported.sub_registry_with_prefix(PREFIX);
    objects(all, published);
    roots(all, published, shared.served.names_in_metrics);
    if shared.served.names_in_metrics {
        namespaces(all, published);
    }
    agents(all, published);
    let help = "Watched lists that had more objects than the service has room for: some are not seen";
    gauge(all, "cut_lists", help, one(published.cut_lists.len() as u64));
    let cut = published.cut_lists.iter().map(|one| (ResourceLabel { resource: one.to_string() }, 1));
    gauge(all, "cut_list", "Whether objects of this kind are left out", cut);
    let help = "Answers of the API server that are left out because all of them together take too much memory";
    gauge(all, "answers_left_out", help, one(published.answers_left_out as u64));
    incidents(all, published);
    silence(all, published, shared);
    let leads = u64::from(shared.served.leader.remaining().is_some());
    gauge(all, "leader", "Whether this replica writes Events", one(leads));
    requests(all, &shared.served.requests);
    let mut text = String::new();
    encode(&mut text, &exported)?;
    Ok(text)
}

fn all_roots(published: &Published) -> impl Iterator<Item = &Root> {
    published.report.iter().flat_map(|report| &report.roots)
}

fn one(value: u64) -> [(NoLabel, i64); 1] {
    [(NoLabel {}, i64::try_from(value).unwrap_or(i64::MAX))]
}

fn counted(published: &Published) -> Vec<Counted<'_>> {
    let counted = published.report.iter().flat_map(|report| report.objects());
    counted.filter(|counted| counted.verdict > Verdict::Clear).collect()
}

fn objects(all: &mut Registry, published: &Published) {
    let counted = counted(published);
    let objects = counted.iter().filter_map(|counted| {
        let (kind, verdict) = (counted.object.kind.to_string(), counted.verdict.as_str());
        Some((ObjectLabel { kind, cause: counted.cause?.id, verdict }, 1))
    });
    let help = "Objects that are being deleted, each counted once, by kind, cause of its first root and verdict";
    gauge(all, "objects", help, objects);
    let unexplained = published.report.iter().flat_map(|report| &report.unexplained);
    let unexplained = unexplained.map(|held| (StateLabel { state: held.verdict.as_str() }, 1));
    gauge(all, "unexplained_objects", "Objects that are being deleted and of which no cause is known", unexplained);
    let held = all_roots(published).flat_map(|root| root.victims.iter().map(|victim| &victim.held));
    let stuck = held.filter(|held| held.verdict == Verdict::Stuck).filter_map(Held::overdue);
    let oldest = stuck.max().unwrap_or(0);
    gauge(all, "oldest_stuck_seconds", "Since when the oldest stuck object should be gone", one(oldest));
}

fn roots(all: &mut Registry, published: &Published, names_in_metrics: bool) {
    let (holding, left_out) = one_by_one(all_roots(published));
    let victims = holding.into_iter().map(|root| {
        let node = root.node().map(str::to_owned);
        let root_namespace = root.namespace.clone().filter(|_| names_in_metrics);
        let label = RootLabel {
            cause: root.finding.cause.id,
            root: root.id.to_string(),
            kind: root.kind.clone(),
            holds: root.holds().to_owned(),
            root_namespace,
            in_use: root.finding.cause.in_use,
            node,
        };
        (label, i64::try_from(root.objects()).unwrap_or(i64::MAX))
    });
    let help = "Objects that a root holds, of the first 50 roots; an object with two roots is counted for both";
    gauge(all, "root_victims", help, victims);
    gauge(all, "roots_left_out", "Roots beyond the first 50, which hold something all the same", one(left_out));
}

fn namespaces(all: &mut Registry, published: &Published) {
    let counted = counted(published);
    let names = counted.iter().filter_map(|Counted { object, cause, .. }| {
        let namespace = object.namespace.clone().or((object.kind == "Namespace").then(|| object.name.clone()));
        Some((NamespaceLabel { namespace: namespace?, cause: (*cause)?.id }, 1))
    });
    let names: BTreeMap<(String, &'static str), i64> = names.fold(BTreeMap::new(), |mut sums, (label, one)| {
        *sums.entry((label.namespace, label.cause)).or_default() += one;
        sums
    });
    let names: Vec<_> = names.into_iter().collect();
    let names = in_turns(&names, |((namespace, _), _)| namespace.as_str()).into_iter().take(MAX_NAMESPACES);
    let names = names.map(|((namespace, cause), sum)| (NamespaceLabel { namespace: namespace.clone(), cause }, *sum));
    gauge(all, "namespace_objects", "Held objects by namespace, of the first 200", names);
}

fn agents(all: &mut Registry, published: &Published) {
    let Findings { fresh, late } = published.findings;
    let findings = [("fresh", fresh), ("late", late)].map(|(state, sum)| (StateLabel { state }, i64::from(sum)));
    gauge(all, "agent_findings", "Findings of agents, and those that should have been renewed", findings);
    let silent: BTreeSet<&str> = all_roots(published).filter_map(|root| root.look_on.as_deref()).collect();
    let help = "Nodes that hold something and have no finding of an agent";
    gauge(all, "nodes_without_agent", help, one(silent.len() as u64));
}

fn incidents(all: &mut Registry, published: &Published) {
    let open = published.incidents.iter().filter(|incident| incident.end.is_none()).count();
    let incidents = [("open", open), ("over", published.incidents.len() - open)];
    let incidents = incidents.map(|(state, sum)| (StateLabel { state }, i64::try_from(sum).unwrap_or(i64::MAX)));
    gauge(all, "incidents", "Incidents that are remembered", incidents);
}

fn requests(all: &mut Registry, requests: &Requests) {
    for (name, help, value) in [
        ("api_questions", "Questions to the API server beside the watches", &requests.asked),
        ("api_questions_throttled", "Questions that waited for others", &requests.throttled),
    ] {
        let counter = Counter::<u64>::default();
        counter.inc_by(value.load(Ordering::Relaxed));
        all.register(name, help, counter);
    }
    let sent = Family::<CodeLabel, Counter<u64>>::default();
    for outcome in Outcome::ALL {
        sent.get_or_create(&CodeLabel { code: outcome.code() }).inc_by(requests.sent(outcome));
    }
    all.register("api_requests", "Requests to the API server, by what came of them; a watch is one", sent);
}

fn own_cost(all: &mut Registry) {
    if let Some(bytes) = resource_usage::resident_memory().and_then(|bytes| i64::try_from(bytes).ok()) {
        let help = "Resident memory of the service";
        gauge(all, "process_resident_memory_bytes", help, [(NoLabel {}, bytes)]);
    }
    if let Some(time) = resource_usage::processor_time() {
        let counter = Counter::<f64, AtomicU64>::default();
        counter.inc_by(time.as_secs_f64());
        all.register_with_unit("process_cpu", "Processor time that the service has used", Unit::Seconds, counter);
    }
}

#[cfg(test)]
mod tests {
    use aggregator_core::state::{ObjectRef, known};
    use findings::{Cause, FindingBuilder, cause};

    use super::*;

    fn root(cause: &'static Cause, name: &str, verdict: Verdict) -> Root {
        let finding = FindingBuilder::new(cause).root(name).finish();
        let (victims, on_the_way, behind) = (Vec::new(), Vec::new(), Vec::new());
        let (id, also) = (findings::RootId::new(name), Vec::new());
        Root {
            id,
            kind: String::new(),
            namespace: None,
            finalizer: None,
            verdict,
            at_risk: Vec::new(),
            more_at_risk: 0,
            finding,
            also,
            claims: Vec::new(),
            more_explanations: 0,
            told_by: None,
            look_on: None,
            victims,
            on_the_way,
            behind,
            reads: aggregator_core::access::Reads::default(),
        }
    }

    #[test]
    fn old_pods_of_one_namespace_leave_series_for_another() {
        let of = |namespace: &str, number: usize| {
            let mut root = root(&cause::FINALIZER_OWNER_UNKNOWN, &format!("{namespace} {number}"), Verdict::Stuck);
            let (words, reads) = (String::new(), aggregator_core::access::Reads::default());
            let thing = aggregator_core::state::ObjectRef::pod(namespace, "p");
            let held = Held { thing, verdict: Verdict::Stuck, overdue_seconds: None, words, keeps: None, reads };
            let cause = root.finding.cause;
            root.victims.push(aggregator_core::report::Victim {
                held,
                cause,
                gate: None,
                chain: Vec::new(),
                nodes: Vec::new(),
            });
            root
        };
        let mut roots: Vec<Root> = (0..55).map(|number| of("flood", number)).collect();
        roots.push(of("other", 0));
        let (told, _) = one_by_one(roots.iter());
        assert!(told.iter().any(|root| root.finding.root.contains("other")));
    }

    #[test]
    fn of_what_a_root_holds_the_heaviest_kind_is_named() {
        let pod = |keeps| Held {
            thing: ObjectRef::pod("shop", "p"),
            verdict: Verdict::Stuck,
            overdue_seconds: None,
            words: String::new(),
            keeps,
            reads: aggregator_core::access::Reads::default(),
        };
        let holds = |held: Vec<Held>, on_the_way: &[ObjectRef]| {
            let mut root = root(&cause::POD_CONTAINERS_NOT_STOPPED, "p", Verdict::Stuck);
            let cause = root.finding.cause;
            let victim = |held| aggregator_core::report::Victim {
                held,
                cause,
                gate: None,
                chain: Vec::new(),
                nodes: Vec::new(),
            };
            root.victims = held.into_iter().map(victim).collect();
            root.on_the_way = on_the_way.to_vec();
            root.holds().to_owned()
        };
        let shop = ObjectRef::cluster_wide(known::NAMESPACES, "shop");
        let service = ObjectRef::namespaced(known::SERVICES, "shop", "web");
        assert_eq!(holds(vec![pod(None)], &[]), "Pod");
        assert_eq!(holds(vec![pod(None), pod(Some("PersistentVolumeClaim"))], &[]), "PersistentVolumeClaim");
        assert_eq!(holds(vec![pod(Some("StatefulSet"))], &[ObjectRef::pod("shop", "q")]), "StatefulSet");
        assert_eq!(holds(vec![pod(None)], &[service]), "Service");
        assert_eq!(holds(vec![pod(Some("StatefulSet"))], &[shop]), "Namespace");
    }

    /// Its agent's findings are not called late, and it has no other alert.
    #[test]
    fn a_lost_node_is_told_however_many_roots_are_older() {
        let mut roots: Vec<Root> = (0..60)
            .map(|number| root(&cause::WEBHOOK_UNAVAILABLE, &format!("webhook {number}"), Verdict::Stuck))
            .collect();
        roots.push(root(&cause::NODE_UNREACHABLE, "Node node-b", Verdict::Stuck));
        roots.push(root(&cause::NODE_SHUT_DOWN, "Node node-c", Verdict::Progressing));
        let (told, left_out) = one_by_one(roots.iter());
        let names: Vec<&str> = told.iter().map(|root| root.finding.root.as_str()).collect();
        assert_eq!((names.len(), left_out), (MAX_ROOTS, 11));
        assert_eq!(names[..2], ["NodeUnreachable:Node node-b", "WebhookUnavailable:webhook 0"]);
        assert_eq!(one_by_one(roots.iter().take(3)).1, 0);
    }
}
