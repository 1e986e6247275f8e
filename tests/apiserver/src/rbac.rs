//! What the project's programs may do: no more than the chart grants them.
//!
//! `rights.json` is written by `tests/chart/run.sh --write` from what the chart renders. The User-Agent identifies the
//! component; any other client (kubectl, a test) may do everything. The rights in use go to the file that `RIGHTS_USED`
//! names, and [`unused`] lists which of the chart's rules were never needed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::{LazyLock, Mutex, PoisonError};

use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;

use crate::{attributes::Attributes, status::Status};

/// The file to which each right that was used, or refused, is added, once for each process.
pub const USED: &str = "RIGHTS_USED";

/// Stands for the groups of a user's own kinds, which the chart wants to have named (`aggregator.rbac.groups`).
const OWN_GROUPS: &str = "own-kinds.example.com";

/// Groups of the API server that hold nothing to ask for.
const INTERNAL: [&str; 2] = ["internal.apiserver.k8s.io", "storagemigration.k8s.io"];

/// Rights that a person has or has not, and that nothing of the project grants. See docs/security.md.
const OF_THE_CALLER: [(&str, &str, &str); 7] = [
    // `--all-kinds`
    ("kubectl-why_terminating", "list", "secrets"),
    // `secret/NAME`
    ("kubectl-why_terminating", "get", "secrets"),
    // `--live`
    ("kubectl-why_terminating", "get", "pods/exec"),
    // `--on-node`
    ("kubectl-why_terminating", "create", "pods"),
    ("kubectl-why_terminating", "delete", "pods"),
    ("kubectl-why_terminating", "get", "pods/log"),
    // `--kubelet-log`
    ("kubectl-why_terminating", "get", "nodes/proxy"),
];

/// How a line ends of what was asked for in vain.
const REFUSED: &str = " (refused)";

/// What `tests/apiserver/tests/fake/rights.rs` tries, to see it refused.
const TRIED: [&str; 4] = [
    "why-terminating-agent: get secrets",
    "why-terminating-test: delete pods",
    // `wait` queries again where it may not watch, as of kinds that the role only lists (aggregator/plugin/tests/cluster/recipes.rs).
    "kubectl-why_terminating: watch applications.argoproj.io",
    "kubectl-why_terminating: watch kustomizations.kustomize.toolkit.fluxcd.io",
];

/// What no test uses on this server, each with the reason.
const NOT_STAGED: [(&str, &str); 1] =
    [("why-terminating-agent: get nodes/metrics", "it is asked of the kubelet, which asks an API server for it")];

/// The rules of one role.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Role {
    /// Where it is bound; `None` in the whole cluster.
    namespace: Option<String>,
    rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Rule {
    api_groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
    #[serde(default)]
    resource_names: Vec<String>,
}

static GRANTED: LazyLock<BTreeMap<String, Vec<Role>>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../rights.json")).unwrap_or_default());

/// The program that asks, if it is one of the project's.
pub(crate) fn program(user_agent: &str) -> Option<&'static str> {
    let name = user_agent.split('/').next().unwrap_or_default();
    GRANTED.get_key_value(name).map(|(program, _)| program.as_str())
}

/// Refuses what the chart does not grant to `program`.
pub(crate) fn check(program: &str, asked: &Attributes) -> Result<(), Status> {
    let roles = GRANTED.get(program).map(Vec::as_slice).unwrap_or_default();
    match roles.iter().find_map(|role| role.grants(asked, roles)) {
        Some(right) => {
            note(&format!("{program}: {right}"));
            Ok(())
        }
        None if OF_THE_CALLER.contains(&(program, asked.verb, &asked.resource)) && asked.group.is_empty() => Ok(()),
        None => {
            let right = right(asked.verb, &asked.group, &asked.resource, None);
            // A scan of every kind lists these too, and reports them as not scanned.
            if !INTERNAL.contains(&asked.group.as_str()) {
                note(&format!("{program}: {right}{REFUSED}"));
            }
            Err(Status::forbidden_by_rbac(asked))
        }
    }
}

impl Role {
    /// The right that allows it.
    fn grants(&self, asked: &Attributes, all: &[Role]) -> Option<String> {
        if self.namespace.is_some() && self.namespace != asked.namespace {
            return None;
        }
        self.rules.iter().find_map(|rule| rule.grants(asked, all).map(|right| self.placed(&right)))
    }

    fn placed(&self, right: &str) -> String {
        match &self.namespace {
            Some(namespace) => format!("{right} in {namespace}"),
            None => right.to_owned(),
        }
    }

    /// All that it grants.
    fn rights(&self) -> impl Iterator<Item = String> {
        self.rules.iter().flat_map(Rule::rights).map(|right| self.placed(&right))
    }
}

impl Rule {
    fn grants(&self, asked: &Attributes, all: &[Role]) -> Option<String> {
        let group = self.api_groups.iter().find(|group| match group.as_str() {
            OWN_GROUPS => is_own(&asked.group, all),
            group => group == asked.group,
        })?;
        // "*" holds the subresources, too.
        let resource = self.resources.iter().find(|resource| *resource == "*" || **resource == asked.resource)?;
        let verb = self.verbs.iter().find(|verb| **verb == asked.verb)?;
        let name = match self.resource_names.as_slice() {
            [] => None,
            names => Some(names.iter().find(|name| **name == asked.name)?.as_str()),
        };
        Some(right(verb, group, resource, name))
    }

    fn rights(&self) -> Vec<String> {
        let names: Vec<Option<&str>> = match self.resource_names.as_slice() {
            [] => vec![None],
            names => names.iter().map(|name| Some(name.as_str())).collect(),
        };
        let mut rights = Vec::new();
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    rights.extend(names.iter().map(|name| right(verb, group, resource, *name)));
                }
            }
        }
        rights
    }
}

/// Whether a group is a user's own: no other rule names it.
fn is_own(group: &str, all: &[Role]) -> bool {
    let is_named = |rule: &Rule| rule.api_groups.iter().any(|named| named == group);
    group.contains('.') && !INTERNAL.contains(&group) && !all.iter().flat_map(|role| &role.rules).any(is_named)
}

/// `get leases.coordination.k8s.io/NAME`
fn right(verb: &str, group: &str, resource: &str, name: Option<&str>) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    let name = name.map(|name| format!("/{name}")).unwrap_or_default();
    format!("{verb} {resource}{dot}{group}{name}")
}

/// Refuses requests to what else answers beside the fake.
pub fn guarded<S: Clone + Send + Sync + 'static>(router: axum::Router<S>) -> axum::Router<S> {
    router.layer(middleware::from_fn(guard))
}

async fn guard(request: Request, next: Next) -> Response {
    let agent = request.headers().get(axum::http::header::USER_AGENT).and_then(|value| value.to_str().ok());
    let asked = Attributes::of(request.method(), request.uri().path(), &HashMap::new());
    match agent.and_then(program).zip(asked).map_or(Ok(()), |(program, asked)| check(program, &asked)) {
        Ok(()) => next.run(request).await,
        Err(status) => (axum::http::StatusCode::FORBIDDEN, status.object().to_string()).into_response(),
    }
}

/// Adds a right that was used to the file, once.
fn note(right: &str) {
    static NOTED: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);
    let Some(file) = std::env::var_os(USED) else { return };
    if !NOTED.lock().unwrap_or_else(PoisonError::into_inner).insert(right.to_owned()) {
        return;
    }
    // One write: other processes add to it, too.
    let written = OpenOptions::new().create(true).append(true).open(&file);
    if let Err(error) = written.and_then(|mut file| file.write_all(format!("{right}\n").as_bytes())) {
        eprintln!("{}: {error}", file.display());
    }
}

/// What is wrong between the rights that the chart grants and those that were used, one line each.
pub fn differences(used: &str) -> Vec<String> {
    let used: BTreeSet<&str> = used.lines().collect();
    let granted: BTreeSet<String> = GRANTED
        .iter()
        .flat_map(|(program, roles)| {
            roles.iter().flat_map(Role::rights).map(move |right| format!("{program}: {right}"))
        })
        .collect();
    let reason = |right: &str| NOT_STAGED.iter().any(|(known, _)| *known == right);
    let refused = used.iter().filter_map(|line| line.strip_suffix(REFUSED));
    let unused = granted.iter().filter(|right| !used.contains(right.as_str()) && !reason(right));
    let idle = NOT_STAGED.iter().filter(|(known, _)| !granted.contains(*known) || used.contains(*known));
    refused
        .filter(|right| !TRIED.contains(right))
        .map(|right| format!("{right}: asked for, and not granted"))
        .chain(unused.map(|right| format!("{right}: granted, and no test has used it")))
        .chain(idle.map(|(known, _)| format!("{known}: has a reason not to be used, and was used or is not granted")))
        .collect()
}
