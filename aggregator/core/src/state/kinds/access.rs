//! Who may do what: RBAC.

use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize};

use super::{Meta, Nothing, lite};

/// The verbs that take a finalizer off. They are two rights: a role may grant only one of them.
pub const CHANGES: &[&str] = &["update", "patch"];

lite! {
    /// A Role or ClusterRole.
    Role {
        metadata: Meta,
        /// What it grants to change.
        rules: Grants,
        /// Whether its rules are collected from other roles.
        aggregation_rule: Option<Nothing>,
    }

    /// One rule of a role.
    Grant {
        api_groups: Box<[String]>,
        resources: Box<[String]>,
        /// On which objects; empty for all.
        resource_names: Box<[String]>,
        verbs: Box<[String]>,
    }
}

/// Rules of a role without those that change nothing: of ten thousand roles most only read.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Grants(Box<[Grant]>);

impl Deref for Grants {
    type Target = [Grant];

    fn deref(&self) -> &[Grant] {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Grants {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut all = Vec::<Grant>::deserialize(deserializer)?;
        all.retain(Grant::writes);
        Ok(Grants(all.into_boxed_slice()))
    }
}

/// How closely a role is cut to a resource: the closer, the likelier is it that of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Its rules are collected from other roles, or into those of people: it is cut to no program.
    Collected,
    /// It grants every resource of the group.
    Group,
    /// It names the resource, as the roles of people and of their jobs do.
    Resource,
    /// It names the resource's finalizers or status too, verb by verb, as the roles of controllers do.
    Controller,
}

/// What a role is cut to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cut {
    pub groups: Vec<String>,
    /// And of them this resource, or every one.
    pub plural: Option<String>,
}

impl Cut {
    /// How closely a role is cut to it.
    pub fn fit(&self, role: &Role) -> Option<Fit> {
        self.groups.iter().filter_map(|group| role.fit(group, self.plural.as_deref())).max()
    }
}

impl Role {
    /// Whether it grants changing everything.
    pub fn grants_all(&self) -> bool {
        self.rules.iter().any(|grant| grant.writes() && is_any(&grant.api_groups) && is_any(&grant.resources))
    }

    /// How closely it is cut to a controller of a resource of this group; one that names no group is an administrator's.
    /// Without a plural every resource of the group counts.
    pub fn fit(&self, group: &str, plural: Option<&str>) -> Option<Fit> {
        let fit = self.rules.iter().filter_map(|grant| grant.fit(group, plural)).max();
        // `admin` and `edit`, and what is aggregated into them, are people's.
        let is_for_people = self.aggregation_rule.is_some()
            || self.metadata.labels.keys().any(|name| name.starts_with("rbac.authorization.k8s.io/aggregate-to-"));
        fit.map(|fit| if is_for_people { Fit::Collected } else { fit })
    }

    /// Whether it grants one of these verbs on this very object.
    pub fn may(&self, verbs: &[&str], group: &str, plural: &str, name: &str) -> bool {
        self.rules.iter().any(|grant| {
            let is_of_name = grant.resource_names.is_empty() || grant.resource_names.iter().any(|one| one == name);
            grant.grants(verbs, group, plural) && is_of_name
        })
    }

    /// Whether it grants one of them on some objects of this resource, by their names.
    pub fn may_by_name(&self, verbs: &[&str], group: &str, plural: &str) -> bool {
        self.rules.iter().any(|grant| grant.grants(verbs, group, plural) && !grant.resource_names.is_empty())
    }
}

impl Grant {
    fn writes(&self) -> bool {
        CHANGES.iter().any(|verb| has(&self.verbs, verb))
    }

    fn grants(&self, verbs: &[&str], group: &str, plural: &str) -> bool {
        verbs.iter().any(|verb| has(&self.verbs, verb)) && has(&self.api_groups, group) && has(&self.resources, plural)
    }

    fn fit(&self, group: &str, plural: Option<&str>) -> Option<Fit> {
        if !self.writes() || !self.api_groups.iter().any(|granted| granted == group) {
            return None;
        }
        let is_named = |granted: &str| plural.map_or(granted != "*", |plural| granted == plural);
        let is_part = |granted: &&String| {
            let (of, part) = granted.split_once('/').unwrap_or((granted, ""));
            is_named(of) && matches!(part, "finalizers" | "status")
        };
        if self.resources.iter().any(|granted| is_part(&granted)) {
            return Some(if is_any(&self.verbs) { Fit::Resource } else { Fit::Controller });
        }
        if self.resources.iter().any(|granted| is_named(granted)) {
            return Some(Fit::Resource);
        }
        (is_any(&self.resources) && !group.is_empty()).then_some(Fit::Group)
    }
}

fn is_any(list: &[String]) -> bool {
    list.iter().any(|one| one == "*")
}

fn has(list: &[String], wanted: &str) -> bool {
    is_any(list) || list.iter().any(|one| one == wanted)
}

lite! {
    /// A RoleBinding or ClusterRoleBinding.
    Binding {
        metadata: Meta,
        role_ref: RoleRef,
        subjects: Box<[Subject]>,
    }

    RoleRef {
        /// `Role` or `ClusterRole`.
        kind: String,
        name: String,
    }

    /// Names an account or a group.
    Subject {
        /// `ServiceAccount`, `User`, `Group`.
        kind: String,
        namespace: String,
        name: String,
    }
}

/// A service account: its namespace and name.
pub type Account = (String, String);

impl Subject {
    /// The account that it names.
    pub fn account(&self) -> Option<Account> {
        if self.kind == "ServiceAccount" {
            return Some((self.namespace.clone(), self.name.clone()));
        }
        let (namespace, name) = self.name.strip_prefix("system:serviceaccount:")?.split_once(':')?;
        (self.kind == "User").then(|| (namespace.to_owned(), name.to_owned()))
    }

    /// Whether this account is it, or one of the group.
    pub fn includes(&self, account: &Account) -> bool {
        match self.kind.as_str() {
            "Group" => {
                matches!(self.name.as_str(), "system:serviceaccounts" | "system:authenticated")
                    || self.name.strip_prefix("system:serviceaccounts:") == Some(account.0.as_str())
            }
            _ => self.account().is_some_and(|named| named == *account),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(resources: &[&str], verbs: &[&str]) -> Role {
        serde_json::from_value(serde_json::json!({
            "rules": [{"apiGroups": ["example.com"], "resources": resources, "verbs": verbs}]
        }))
        .unwrap()
    }

    #[test]
    fn a_controllers_role_names_parts_verb_by_verb() {
        let fit = |resources: &[&str], verbs: &[&str]| role(resources, verbs).fit("example.com", Some("widgets"));
        assert_eq!(fit(&["widgets", "widgets/status"], &["update"]), Some(Fit::Controller));
        assert_eq!(fit(&["widgets/finalizers"], &["update"]), Some(Fit::Controller));
        assert_eq!(fit(&["widgets", "widgets/status"], &["*"]), Some(Fit::Resource));
        assert_eq!(fit(&["widgets"], &["patch"]), Some(Fit::Resource));
        assert_eq!(fit(&["*"], &["patch"]), Some(Fit::Group));
        assert_eq!(fit(&["widgets"], &["get"]), None);
        assert_eq!(fit(&["gadgets/status"], &["update"]), None);
    }

    #[test]
    fn to_change_an_object_its_parts_are_not_enough() {
        let may = |resources: &[&str]| role(resources, &["patch"]).may(CHANGES, "example.com", "widgets", "w");
        assert!(may(&["widgets"]) && may(&["*"]));
        assert!(!may(&["widgets/status", "widgets/finalizers"]));
        assert!(!role(&["widgets"], &["patch"]).may(&["update"], "example.com", "widgets", "w"));
    }

    #[test]
    fn an_account_is_named_in_several_ways() {
        let op = ("ops".to_owned(), "op".to_owned());
        let includes = |kind: &str, name: &str| {
            Subject { kind: kind.to_owned(), name: name.to_owned(), ..Subject::default() }.includes(&op)
        };
        assert!(includes("User", "system:serviceaccount:ops:op") && includes("Group", "system:serviceaccounts:ops"));
        assert!(!includes("User", "op") && !includes("Group", "system:serviceaccounts:other"));
    }
}
