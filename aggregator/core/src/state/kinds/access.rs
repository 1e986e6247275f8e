//! Who may do what: RBAC.

use super::{Meta, lite};

lite! {
    /// A Role or ClusterRole.
    Role {
        /// Its metadata.
        metadata: Meta,
        /// What it grants.
        rules: Vec<Grant>,
    }
}

lite! {
    /// One rule of a role.
    Grant {
        /// On which groups.
        api_groups: Vec<String>,
        /// On which resources.
        resources: Vec<String>,
        /// What.
        verbs: Vec<String>,
    }
}

impl Role {
    /// Whether it grants changing everything.
    pub fn grants_all(&self) -> bool {
        self.rules.iter().any(|grant| {
            let any = |list: &[String]| list.iter().any(|one| one == "*");
            let verb = grant.verbs.iter().any(|verb| matches!(verb.as_str(), "update" | "patch" | "*"));
            any(&grant.api_groups) && any(&grant.resources) && verb
        })
    }

    /// Whether it grants taking a finalizer off this resource *by name*. Roles that grant everything
    /// are administrators', who serve no finalizer.
    pub fn names_finalizers_of(&self, group: &str, plural: &str) -> bool {
        self.rules.iter().any(|grant| {
            let verb = grant.verbs.iter().any(|verb| matches!(verb.as_str(), "update" | "patch" | "*"));
            let in_group = grant.api_groups.iter().any(|granted| granted == group);
            let resource = |granted: &str| {
                granted == plural
                    || granted.strip_prefix(plural) == Some("/finalizers")
                    || (granted == "*" && !group.is_empty())
            };
            verb && in_group && grant.resources.iter().any(|granted| resource(granted))
        })
    }
}

lite! {
    /// A RoleBinding or ClusterRoleBinding.
    Binding {
        /// Its metadata.
        metadata: Meta,
        /// Which role.
        role_ref: RoleRef,
        /// To whom.
        subjects: Vec<Subject>,
    }
}

lite! {
    /// Names a role.
    RoleRef {
        /// `Role` or `ClusterRole`.
        kind: String,
        /// Its name.
        name: String,
    }
}

lite! {
    /// Names somebody.
    Subject {
        /// `ServiceAccount`, `User`, `Group`.
        kind: String,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    }
}
