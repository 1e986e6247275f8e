//! Who serves a custom resource: whoever has been granted to change it by name, and the workload
//! that runs as this account.

use std::collections::BTreeSet;

use crate::diagnosis::Diagnosis;
use crate::lister::Lister;
use crate::state::*;

/// What runs as a service account.
pub const WORKLOADS: [Known; 3] = [known::DEPLOYMENTS, known::STATEFUL_SETS, known::DAEMON_SETS];

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
        target: ObjectRef,
        /// How it stands.
        object: &'a Workload,
    },
}

/// More namespaces than these are cheaper to list all at once.
const MOST_NAMESPACES: usize = 5;

/// Looks for the workload that serves the kind of `thing`; one with ready pods is preferred.
pub fn of<'a>(lister: &Lister<'a>, diagnosis: &mut Diagnosis, target: &ObjectRef) -> Controller<'a> {
    let blind = diagnosis.unknown.len();
    let mut rights = Rights { cluster_roles: Vec::new(), local_roles: Vec::new(), accounts: Vec::new() };
    rights.of_cluster(lister, diagnosis, &target.resource);
    let mut workloads = workloads(lister, diagnosis, &rights.accounts);
    let is_served = |workloads: &[(_, &Workload)]| workloads.iter().any(|(_, object)| object.ready() > 0);
    if let (false, false, Some(own)) = (diagnosis.pending, is_served(&workloads), &target.namespace) {
        rights.within(lister, diagnosis, &target.resource, Scope::Namespace(own.clone()));
        workloads = self::workloads(lister, diagnosis, &rights.accounts);
    }
    // Roles are many in a large cluster. Those of the object's own namespace may have been deleted before it;
    // the same of other namespaces then still tell.
    if !diagnosis.pending && workloads.is_empty() && target.namespace.is_some() {
        rights.within(lister, diagnosis, &target.resource, Scope::All);
        workloads = self::workloads(lister, diagnosis, &rights.accounts);
    }
    match (diagnosis.pending, workloads.into_iter().max_by_key(|(_, object)| object.ready()), rights.accounts.first()) {
        (true, ..) => Controller::Open,
        (_, Some((target, object)), _) => Controller::Workload { target, object },
        _ if diagnosis.unknown.len() > blind => Controller::NotVisible,
        (_, None, Some((namespace, account))) => {
            Controller::Account { account: account.clone(), namespace: namespace.clone() }
        }
        (_, None, None) => Controller::Nobody { may_all: all_powerful(lister) },
    }
}

const HIDES: &str = "who may take the finalizer off";

/// Who may change a resource.
struct Rights {
    /// Roles that say so, by name.
    cluster_roles: Vec<String>,
    /// The same of namespaces: (namespace, name).
    local_roles: Vec<(Option<String>, String)>,
    /// Service accounts that are bound to one of them: (namespace, name).
    accounts: Vec<(String, String)>,
}

impl Rights {
    /// In all namespaces.
    fn of_cluster(&mut self, lister: &Lister, diagnosis: &mut Diagnosis, resource: &Resource) {
        let roles = naming(lister, diagnosis, known::CLUSTER_ROLES, resource, Scope::All);
        self.cluster_roles = roles.map(|role| role.metadata.name.clone()).collect();
        self.bind(lister, diagnosis, known::CLUSTER_BINDINGS, Scope::All);
    }

    /// In single namespaces.
    fn within(&mut self, lister: &Lister, diagnosis: &mut Diagnosis, resource: &Resource, scope: Scope) {
        let roles = naming(lister, diagnosis, known::ROLES, resource, scope.clone());
        self.local_roles = roles.map(|role| (role.metadata.namespace.clone(), role.metadata.name.clone())).collect();
        if !self.cluster_roles.is_empty() || !self.local_roles.is_empty() {
            self.bind(lister, diagnosis, known::BINDINGS, scope);
        }
    }

    fn bind(&mut self, lister: &Lister, diagnosis: &mut Diagnosis, known: Known, scope: Scope) {
        let answer = lister.list::<Binding>(known, scope);
        for binding in diagnosis.required(known.plural, HIDES, answer).unwrap_or_default() {
            let Binding { role_ref, subjects, metadata } = binding;
            let is_named = if role_ref.kind == "ClusterRole" {
                self.cluster_roles.contains(&role_ref.name)
            } else {
                self.local_roles.iter().any(|(at, name)| *at == metadata.namespace && *name == role_ref.name)
            };
            let accounts = subjects.iter().filter(|subject| is_named && subject.kind == "ServiceAccount");
            self.accounts.extend(accounts.map(|account| (account.namespace.clone(), account.name.clone())));
        }
        // The garbage collector and the namespace controller may change everything and serve nothing.
        self.accounts.retain(|(namespace, name)| namespace != "kube-system" || !name.ends_with("-controller"));
        self.accounts.sort_unstable();
        self.accounts.dedup();
    }
}

/// Roles that name the resource or its finalizers.
fn naming<'a>(
    lister: &Lister<'a>,
    diagnosis: &mut Diagnosis,
    known: Known,
    resource: &Resource,
    scope: Scope,
) -> impl Iterator<Item = &'a Role> {
    let answer = lister.list::<Role>(known, scope);
    let all = diagnosis.required(known.plural, HIDES, answer).unwrap_or_default();
    all.into_iter().filter(|role| role.names_finalizers_of(&resource.group, &resource.plural))
}

/// Accounts bound to a role that grants every change, those of the control plane left out. The lists
/// have been asked for.
fn all_powerful(lister: &Lister) -> Vec<String> {
    let roles = lister.list::<Role>(known::CLUSTER_ROLES, Scope::All).seen().unwrap_or_default();
    let roles: Vec<&str> =
        roles.iter().filter(|role| role.grants_all()).map(|role| role.metadata.name.as_str()).collect();
    let bindings = lister.list::<Binding>(known::CLUSTER_BINDINGS, Scope::All).seen().unwrap_or_default();
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

/// What runs as one of these accounts.
fn workloads<'a>(
    lister: &Lister<'a>,
    diagnosis: &mut Diagnosis,
    accounts: &[(String, String)],
) -> Vec<(ObjectRef, &'a Workload)> {
    let namespaces: BTreeSet<&String> = accounts.iter().map(|(namespace, _)| namespace).collect();
    let scopes = if namespaces.len() > MOST_NAMESPACES {
        vec![Scope::All]
    } else {
        namespaces.into_iter().cloned().map(Scope::Namespace).collect()
    };
    let mut found = Vec::new();
    for known in WORKLOADS {
        // Operators are Deployments, mostly. When nothing of theirs is ready, one list of pods says whether
        // anything else is worth looking for.
        let is_served = found.iter().any(|(_, object): &(_, &Workload)| object.ready() > 0);
        if diagnosis.pending
            || is_served
            || (!found.is_empty() && !anything_may_run(lister, diagnosis, accounts, &scopes))
        {
            break;
        }
        let answers = scopes.iter().map(|scope| lister.list::<Workload>(known, scope.clone())).collect::<Vec<_>>();
        let see = |answer| diagnosis.required(known.plural, "whether the controller runs", answer).unwrap_or_default();
        for workload in answers.into_iter().flat_map(see) {
            let namespace = workload.metadata.namespace.as_deref().unwrap_or_default();
            if is_one_of(accounts, namespace, &workload.spec.template.spec.service_account_name) {
                found.push((ObjectRef::namespaced(known, namespace, &workload.metadata.name), workload));
            }
        }
    }
    found
}

fn is_one_of(accounts: &[(String, String)], namespace: &str, account: &str) -> bool {
    let account = if account.is_empty() { "default" } else { account };
    accounts.iter().any(|(at, name)| at == namespace && name == account)
}

/// Whether there is a pod of one of these accounts, or that cannot be seen. The pods of a whole cluster are not
/// asked for.
fn anything_may_run(
    lister: &Lister,
    diagnosis: &mut Diagnosis,
    accounts: &[(String, String)],
    scopes: &[Scope],
) -> bool {
    let is_one = |pod: &&Pod| {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        is_one_of(accounts, namespace, &pod.spec.service_account_name)
            && !matches!(pod.status.phase.as_str(), "Succeeded" | "Failed")
    };
    scopes.iter().any(|scope| match scope {
        Scope::All | Scope::Named(..) => true,
        Scope::Namespace(_) => match lister.list::<Pod>(known::PODS, scope.clone()) {
            Answer::Seen(pods) => pods.iter().any(is_one),
            Answer::Unasked => {
                diagnosis.pending = true;
                false
            }
            Answer::Missing | Answer::Failed(_) => true,
        },
    })
}
