//! A recorded cluster, asked by the same code as a real one.

mod agent_event;
mod agent_findings;
mod build;
mod conditional_steps;
mod contradictions;
mod counts;
mod incremental;
mod pages;
mod product;
mod reports;
mod world;

use std::path::{Path, PathBuf};

use aggregator_core::engine::next_questions;
use aggregator_core::judgement::judge;
use aggregator_core::report::ClusterReport;
use aggregator_core::state::{State, Subject};
use apiserver::Store;
use client::{BoundedClient, Bounds, answer, gather};
use kube::Client;

pub use findings::{Confidence, Verdict};
pub use serde_json::{Value, json};

pub use agent_event::AgentEventFixture;
pub use agent_findings::*;
pub use build::*;
pub use product::*;
pub use world::World;

/// Whose rights are enforced. The service asks what the plugin asks when nothing is named.
fn asked_by(subject: &Subject) -> &'static [&'static str] {
    match subject {
        Subject::Everything { namespace: None, all_kinds: false } => {
            &["kubectl-why_terminating", "why-terminating-aggregator"]
        }
        _ => &["kubectl-why_terminating"],
    }
}

/// The recording of this name.
pub fn recording(name: &str) -> World {
    World::load(&folder(name))
}

/// A healthy cluster without anything stuck.
/// With roles that an API server makes where RBAC decides.
pub fn healthy() -> World {
    let account = |name| json!([{"kind": "ServiceAccount", "namespace": "kube-system", "name": name}]);
    recording("baseline")
        .grants(NAMESPACE_CONTROLLER_ROLE, &[""], &["namespaces/status"], &["update"], account("namespace-controller"))
        .grants(
            "system:discovery",
            &[""],
            &["pods"],
            &["get"],
            json!([{"kind": "Group", "name": "system:authenticated"}]),
        )
        .grants(GARBAGE_COLLECTOR_ROLE, &["*"], &["*"], &["update", "patch"], account("generic-garbage-collector"))
}

pub const GARBAGE_COLLECTOR_ROLE: &str = "system:controller:generic-garbage-collector";
pub const NAMESPACE_CONTROLLER_ROLE: &str = "system:controller:namespace-controller";

pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recordings").join(name)
}

pub fn everything() -> Subject {
    Subject::Everything { namespace: None, all_kinds: false }
}

pub fn object(word: &str, namespace: &str, name: &str) -> Subject {
    Subject::Object { word: word.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() }
}

/// What was asked, and what came of it.
#[derive(Debug)]
pub struct Looked {
    pub state: State,
    pub report: ClusterReport,
    pub requests: Vec<String>,
    /// The first pages of the scan of every kind.
    pub scan_requests: Vec<String>,
}

/// Asks and judges, and finds every step filled that its entry promises.
pub fn look(world: World, subject: Subject) -> Looked {
    let looked = look_at_anything(world, subject);
    // What an agent says is filled by the agent, as far as it can be believed.
    for finding in looked.report.roots.iter().filter(|root| root.told_by.is_none()).map(|root| &root.finding) {
        assert_eq!(finding.lacks(), [""; 0], "{}: a step is not filled, and its entry promises it", finding.cause.id);
    }
    looked
}

/// The same in a cluster whose names may have characters that no command takes.
pub fn look_at_anything(world: World, subject: Subject) -> Looked {
    look_with(world, subject, |_| {})
}

/// The same, when the answers come in an order that the seed gives: one is heard, and what it brings up is asked beside
/// what is still open.
pub fn look_in_order(world: World, subject: Subject, seed: u64) -> ClusterReport {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let asked_by = asked_by(&subject);
    let mut state = State::new(subject, world.at);
    let dir = tempfile::tempdir().unwrap();
    world.write(dir.path());
    let store = Store::new(dir.path()).with_recording(dir.path()).asked_by(asked_by);
    let client = apiserver::service(&store, apiserver::VERSION).unwrap();
    runtime.block_on(async {
        let client = Client::new(client, "default");
        let server = BoundedClient::new(&client, Bounds::default());
        let first = |state: &State| next_questions(state).into_iter().min_by_key(|one| world::seeded(seed, one));
        while let Some(question) = first(&state) {
            let answered = answer(&server, question).await;
            state.add(answered);
        }
    });
    judge(&state)
}

/// The same, after the state was changed.
pub fn look_with(world: World, subject: Subject, change: impl FnOnce(&mut State)) -> Looked {
    look_within(world, subject, Bounds::default(), change)
}

/// The same with other limits.
pub fn look_within(world: World, subject: Subject, bounds: Bounds, change: impl FnOnce(&mut State)) -> Looked {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let asked_by = asked_by(&subject);
    let mut state = State::new(subject, world.at);
    change(&mut state);
    let dir = tempfile::tempdir().unwrap();
    world.write(dir.path());
    let store = Store::new(dir.path()).with_recording(dir.path()).asked_by(asked_by);
    let server = apiserver::service(&store, apiserver::VERSION).unwrap();
    runtime.block_on(async {
        let client = Client::new(server, "default");
        gather(&client, &mut state, bounds, |_, _| {}).await;
    });
    let report = judge(&state);
    incremental::assert_same_as_judged_anew(&state, &report);
    contradictions::has_none(&report);
    counts::agree(&report);
    pages::is_as_kept(&report);
    conditional_steps::note(&report);
    let (scan_requests, requests) = requests(&store).into_iter().partition(|path| is_of_scan(path));
    let looked = Looked { state, report, requests, scan_requests };
    for command in looked.commands() {
        let destroys = ["delete namespace", "delete crd", "--force", "patch", "--grace-period"];
        let is_guarded = command.contains(r#"--type=json -p '[{"op":"test","path":"/metadata/uid","#);
        assert!(is_guarded || !destroys.iter().any(|word| command.contains(word)), "{command}");
    }
    looked
}

/// Pods are always listed in their own ways.
pub fn is_of_scan(path: &str) -> bool {
    path.ends_with("?limit=500") && !path.ends_with("/pods?limit=500")
}

/// What was asked, with the query.
pub fn requests(store: &Store) -> Vec<String> {
    let all = store.requests().unwrap();
    assert!(all.iter().all(|request| matches!(request.verb.as_str(), "get" | "list")), "only reading: {all:#?}");
    let is_bounded = |request: &&apiserver::Request| request.verb == "get" || request.query.contains("limit=");
    assert!(all.iter().all(|request| is_bounded(&request)), "a list without a limit: {all:#?}");
    let query = |query: &str| if query.is_empty() { String::new() } else { format!("?{query}") };
    all.into_iter().map(|request| request.path + &query(&request.query)).collect()
}

impl Looked {
    /// The ids of the causes, in the order of the report; then those of what terminates normally, each once.
    pub fn causes(&self) -> Vec<&'static str> {
        let mut normal: Vec<&str> = self.report.terminating_normally.iter().map(|one| one.cause.id).collect();
        normal.dedup();
        self.report.roots.iter().map(|root| root.finding.cause.id).chain(normal).collect()
    }

    /// The ids of the causes of all explanations of the roots, sorted.
    pub fn explanations(&self) -> Vec<&'static str> {
        let all = self.report.roots.iter().flat_map(|root| root.also.iter().chain([&root.finding]));
        let mut causes: Vec<&str> = all.map(|finding| finding.cause.id).collect();
        causes.sort_unstable();
        causes
    }

    /// `subject: state` of each link of a root's chain; after the roots, of what terminates normally and what it waits for.
    pub fn chain(&self, root: usize) -> Vec<String> {
        let words = |link: &findings::Link| format!("{}: {}", link.subject, link.state);
        if let Some(root) = self.report.roots.get(root) {
            return root.finding.chain.iter().map(words).collect();
        }
        let one = &self.report.terminating_normally[root - self.report.roots.len()];
        let own = format!("{}: {}", one.held.thing, one.held.words);
        [own].into_iter().chain(one.waits_for.as_ref().map(words)).collect()
    }

    /// The victims of a root.
    pub fn victims(&self, root: usize) -> Vec<String> {
        self.report.roots[root].victims.iter().map(|victim| victim.held.thing.to_string()).collect()
    }

    /// Every command the remedies name.
    pub fn commands(&self) -> Vec<String> {
        let steps = self.report.roots.iter().flat_map(|root| &root.finding.remedy.steps);
        steps.filter_map(|step| step.command.clone()).collect()
    }
}

/// The agent's check of a pod of node-a, where no agent runs.
pub fn check_once(pod: &str) -> String {
    format!(
        "kubectl -n kube-system debug node/node-a -it --profile=sysadmin --image={} -- /why-terminating-agent check --pod {pod}",
        findings::agent_image()
    )
}

impl Looked {
    /// That the chain has these links; each may go on.
    pub fn assert_chain(&self, root: usize, expected: &[&str]) {
        let chain = self.chain(root);
        let fits =
            chain.len() == expected.len() && chain.iter().zip(expected).all(|(link, start)| link.starts_with(start));
        assert!(fits, "{chain:#?}");
        assert!(self.report.roots.get(root).is_none_or(|root| root.finding.chain.last().unwrap().root));
    }
}
