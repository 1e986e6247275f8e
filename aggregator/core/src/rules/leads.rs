//! Follows what a sentence names. What it leads to is a cause or an edge only where it is seen to be broken; what cannot be
//! seen rests on the words, and what works again is said to.

use findings::{Cause, Placeholder, cause};
use jiff::Timestamp;

use super::backend::{self, Backend};
use super::finalizer::rights::{self, Permission};
use super::phrases::within;
use super::webhook::{self, Called};
use super::{admission_policy, control_plane, crd};
use crate::diagnosis::{Diagnosis, RootCause, Step};
use crate::lister::Lister;
use crate::messages::errors;
use crate::messages::leads::Lead;
use crate::state::*;

/// A sentence: whom it is about, and where it stands.
pub struct Sentence<'s> {
    /// The object that it is about.
    pub target: &'s ObjectRef,
    /// Where it stands.
    pub source: &'s str,
    /// What it says.
    pub says: &'s str,
}

/// What came of a lead.
pub enum Followed {
    /// An answer is still out.
    Open,
    /// What it leads to is broken; `diagnosis` says so now.
    Explained,
    /// What it names works again, or is not there to refuse anything any more: the sentence is of before.
    Repaired(Repair),
    /// Nothing but the words says so.
    Claimed(Box<RootCause>),
    /// It names nothing that could be looked at.
    Nothing,
}

/// What works again.
pub struct Repair {
    /// Its name.
    pub name: String,
    /// How it stands: `answers again`.
    pub how: &'static str,
    /// Since when, where that is known.
    pub since: Option<Timestamp>,
}

/// It does what it did not.
pub const ANSWERS: &str = "answers again";
/// It is not asked any more.
pub const GONE: &str = "is served no more";
const NOT_CONFIGURED: &str = "is configured no more";

/// A slow webhook delays each of several requests by 30 seconds at the most; after so long it does not go on.
const MAX_SLOW_SECONDS: i64 = 900;

fn repaired(name: impl Into<String>, how: &'static str) -> Followed {
    Followed::Repaired(Repair { name: name.into(), how, since: None })
}

/// Follows one.
pub fn follow(lister: &Lister, diagnosis: &mut Diagnosis, sentence: &Sentence, lead: &Lead) -> Followed {
    let before = (diagnosis.causes.len(), diagnosis.waits_for.len());
    let followed = Following { lister, sentence }.follow(diagnosis, lead);
    for root in diagnosis.causes.iter_mut().skip(before.0) {
        *root = root.clone().evidence(sentence.source, sentence.says);
    }
    match followed {
        Followed::Repaired(_) | Followed::Claimed(_) | Followed::Nothing if diagnosis.pending => Followed::Open,
        other => other,
    }
}

/// How an API stands.
pub enum ApiState {
    /// These do not answer.
    Dead(Vec<ObjectRef>),
    /// It does, since then if that is known.
    Answers(Option<Timestamp>),
    /// It is served no more.
    Gone,
    /// Its APIServices, or discovery, do not show that.
    NotTold,
}

/// Looks at the APIServices of a group, or of one version of it. Available is the answer to one path, and discovery asks for
/// another.
pub fn api_state(lister: &Lister, diagnosis: &mut Diagnosis, group: &str, version: Option<&str>) -> ApiState {
    let is_it = |its: &str, one: &str| its == group && version.is_none_or(|version| one == version);
    let answer = lister.list::<ApiService>(known::API_SERVICES, Scope::All);
    let all = diagnosis.optional("apiservices", "whether an API is dead", answer);
    let discovery = diagnosis.silently(lister.discovery());
    let Some(all) = all else { return ApiState::NotTold };
    let its: Vec<&ApiService> = all.into_iter().filter(|api| is_it(&api.spec.group, &api.spec.version)).collect();
    let is_stale = discovery.is_some_and(|known| known.stale().any(|one| is_it(&one.group, &one.version)));
    let available: Vec<&Condition> =
        its.iter().filter_map(|api| condition(&api.status.conditions, "Available")).collect();
    let is_dead = |api: &&&ApiService| {
        is_stale || condition(&api.status.conditions, "Available").is_some_and(|available| available.status != "True")
    };
    let dead = its.iter().filter(is_dead).map(|api| ObjectRef::api_service(&api.spec.group, &api.spec.version));
    match dead.collect::<Vec<_>>() {
        dead if !dead.is_empty() => ApiState::Dead(dead),
        _ if discovery.is_none() || is_stale || available.len() < its.len() => ApiState::NotTold,
        _ if its.is_empty() => ApiState::Gone,
        _ => ApiState::Answers(available.iter().filter_map(|available| available.last_transition_time).max()),
    }
}

struct Following<'f, 'l> {
    lister: &'f Lister<'l>,
    sentence: &'f Sentence<'f>,
}

impl Following<'_, '_> {
    fn follow(&self, diagnosis: &mut Diagnosis, lead: &Lead) -> Followed {
        match lead {
            // They are listed anyway, or follow from the resource's name.
            Lead::Unexpected { .. } => Followed::Nothing,
            Lead::WebhookCall { webhook, host, error } => self.webhook_call(diagnosis, webhook, host, error),
            Lead::WebhookDenial { webhook, why } => self.webhook_denial(diagnosis, webhook, why),
            Lead::PolicyDenial { policy, binding, why } => self.policy_denial(diagnosis, policy, binding, why),
            Lead::Conversion { group, kind, error } => self.conversion(diagnosis, group, kind, error),
            Lead::StoredVersion { group_version } => self.claimed(
                &cause::STORED_VERSION_NOT_SERVED,
                Step::named(
                    format!("Objects of {group_version}"),
                    "are stored in a version that the CRD does not have any more",
                ),
            ),
            Lead::NotDecryptable { key, error } => self.claimed(
                &cause::OBJECT_NOT_DECRYPTABLE,
                Step::named(format!("etcd key {key}"), format!("cannot be decrypted: {error}")),
            ),
            Lead::NotDecodable { error } => self.claimed(
                &cause::OBJECT_NOT_DECODABLE,
                Step::named("A stored object", format!("cannot be decoded: {error}")),
            ),
            Lead::Etcd { fault, error } => self
                .claimed(control_plane::etcd_cause(*fault), Step::named("etcd", format!("{}: {error}", fault.words()))),
            Lead::Forbidden { user, why, to, scope } => {
                // A right elsewhere, or to a part of an object, is another one than that which roles are read for.
                let is_readable = scope.as_ref() == Some(&self.own_scope());
                self.forbidden(diagnosis, user, why, to.as_ref(), is_readable)
            }
            Lead::TooManyRequests => self.claimed(
                &cause::API_REQUESTS_REJECTED,
                Step::named("The API server", "rejects the namespace controller's requests (429 Too Many Requests)"),
            ),
            Lead::Api { group, version } => self.api(diagnosis, group, version.as_deref()),
            Lead::NoKind { group, version, kind } => self.no_kind(diagnosis, group, version, kind),
            Lead::ServiceCall { namespace, service, .. } => self.service_call(diagnosis, namespace, service),
            Lead::NamespaceGone { name } => self.namespace_gone(diagnosis, name),
            Lead::Budget { pod, budget } => self.budget(diagnosis, pod.as_ref(), budget.as_deref()),
            Lead::TimedOut { error } => self.timed_out(diagnosis, error),
            Lead::Unknown { text } => self.claimed_as(
                &cause::NAMESPACE_CONTENT_FAILURE,
                &self.sentence.target.name,
                Step::named("Deleting the content", format!("fails: {text}")),
            ),
        }
    }

    /// A root of which only the words tell.
    fn claim(&self, cause: &'static Cause, subject: &str, step: Step) -> RootCause {
        let Sentence { target, source, says } = self.sentence;
        let root = RootCause::below(cause, target).same_as(subject).step(step).evidence(source, says);
        match target.is(known::NAMESPACES) {
            true => root.name(Placeholder::Namespace, &target.name),
            false => root,
        }
    }

    fn claimed_as(&self, cause: &'static Cause, subject: &str, step: Step) -> Followed {
        Followed::Claimed(Box::new(self.claim(cause, subject, step)))
    }

    fn claimed(&self, cause: &'static Cause, step: Step) -> Followed {
        let subject = step.subject.clone();
        self.claimed_as(cause, &subject, step)
    }

    fn webhook_call(&self, diagnosis: &mut Diagnosis, webhook: &str, host: &str, error: &str) -> Followed {
        let subject = format!("Webhook {webhook}");
        let configuration = match webhook::called(self.lister, diagnosis, webhook, host) {
            Called::Explained => return Followed::Explained,
            Called::Gone => return repaired(subject, NOT_CONFIGURED),
            Called::Serves { since, .. } if errors::is_backend_missing(error) => {
                return Followed::Repaired(Repair { name: subject, how: ANSWERS, since });
            }
            Called::Serves { configuration, .. } | Called::NotTold(Some(configuration)) => Some(configuration),
            Called::NotTold(None) => None,
        };
        let cause = match errors::is_certificate(error) {
            true => &cause::WEBHOOK_CERTIFICATE_INVALID,
            false => &cause::WEBHOOK_UNAVAILABLE,
        };
        self.of_webhook(cause, webhook, configuration, &format!("cannot be called: {error}"))
    }

    /// What a request waits for, and goes on without: a webhook whose failure is ignored may take its whole time-out.
    fn timed_out(&self, diagnosis: &mut Diagnosis, error: &str) -> Followed {
        let target = self.sentence.target;
        if !target.is(known::NAMESPACES) {
            return Followed::Nothing;
        }
        let Some((configuration, webhook)) = webhook::ignored(self.lister, diagnosis, &target.name) else {
            let step = Step::named("Deleting the content", format!("fails: {error}"));
            return self.claimed_as(&cause::NAMESPACE_CONTENT_FAILURE, &target.name, step);
        };
        let words = format!(
            "its webhook {webhook} (failurePolicy: Ignore) is called for each deletion there, and requests take too long: {error}"
        );
        let root = self
            .claim(&cause::WEBHOOK_SLOW, &configuration.to_string(), Step::about(&configuration, words))
            .name(Placeholder::Configuration, configuration.typed_name())
            .probable("whether it is this webhook that takes the time");
        let is_young = diagnosis.is_younger_than(MAX_SLOW_SECONDS);
        Followed::Claimed(Box::new(if is_young { root.progressing() } else { root }))
    }

    fn webhook_denial(&self, diagnosis: &mut Diagnosis, webhook: &str, why: &str) -> Followed {
        let why = if why.is_empty() { "without giving a reason" } else { why };
        let configuration = match webhook::find(self.lister, diagnosis, webhook, None) {
            webhook::Found::None => return repaired(format!("Webhook {webhook}"), NOT_CONFIGURED),
            webhook::Found::One(configuration, _) => Some(configuration),
            webhook::Found::NotTold => None,
        };
        self.of_webhook(&cause::WEBHOOK_REFUSES_DELETE, webhook, configuration, &format!("refuses the request: {why}"))
    }

    fn of_webhook(
        &self,
        cause: &'static Cause,
        webhook: &str,
        configuration: Option<ObjectRef>,
        words: &str,
    ) -> Followed {
        let subject = format!("Webhook {webhook}");
        let step = match &configuration {
            Some(configuration) => Step::about(configuration, format!("its webhook {webhook} {words}")),
            None => Step::named(&subject, words),
        };
        let root = self.claim(cause, &subject, step);
        let root = root.name_if(Placeholder::Configuration, configuration.map(|it| it.typed_name()));
        Followed::Claimed(Box::new(root))
    }

    fn policy_denial(&self, diagnosis: &mut Diagnosis, policy: &str, binding: &str, why: &str) -> Followed {
        let Sentence { target, .. } = self.sentence;
        let itself = target.is(known::NAMESPACES).then_some(target.name.as_str());
        let namespace = target.namespace.as_deref().or(itself);
        match admission_policy::named(self.lister, diagnosis, policy, binding, namespace) {
            admission_policy::Named::Broken => Followed::Explained,
            admission_policy::Named::Gone => repaired(format!("ValidatingAdmissionPolicy {policy}"), NOT_CONFIGURED),
            admission_policy::Named::Bound(shown) => {
                let words = format!("bound by {binding}, refuses the request: {why}");
                self.claimed(&cause::POLICY_REFUSES_DELETE, Step::about(&shown, words))
            }
            admission_policy::Named::NotTold => self.claimed(
                &cause::POLICY_REFUSES_DELETE,
                Step::named(
                    format!("ValidatingAdmissionPolicy {policy}"),
                    format!("bound by {binding}, refuses the request: {why}"),
                ),
            ),
        }
    }

    fn conversion(&self, diagnosis: &mut Diagnosis, group: &str, kind: &str, error: &str) -> Followed {
        let subject = format!("Conversion of {kind}.{group}");
        let answer = crd::crd_of(self.lister, group, kind);
        if answer.is_missing() {
            return repaired(format!("{kind}.{group}"), GONE);
        }
        let Some(crd) = diagnosis.required(known::CRDS.plural, "who converts custom resources", answer) else {
            let step = Step::named(subject, format!("fails: {error}"));
            return self.claimed(&cause::CONVERSION_WEBHOOK_UNAVAILABLE, step);
        };
        if crd::is_explained(self.lister, &crd) {
            diagnosis.wait_for(crd);
            return Followed::Explained;
        }
        match crd::converter_serves(self.lister, diagnosis, &crd) {
            Some(since) if errors::is_backend_missing(error) => {
                Followed::Repaired(Repair { name: subject, how: ANSWERS, since })
            }
            _ => {
                let step = Step::about(&crd, format!("the conversion of its objects fails: {error}"));
                let root = self.claim(&cause::CONVERSION_WEBHOOK_UNAVAILABLE, &subject, step);
                Followed::Claimed(Box::new(root.name(Placeholder::Crd, crd.name)))
            }
        }
    }

    fn api(&self, diagnosis: &mut Diagnosis, group: &str, version: Option<&str>) -> Followed {
        let name = || format!("API group {group}");
        match api_state(self.lister, diagnosis, group, version) {
            ApiState::Dead(apis) => {
                apis.into_iter().for_each(|api| diagnosis.wait_for(api));
                Followed::Explained
            }
            ApiState::Answers(since) => Followed::Repaired(Repair { name: name(), how: ANSWERS, since }),
            ApiState::Gone => repaired(name(), GONE),
            ApiState::NotTold => Followed::Nothing,
        }
    }

    /// What the controller needs is seen to be missing.
    fn missing(&self, diagnosis: &mut Diagnosis, steps: Vec<Step>) -> Followed {
        let Some(last) = steps.last() else { return Followed::Nothing };
        let (needed, how) = (last.subject.clone(), last.words.clone());
        let root = RootCause::below(&cause::FINALIZER_CONTROLLER_NEEDS_MISSING, self.sentence.target).same_as(&needed);
        let root = steps.into_iter().fold(root.evidence(needed, how), RootCause::step);
        diagnosis.causes.push(root);
        Followed::Explained
    }

    fn no_kind(&self, diagnosis: &mut Diagnosis, group: &str, version: &str, kind: &str) -> Followed {
        let Some(discovery) = diagnosis.optional("API discovery", "whether a kind is served", self.lister.discovery())
        else {
            return Followed::Nothing;
        };
        if discovery.is_stale(group) {
            return self.api(diagnosis, group, None);
        }
        if discovery.resource_of_kind(group, version, kind).is_some() {
            return repaired(format!("{kind} of {group}/{version}"), "is served now");
        }
        let step = Step::named(format!("kind {kind} of {group}/{version}"), "is not served: its CRD is missing");
        self.missing(diagnosis, vec![step])
    }

    fn service_call(&self, diagnosis: &mut Diagnosis, namespace: &str, name: &str) -> Followed {
        let service = ServiceRef { namespace: namespace.to_owned(), name: name.to_owned(), port: None };
        match backend::inspect_called(self.lister, diagnosis, &service) {
            Backend::NoService => {
                let shown = ObjectRef::namespaced(known::SERVICES, namespace, name);
                self.missing(diagnosis, vec![Step::about(&shown, "does not exist")])
            }
            Backend::NoEndpoint { node: Some(node), .. } => {
                diagnosis.wait_for(node);
                Followed::Explained
            }
            Backend::NoEndpoint { steps, node: None, .. } => self.missing(diagnosis, steps),
            Backend::Ready { .. } | Backend::External | Backend::Unknown => Followed::Nothing,
        }
    }

    /// The budget that allows no eviction of a pod: by its own name, or because it selects that pod.
    fn budget(
        &self,
        diagnosis: &mut Diagnosis,
        pod: Option<&(Option<String>, String)>,
        named: Option<&str>,
    ) -> Followed {
        let own = self.sentence.target.namespace.as_deref();
        let Some(namespace) = pod.and_then(|(namespace, _)| namespace.as_deref()).or(own) else {
            return Followed::Nothing;
        };
        let adds = "which budget refuses the eviction";
        let answer = self.lister.list::<Budget>(known::BUDGETS, within(namespace));
        let all = diagnosis.optional(format!("poddisruptionbudgets of {namespace}"), adds, answer).unwrap_or_default();
        let pod = pod.map(|(_, name)| ObjectRef::pod(namespace, name));
        let found = pod.as_ref().and_then(|pod| {
            diagnosis.optional(pod.to_string(), adds, self.lister.get::<Pod>(known::PODS, Some(namespace), &pod.name))
        });
        let is_it = |budget: &&Budget| match (named, found) {
            (Some(name), _) => budget.metadata.name == name,
            (None, Some(pod)) => budget.selects(&pod.metadata.labels),
            (None, None) => false,
        };
        let Some(budget) = all.into_iter().find(|budget| is_it(budget) && budget.refuses(true)) else {
            return Followed::Nothing;
        };
        let shown = ObjectRef::namespaced(known::BUDGETS, namespace, &budget.metadata.name);
        let BudgetStatus { current_healthy, desired_healthy, .. } = budget.status;
        let words = format!("allows 0 disruptions: it wants {desired_healthy} healthy pods, and {current_healthy} are");
        let root =
            RootCause::below(&cause::DRAIN_BUDGET_ALLOWS_NONE, &shown).evidence(format!("status of {shown}"), &words);
        let root = pod.iter().fold(root, |root, pod| root.step(Step::about(pod, "not evicted")));
        diagnosis.causes.push(root.step(Step::about(&shown, words)));
        Followed::Explained
    }

    fn namespace_gone(&self, diagnosis: &mut Diagnosis, name: &str) -> Followed {
        let answer = self.lister.namespace(name);
        if answer.is_missing() {
            let shown = ObjectRef::cluster_wide(known::NAMESPACES, name);
            return self.missing(diagnosis, vec![Step::about(&shown, "does not exist")]);
        }
        match diagnosis.silently(answer) {
            Some(_) => repaired(format!("Namespace {name}"), "exists"),
            None => Followed::Nothing,
        }
    }

    /// Where objects like the target live.
    fn own_scope(&self) -> Scope {
        self.sentence.target.namespace.as_deref().map_or(Scope::All, within)
    }

    fn forbidden(
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
                self.right(diagnosis, (namespace.to_owned(), name.to_owned()), verb, resource)
            }
            None => Followed::Nothing,
        }
    }

    /// Whether an account lacks a right. Of roles only what lets change something is kept.
    fn right(&self, diagnosis: &mut Diagnosis, account: Account, verb: &str, resource: &Resource) -> Followed {
        if !matches!(verb, "update" | "patch") {
            return Followed::Nothing;
        }
        let wanted = ObjectRef {
            kind: resource.plural.clone(),
            resource: resource.clone(),
            namespace: self.sentence.target.namespace.clone(),
            // The sentence may be about any of them.
            name: String::new(),
        };
        let kind = resource.for_kubectl();
        match rights::may_change(self.lister, diagnosis, &account, &wanted) {
            Permission::Not(why) => {
                let (namespace, name) = &account;
                let step =
                    Step::named(format!("ServiceAccount {namespace}/{name}"), format!("may not {verb} {kind}: {why}"));
                self.missing(diagnosis, vec![step])
            }
            Permission::Change => repaired(format!("the right to {verb} {kind}"), "is granted"),
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
