//! Requests that were refused (403).

use super::{Followed, GONE, Sentence, repaired};
use crate::rules::phrases::within;
use crate::rules::prelude::*;
use crate::rules::rights::{self, Permission};

impl Sentence<'_> {
    /// Where objects like the target live.
    pub(super) fn own_scope(&self) -> Scope {
        self.target.namespace.as_deref().map_or(Scope::All, within)
    }

    pub(super) fn forbidden(
        &self,
        case: &mut Case,
        user: &str,
        why: &str,
        to: Option<&(String, Resource)>,
        is_readable: bool,
    ) -> Followed {
        // The server of an aggregated API decides for itself whom it lets in.
        if let Some(api) = to.and_then(|(_, resource)| self.served_elsewhere(case, &resource.group)) {
            let shown = ObjectRef::api_service(&api.spec.group, &api.spec.version);
            if condition(&api.status.conditions, "Available").is_some_and(|available| available.status != "True") {
                case.diagnosis.wait_for(shown);
                return Followed::Explained;
            }
            let service = api.spec.service.as_ref().map_or(String::new(), |service| format!(" (Service {service})"));
            let words = format!("its server{service} answers 403 to {user}: it may not {why}");
            let root = self.claim(&cause::API_SERVICE_FORBIDS, &shown.to_string(), Step::about(&shown, words));
            return Followed::Claimed(Box::new(root.name(Placeholder::ApiService, &shown.name)));
        }
        if let Some((_, resource)) = to
            && case.diagnosis.silently(case.lister.discovery()).is_some_and(|all| !all.has_group(&resource.group))
        {
            return repaired(format!("API group {}", resource.group), GONE);
        }
        // Where the controllers share one account, the namespace controller has another name.
        if self.target.is(known::NAMESPACES) {
            return self.claimed(
                &cause::BUILT_IN_CONTROLLER_FORBIDDEN,
                Step::named("The namespace controller", format!("may not {why}")),
            );
        }
        let account = user.strip_prefix("system:serviceaccount:").and_then(|account| account.split_once(':'));
        match account.zip(to).filter(|_| is_readable) {
            Some(((namespace, name), (verb, resource))) => {
                self.right(case, (namespace.to_owned(), name.to_owned()), (verb, why), resource)
            }
            None => Followed::Nothing,
        }
    }

    /// Whether an account lacks a right. Of roles only what lets change something is kept.
    fn right(&self, case: &mut Case, account: Account, (verb, why): (&str, &str), resource: &Resource) -> Followed {
        if !CHANGES.contains(&verb) {
            let (namespace, name) = &account;
            let words = format!("was refused, as the controller reports: may not {why}");
            return self.missing(case, vec![Step::named(format!("ServiceAccount {namespace}/{name}"), words)]);
        }
        let wanted = ObjectRef {
            kind: resource.plural.clone(),
            resource: resource.clone(),
            namespace: self.target.namespace.clone(),
            // The sentence may be about any of them.
            name: String::new(),
        };
        let kind = resource.for_kubectl();
        match rights::may(case, &account, &[verb], &wanted) {
            Permission::Not(why) => {
                let (namespace, name) = &account;
                let step =
                    Step::named(format!("ServiceAccount {namespace}/{name}"), format!("may not {verb} {kind}: {why}"));
                self.missing(case, vec![step])
            }
            Permission::Granted => repaired(format!("the right to {verb} {kind}"), "is granted"),
            Permission::Open | Permission::NotTold => Followed::Nothing,
        }
    }

    fn served_elsewhere<'a>(&self, case: &mut Case<'_, 'a>, group: &str) -> Option<&'a ApiService> {
        if group.is_empty() {
            return None;
        }
        let answer = case.lister.list::<ApiService>(known::API_SERVICES, Scope::All);
        let all = case.diagnosis.optional("apiservices", "which server serves an API", answer)?;
        all.into_iter().find(|api| api.spec.group == group && api.spec.service.is_some())
    }
}
