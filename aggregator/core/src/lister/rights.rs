//! Roles and bindings as many objects ask for them: of ten thousand each, looked through once per judgement.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::Lister;
use crate::state::{Answer, ApiResource, Binding, Cut, Fit, Role, Scope};

/// Bindings by the role that they give: whether that is a ClusterRole, else its namespace, and its name.
pub type Bindings<'a> = HashMap<(bool, Option<&'a str>, &'a str), Vec<&'a Binding>>;

type Fitting<'a> = Vec<(&'a Role, Fit)>;

/// The plural of the kind, and where.
type Of = (&'static str, Scope);

/// What was looked through already.
#[derive(Default)]
pub struct Looked<'a> {
    roles: RefCell<BTreeMap<(Of, Cut), Rc<Fitting<'a>>>>,
    bindings: RefCell<BTreeMap<Of, Rc<Bindings<'a>>>>,
}

impl<'a> Lister<'a> {
    /// The roles that are cut to something, and how closely.
    pub fn roles_cut_to(&self, known: ApiResource, scope: &Scope, cut: &Cut) -> Answer<Rc<Fitting<'a>>> {
        let key = ((known.plural, scope.clone()), cut.clone());
        if let Some(looked) = self.looked.roles.borrow().get(&key) {
            return self.listed::<Role>(known, scope).map(|_| Rc::clone(looked));
        }
        self.list::<Role>(known, scope.clone()).map(|roles| {
            let fitting = roles.into_iter().filter_map(|role| Some((role, cut.fit(role)?)));
            let fitting = Rc::new(fitting.collect());
            self.looked.roles.borrow_mut().insert(key, Rc::clone(&fitting));
            fitting
        })
    }

    /// Who is given which role.
    pub fn bindings(&self, known: ApiResource, scope: &Scope) -> Answer<Rc<Bindings<'a>>> {
        let key = (known.plural, scope.clone());
        if let Some(looked) = self.looked.bindings.borrow().get(&key) {
            return self.listed::<Binding>(known, scope).map(|_| Rc::clone(looked));
        }
        self.list::<Binding>(known, scope.clone()).map(|bindings| {
            let mut by_role = Bindings::new();
            for binding in bindings {
                let is_of_cluster = binding.role_ref.kind == "ClusterRole";
                let at = binding.metadata.namespace.as_deref().filter(|_| !is_of_cluster);
                by_role.entry((is_of_cluster, at, &binding.role_ref.name)).or_default().push(binding);
            }
            let by_role = Rc::new(by_role);
            self.looked.bindings.borrow_mut().insert(key, Rc::clone(&by_role));
            by_role
        })
    }
}
