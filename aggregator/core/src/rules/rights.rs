//! Who may change a resource, as Roles and their Bindings say. They never prove that no account may: the API server has
//! other authorizers.

use std::collections::{BTreeMap, BTreeSet};

use crate::rules::phrases::within;
use crate::rules::prelude::*;

const HIDES: &str = "who may remove the finalizer";

const DISCOVERY: &str = "system:discovery";

/// More names of roles are not said.
const MAX_ROLES: usize = 3;

/// Who may change a resource.
pub struct Rights<'r> {
    cut: &'r Cut,
    cluster_roles: BTreeMap<String, Fit>,
    local_roles: BTreeMap<(Option<String>, String), Fit>,
    bound: BTreeSet<String>,
    /// Service accounts that have one of the roles.
    pub accounts: BTreeMap<Account, Fit>,
    /// Users and groups that have: who they are, and whether they run, is not in the cluster.
    pub others: BTreeSet<String>,
}

impl<'r> Rights<'r> {
    /// No account so far.
    pub fn new(cut: &'r Cut) -> Self {
        Rights {
            cut,
            cluster_roles: BTreeMap::new(),
            local_roles: BTreeMap::new(),
            bound: BTreeSet::new(),
            accounts: BTreeMap::new(),
            others: BTreeSet::new(),
        }
    }

    /// In all namespaces.
    pub fn add_cluster_wide(&mut self, case: &mut Case) {
        let roles = case.lister.roles_cut_to(known::CLUSTER_ROLES, &Scope::All, self.cut);
        let roles = case.diagnosis.required(known::CLUSTER_ROLES.plural, HIDES, roles);
        for (role, fit) in roles.iter().flat_map(|roles| roles.iter()) {
            self.cluster_roles.insert(role.metadata.name.clone(), *fit);
        }
        self.bind(case, known::CLUSTER_BINDINGS, &Scope::All);
    }

    /// In single namespaces.
    pub fn add_namespaced(&mut self, case: &mut Case, scope: &Scope) {
        let roles = case.lister.roles_cut_to(known::ROLES, scope, self.cut);
        let roles = case.diagnosis.required(known::ROLES.plural, HIDES, roles);
        for (role, fit) in roles.iter().flat_map(|roles| roles.iter()) {
            self.local_roles.insert((role.metadata.namespace.clone(), role.metadata.name.clone()), *fit);
        }
        if !self.cluster_roles.is_empty() || !self.local_roles.is_empty() {
            self.bind(case, known::BINDINGS, scope);
        }
    }

    fn bind(&mut self, case: &mut Case, known: ApiResource, scope: &Scope) {
        let answer = case.lister.bindings(known, scope);
        let Some(bindings) = case.diagnosis.required(known.plural, HIDES, answer) else { return };
        let cluster_wide = self.cluster_roles.iter().map(|(name, fit)| ((true, None, name.as_str()), *fit));
        let local = self.local_roles.iter().map(|((at, name), fit)| ((false, at.as_deref(), name.as_str()), *fit));
        for (key, fit) in cluster_wide.chain(local) {
            for binding in bindings.get(&key).into_iter().flatten() {
                let role_ref = &binding.role_ref;
                self.bound.insert(role_ref.name.clone());
                for subject in &binding.subjects {
                    match subject.account() {
                        // The controllers of kube-controller-manager may change everything and serve nothing.
                        Some(_) if role_ref.name.starts_with("system:controller:") => {}
                        Some(account) => {
                            let had = self.accounts.entry(account).or_insert(fit);
                            *had = fit.max(*had);
                        }
                        None => {
                            self.others.insert(format!("{} {}", subject.kind, subject.name));
                        }
                    }
                }
            }
        }
    }

    /// Roles that are cut to the resource and that no binding gives to anybody.
    pub fn unbound(&self) -> Vec<String> {
        let cluster_wide = self.cluster_roles.keys().map(|name| (format!("ClusterRole {name}"), name));
        let local = self
            .local_roles
            .keys()
            .map(|(at, name)| (format!("Role {}/{name}", at.as_deref().unwrap_or_default()), name));
        let free = cluster_wide.chain(local).filter(|(_, name)| !self.bound.contains(*name));
        free.map(|(shown, _)| shown).take(MAX_ROLES).collect()
    }
}

/// Accounts besides this one that are bound to a role that grants every change, those of the control plane left out.
/// The lists have been asked for.
pub fn all_powerful(lister: &Lister, besides: Option<&Account>) -> BTreeSet<Account> {
    let roles = lister.list::<Role>(known::CLUSTER_ROLES, Scope::All).seen().unwrap_or_default();
    let roles: Vec<&str> =
        roles.iter().filter(|role| role.grants_all()).map(|role| role.metadata.name.as_str()).collect();
    let bindings = lister.list::<Binding>(known::CLUSTER_BINDINGS, Scope::All).seen().unwrap_or_default();
    let bound = bindings.iter().filter(|binding| roles.contains(&binding.role_ref.name.as_str()));
    let accounts = bound.flat_map(|binding| &binding.subjects).filter_map(|subject| subject.account());
    accounts.filter(|account| account.0 != "kube-system" && Some(account) != besides).collect()
}

/// Whether an account may still do something to an object.
pub enum Permission {
    /// An answer is still out.
    Open,
    /// A role that it is bound to says so.
    Granted,
    /// No role that it is bound to does: why, as far as roles show.
    Not(String),
    /// Some roles are not visible.
    NotTold,
}

/// Reads every binding that counts for this object. Without a name it is any of its kind, and a role for some of them
/// decides nothing. One of the verbs is enough; of the roles only [`CHANGES`] are kept.
pub fn may(case: &mut Case, account: &Account, verbs: &[&str], target: &ObjectRef) -> Permission {
    let Resource { group, plural, .. } = &target.resource;
    let grants = |role: &Role| role.may(verbs, group, plural, &target.name);
    let is_for_some = |role: &&Role| target.name.is_empty() && role.may_by_name(verbs, group, plural);
    let adds = "whether the controller may change the object";
    let Some((roles, bindings)) = cluster_wide(case, adds) else { return not_told(&case.diagnosis) };
    let mut is_partial = roles.iter().any(is_for_some);
    let granting: Vec<&Role> = roles.into_iter().filter(|role| grants(role)).collect();
    // A controller of Kubernetes has a role of its own. Those of administrators and of the control plane are for others.
    let own = format!("system:controller:{}", account.1);
    let is_shown = |role: &&&Role| match granting.iter().any(|role| role.metadata.name == own) {
        true => role.metadata.name == own,
        false => !role.grants_all() && !role.metadata.name.starts_with("system:"),
    };
    let hints = granting.iter().filter(is_shown);
    let mut shown: Vec<String> = hints.map(|role| format!("ClusterRole {}", role.metadata.name)).collect();
    let granting: BTreeSet<&str> = granting.into_iter().map(|role| role.metadata.name.as_str()).collect();
    let is_bound = |binding: &Binding| binding.subjects.iter().any(|subject| subject.includes(account));
    let by_cluster_role =
        |binding: &Binding| binding.role_ref.kind == "ClusterRole" && granting.contains(binding.role_ref.name.as_str());
    if bindings.into_iter().any(|binding| by_cluster_role(binding) && is_bound(binding)) {
        return Permission::Granted;
    }
    if let Some(namespace) = target.namespace.as_deref() {
        let roles = case.lister.list::<Role>(known::ROLES, within(namespace));
        let bindings = case.lister.list::<Binding>(known::BINDINGS, within(namespace));
        let roles = case.diagnosis.optional(format!("roles of {namespace}"), adds, roles);
        let bindings = case.diagnosis.optional(format!("rolebindings of {namespace}"), adds, bindings);
        let (Some(roles), Some(bindings)) = (roles, bindings) else { return not_told(&case.diagnosis) };
        is_partial |= roles.iter().any(is_for_some);
        let local: BTreeSet<&str> =
            roles.into_iter().filter(|role| grants(role)).map(|role| role.metadata.name.as_str()).collect();
        let by_role =
            |binding: &Binding| binding.role_ref.kind == "Role" && local.contains(binding.role_ref.name.as_str());
        let mut bindings = bindings.into_iter();
        if bindings.any(|binding| (by_cluster_role(binding) || by_role(binding)) && is_bound(binding)) {
            return Permission::Granted;
        }
        shown.extend(local.iter().map(|name| format!("Role {namespace}/{name}")));
    }
    if is_partial {
        return not_told(&case.diagnosis);
    }
    shown.truncate(MAX_ROLES);
    Permission::Not(match shown.as_slice() {
        [] => "no role but those of administrators grants it".to_owned(),
        some => format!("no binding gives it {}", some.join(" or ")),
    })
}

/// Whether an account may read what the API server serves. The API server binds all accounts to a role for that.
pub fn may_discover(case: &mut Case, account: &Account) -> Permission {
    let adds = "whether the controller may read API discovery";
    let Some((roles, bindings)) = cluster_wide(case, adds) else { return not_told(&case.diagnosis) };
    let all: BTreeSet<&str> =
        roles.into_iter().filter(|role| role.grants_all()).map(|role| role.metadata.name.as_str()).collect();
    let is_enough = |role: &str| role == DISCOVERY || all.contains(role);
    let is_bound = |binding: &Binding| binding.subjects.iter().any(|subject| subject.includes(account));
    match bindings.into_iter().any(|binding| is_enough(&binding.role_ref.name) && is_bound(binding)) {
        true => Permission::Granted,
        false => Permission::Not(format!("no binding gives it ClusterRole {DISCOVERY}")),
    }
}

/// The ClusterRoles and their bindings, where they are visible and RBAC decides: then the API server makes roles of its own.
fn cluster_wide<'a>(case: &mut Case<'_, 'a>, adds: &str) -> Option<(Vec<&'a Role>, Vec<&'a Binding>)> {
    let roles = case.lister.list::<Role>(known::CLUSTER_ROLES, Scope::All);
    let bindings = case.lister.list::<Binding>(known::CLUSTER_BINDINGS, Scope::All);
    let roles = case.diagnosis.optional(known::CLUSTER_ROLES.plural, adds, roles);
    let bindings = case.diagnosis.optional(known::CLUSTER_BINDINGS.plural, adds, bindings);
    let (roles, bindings) = (roles?, bindings?);
    let decides = roles.iter().any(|role| role.metadata.name.starts_with("system:controller:"));
    decides.then_some((roles, bindings))
}

fn not_told(diagnosis: &Diagnosis) -> Permission {
    if diagnosis.pending { Permission::Open } else { Permission::NotTold }
}
