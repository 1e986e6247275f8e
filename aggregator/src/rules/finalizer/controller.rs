//! Who serves a custom resource: whoever has been granted to change it by name, and the workload
//! that runs as this account.

use crate::graph::{Standing, View};
use crate::state::*;

/// What runs as a service account.
pub const WORKLOADS: [(&str, Known); 3] =
    [("Deployment", known::DEPLOYMENTS), ("StatefulSet", known::STATEFUL_SETS), ("DaemonSet", known::DAEMON_SETS)];

/// Who may take finalizers off a resource.
pub enum Controller<'a> {
    /// An answer is still out.
    Open,
    /// Roles or workloads are not visible to us.
    NotVisible,
    /// No role names the resource.
    Nobody {
        /// Service accounts that may change everything, which tells nothing of this resource.
        may_all: Vec<String>,
    },
    /// An account may, and nothing runs as it.
    Account {
        /// Its name.
        account: String,
        /// Its namespace.
        namespace: String,
    },
    /// This workload.
    Workload {
        /// Which.
        thing: Thing,
        /// How it stands.
        object: &'a Workload,
    },
}

/// Looks for the workload that serves `resource`; one with ready pods is preferred.
pub fn of<'a>(view: &View<'a>, standing: &mut Standing, resource: &Resource) -> Controller<'a> {
    let blind = standing.unknown.len();
    let accounts = accounts(view, standing, resource);
    if standing.open {
        return Controller::Open;
    }
    let workloads = if accounts.is_empty() { Vec::new() } else { workloads(view, standing, &accounts) };
    match (standing.open, workloads.into_iter().max_by_key(|(_, object)| object.ready()), accounts.first()) {
        (true, ..) => Controller::Open,
        (_, Some((thing, object)), _) => Controller::Workload { thing, object },
        _ if standing.unknown.len() > blind => Controller::NotVisible,
        (_, None, Some((namespace, account))) => {
            Controller::Account { account: account.clone(), namespace: namespace.clone() }
        }
        (_, None, None) => Controller::Nobody { may_all: all_powerful(view) },
    }
}

/// Service accounts that some role lets change the resource: (namespace, name).
fn accounts(view: &View, standing: &mut Standing, resource: &Resource) -> Vec<(String, String)> {
    let hides = "who may take the finalizer off";
    let mut roles = |known: Known| {
        let answer = view.list::<Role>(known, Scope::All);
        let all = standing.see(known.plural, hides, answer).unwrap_or_default();
        let naming = all.into_iter().filter(|role| role.names_finalizers_of(&resource.group, &resource.plural));
        naming.map(|role| (role.metadata.namespace.clone(), role.metadata.name.clone())).collect::<Vec<_>>()
    };
    let cluster_roles = roles(known::CLUSTER_ROLES);
    let local_roles = roles(known::ROLES);
    let mut found = Vec::new();
    for known in [known::CLUSTER_BINDINGS, known::BINDINGS] {
        let answer = view.list::<Binding>(known, Scope::All);
        for binding in standing.see(known.plural, hides, answer).unwrap_or_default() {
            let named = if binding.role_ref.kind == "ClusterRole" {
                cluster_roles.iter().any(|(_, name)| *name == binding.role_ref.name)
            } else {
                local_roles
                    .iter()
                    .any(|(namespace, name)| *namespace == binding.metadata.namespace && *name == binding.role_ref.name)
            };
            let accounts = binding.subjects.iter().filter(|subject| subject.kind == "ServiceAccount");
            if named {
                found.extend(accounts.map(|account| (account.namespace.clone(), account.name.clone())));
            }
        }
    }
    // The garbage collector and the namespace controller may change everything and serve nothing.
    found.retain(|(namespace, name)| namespace != "kube-system" || !name.ends_with("-controller"));
    found.sort_unstable();
    found.dedup();
    found
}

/// Accounts bound to a role that grants every change, those of the control plane left out. The lists
/// have been asked for.
fn all_powerful(view: &View) -> Vec<String> {
    let roles = view.list::<Role>(known::CLUSTER_ROLES, Scope::All).seen().unwrap_or_default();
    let roles: Vec<&str> =
        roles.iter().filter(|role| role.grants_all()).map(|role| role.metadata.name.as_str()).collect();
    let bindings = view.list::<Binding>(known::CLUSTER_BINDINGS, Scope::All).seen().unwrap_or_default();
    let bound = bindings.iter().filter(|binding| roles.contains(&binding.role_ref.name.as_str()));
    let mut found: Vec<String> = bound
        .flat_map(|binding| &binding.subjects)
        .filter(|subject| subject.kind == "ServiceAccount" && subject.namespace != "kube-system")
        .map(|subject| format!("{}/{}", subject.namespace, subject.name))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn workloads<'a>(
    view: &View<'a>,
    standing: &mut Standing,
    accounts: &[(String, String)],
) -> Vec<(Thing, &'a Workload)> {
    let mut found = Vec::new();
    for (kind, known) in WORKLOADS {
        let answer = view.list::<Workload>(known, Scope::All);
        for workload in standing.see(known.plural, "whether the controller runs", answer).unwrap_or_default() {
            let namespace = workload.metadata.namespace.as_deref().unwrap_or_default();
            let account = match workload.spec.template.spec.service_account_name.as_str() {
                "" => "default",
                account => account,
            };
            if accounts.iter().any(|(at, name)| at == namespace && name == account) {
                found.push((Thing::namespaced(kind, known, namespace, &workload.metadata.name), workload));
            }
        }
    }
    found
}
