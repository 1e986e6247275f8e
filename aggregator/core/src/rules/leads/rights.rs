//! Requests that were refused (403).

use findings::{Placeholder, cause};

use super::{Followed, Following, GONE, repaired};
use crate::diagnosis::{Diagnosis, Step};
use crate::rules::phrases::within;
use crate::rules::rights::{self, Permission};
use crate::state::*;

impl Following<'_, '_> {
    /// Where objects like the target live.
    pub(super) fn own_scope(&self) -> Scope {
        self.sentence.target.namespace.as_deref().map_or(Scope::All, within)
    }

    pub(super) fn forbidden(
        &self,
        diagnosis: &mut Diagnosis,
        user: &str,
        why: &str,
        to: Option<&(String, Resource)>,
        is_readable: bool,
    ) -> Followed {
        // The server of an aggregated API decides for itself whom it lets in.
        if let Some(api) = to.and_then(|(_, resource)| self.served_elsewhere(diagnosis, &resource.group)) {
            let shown = ObjectRef::api_service(&api.spec.group, &api.spec.version);
            if condition(&api.status.conditions, "Available").is_some_and(|available| available.status != "True") {
                diagnosis.wait_for(shown);
                return Followed::Explained;
            }
            let service = api.spec.service.as_ref().map_or(String::new(), |service| format!(" (Service {service})"));
            let words = format!("its server{service} answers 403 to {user}: it may not {why}");
            let root = self.claim(&cause::API_SERVICE_FORBIDS, &shown.to_string(), Step::about(&shown, words));
            return Followed::Claimed(Box::new(root.name(Placeholder::ApiService, &shown.name)));
        }
        if let Some((_, resource)) = to
            && diagnosis.silently(self.lister.discovery()).is_some_and(|all| !all.has_group(&resource.group))
        {
            return repaired(format!("API group {}", resource.group), GONE);
        }
        // Where the controllers share one account, the namespace controller has another name.
        if self.sentence.target.is(known::NAMESPACES) {
            return self.claimed(
                &cause::NAMESPACE_CONTROLLER_FORBIDDEN,
                Step::named("The namespace controller", format!("may not {why}")),
            );
        }
        let account = user.strip_prefix("system:serviceaccount:").and_then(|account| account.split_once(':'));
        match account.zip(to).filter(|_| is_readable) {
            Some(((namespace, name), (verb, resource))) => {
                self.right(diagnosis, (namespace.to_owned(), name.to_owned()), (verb, why), resource)
            }
            None => Followed::Nothing,
        }
    }

    /// Whether an account lacks a right. Of roles only what lets change something is kept.
    fn right(
        &self,
        diagnosis: &mut Diagnosis,
        account: Account,
        (verb, why): (&str, &str),
        resource: &Resource,
    ) -> Followed {
        if !CHANGES.contains(&verb) {
            let (namespace, name) = &account;
            let words = format!("was refused, as the controller reports: may not {why}");
            return self.missing(diagnosis, vec![Step::named(format!("ServiceAccount {namespace}/{name}"), words)]);
        }
        let wanted = ObjectRef {
            kind: resource.plural.clone(),
            resource: resource.clone(),
            namespace: self.sentence.target.namespace.clone(),
            // The sentence may be about any of them.
            name: String::new(),
        };
        let kind = resource.for_kubectl();
        match rights::may(self.lister, diagnosis, &account, &[verb], &wanted) {
            Permission::Not(why) => {
                let (namespace, name) = &account;
                let step =
                    Step::named(format!("ServiceAccount {namespace}/{name}"), format!("may not {verb} {kind}: {why}"));
                self.missing(diagnosis, vec![step])
            }
            Permission::Granted => repaired(format!("the right to {verb} {kind}"), "is granted"),
            Permission::Open | Permission::NotTold => Followed::Nothing,
        }
    }

    fn served_elsewhere(&self, diagnosis: &mut Diagnosis, group: &str) -> Option<&ApiService> {
        if group.is_empty() {
            return None;
        }
        let answer = self.lister.list::<ApiService>(known::API_SERVICES, Scope::All);
        let all = diagnosis.optional("apiservices", "which server serves an API", answer)?;
        all.into_iter().find(|api| api.spec.group == group && api.spec.service.is_some())
    }
}
