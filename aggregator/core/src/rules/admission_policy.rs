//! Admission policies: whether one refuses a request whatever its expressions say, because its parameters are gone, and
//! which ones may refuse it by their expressions, which are not evaluated here.

use super::phrases::some;
use super::webhook::request::{Match, Request, matches};
use crate::rules::prelude::*;

/// A policy, and one of its bindings.
struct Bound<'a> {
    policy: ObjectRef,
    binding: ObjectRef,
    asks: &'a AdmissionPolicySpec,
    binds: &'a AdmissionPolicyBindingSpec,
}

/// Policies and bindings of one kind.
type Kinds = (ApiResource, ApiResource);

const VALIDATING: Kinds = (known::ADMISSION_POLICIES, known::ADMISSION_POLICY_BINDINGS);

/// Those of mutating policies, in the version that is served; older servers have none.
fn mutating(lister: &Lister) -> Option<Kinds> {
    let served = |known: ApiResource| {
        let (resource, _) = lister.discovery().seen()?.find(known.group, known.plural)?;
        ["v1", "v1beta1"]
            .into_iter()
            .find(|version| resource.version == *version)
            .map(|version| ApiResource { version, ..known })
    };
    Some((served(known::MUTATING_POLICIES)?, served(known::MUTATING_POLICY_BINDINGS)?))
}

fn all<'a>(case: &mut Case<'_, 'a>) -> Vec<Bound<'a>> {
    let kinds = std::iter::once(VALIDATING).chain(mutating(case.lister));
    kinds.filter_map(|kinds| bound(case, kinds)).flatten().collect()
}

/// All of these kinds; nothing when they cannot be seen.
fn bound<'a>(case: &mut Case<'_, 'a>, kinds: Kinds) -> Option<Vec<Bound<'a>>> {
    let (policies, bindings) = kinds;
    let adds = "whether an admission policy refuses it";
    let answer = case.lister.list::<AdmissionPolicyBinding>(bindings, Scope::All);
    let bound = case.diagnosis.optional(bindings.plural, adds, answer)?;
    if bound.is_empty() {
        return Some(Vec::new());
    }
    let answer = case.lister.list::<AdmissionPolicy>(policies, Scope::All);
    let asked = case.diagnosis.optional(policies.plural, adds, answer)?;
    let with_policy = |binding: &'a AdmissionPolicyBinding| {
        let policy = asked.iter().find(|policy| policy.metadata.name == binding.spec.policy_name)?;
        Some(Bound {
            policy: ObjectRef::cluster_wide(policies, &policy.metadata.name),
            binding: ObjectRef::cluster_wide(bindings, &binding.metadata.name),
            asks: &policy.spec,
            binds: &binding.spec,
        })
    };
    Some(bound.into_iter().filter_map(with_policy).collect())
}

/// Whether a policy without its parameters refuses one of these requests; each is reported in `diagnosis`.
pub fn refuses(case: &mut Case, requests: &[Request]) -> bool {
    let mut any = false;
    for bound in all(case) {
        for request in requests {
            if bound.asks.param_kind.is_some() && bound.is_about(case, *request) {
                any |= bound.lacks_parameters(case, request.namespace);
            }
        }
    }
    any
}

/// Policies that are evaluated for this request and may refuse it, each with its binding; those that name the resource first.
pub fn evaluated(case: &mut Case, request: Request) -> Vec<(ObjectRef, ObjectRef)> {
    refusing(case, request).into_iter().map(|bound| (bound.policy, bound.binding)).collect()
}

fn refusing<'a>(case: &mut Case<'_, 'a>, request: Request) -> Vec<Bound<'a>> {
    let mut found = all(case);
    found.retain(|bound| {
        bound.binds.validation_actions.iter().any(|action| action == "Deny") && bound.is_about(case, request)
    });
    found.sort_by_key(|bound| !bound.names(request));
    found
}

/// A policy that may refuse what a controller has to write.
pub struct Suspect {
    root: RootCause,
    policy: ObjectRef,
    /// Whether its rules name the resource. One for everything explains nothing of this object.
    is_for_this: bool,
}

impl Suspect {
    /// Puts a step above its chain.
    pub fn under(mut self, step: Step) -> Self {
        self.root = self.root.under(step);
        self
    }

    /// As the only cause.
    pub fn into_root(self) -> RootCause {
        self.root.probable("whether its expressions refuse this request: they are not evaluated here")
    }
}

/// The first of them as a further cause, beside what is seen.
pub fn suspect(case: &mut Case, target: &ObjectRef, request: Request) -> Option<Suspect> {
    let found = refusing(case, request);
    let is_for_this = found.first()?.names(request);
    let names: Vec<_> = found.into_iter().map(|bound| (bound.policy, bound.binding)).collect();
    let (policy, binding) = names.first()?;
    let Request { operation, resource, .. } = request;
    let words = format!("bound by {binding}; evaluated for {operation} of {resource}, and may refuse it");
    let others: Vec<String> = names.iter().skip(1).map(|(policy, _)| policy.to_string()).collect();
    let root = RootCause::below(&cause::POLICY_MAY_REFUSE, target)
        .same_as(policy)
        .name(Placeholder::Configuration, binding.typed_name())
        .step(Step::about(policy, &words))
        .evidence(policy.to_string(), words);
    let root = match others.is_empty() {
        true => root,
        false => root.evidence("other policies that are evaluated for it", some(&others, 5)),
    };
    Some(Suspect { root, policy: policy.clone(), is_for_this })
}

/// What is not seen of an object whose controller has not acted: a refusal leaves no trace there (client-go:
/// util/workqueue/default_rate_limiters.go, 1000 s between two tries at most).
pub const REFUSED_BEFORE: &str = "whether a webhook or policy that is gone or repaired by now refused it: the controller then tries again within 17 minutes";

/// Whether anything but that is seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Only that a controller has not written what it should.
    NotActed,
    /// Something that may be the reason.
    Reason,
}

/// What to say where a policy may refuse what a controller has to write. A refusal explains that it has not acted: that is no
/// second cause then, only what else it may be. Where a reason is seen, or where the policy is for everything, both stand.
pub fn beside(diagnosis: &mut Diagnosis, suspect: Option<Suspect>, root: RootCause, seen: Seen) -> RootCause {
    let Some(suspect) = suspect else {
        return if seen == Seen::NotActed { root.probable(REFUSED_BEFORE) } else { root };
    };
    if seen == Seen::NotActed && suspect.is_for_this {
        let evidence = root.draft.evidence.iter().map(|one| (&one.source, &one.says));
        return suspect.root.with_evidence(evidence).probable(
            "whether its expressions refuse this request: they are not evaluated here; if they let it pass, the \
             controller has not acted for a reason that its log has",
        );
    }
    let policy = suspect.policy.clone();
    diagnosis.causes.push(suspect.into_root());
    root.probable(format!("that {policy} does not refuse the request: its expressions are not evaluated here"))
}

/// What became of a policy and a binding that an error names.
pub enum Named {
    /// Its parameters are gone; `diagnosis` says so now.
    Broken,
    /// One of the two does not exist.
    Gone,
    /// Both are there.
    Bound(ObjectRef),
    /// They could not be seen.
    NotTold,
}

/// Looks at the ValidatingAdmissionPolicy and the binding that an error names.
pub fn named(case: &mut Case, policy: &str, binding: &str, namespace: Option<&str>) -> Named {
    let Some(all) = bound(case, VALIDATING) else { return Named::NotTold };
    match all.iter().find(|bound| bound.policy.name == policy && bound.binding.name == binding) {
        Some(bound) if bound.lacks_parameters(case, namespace) => Named::Broken,
        Some(bound) => Named::Bound(bound.policy.clone()),
        None => Named::Gone,
    }
}

impl Bound<'_> {
    /// Whether its rules name the resource.
    fn names(&self, request: Request) -> bool {
        let mut resources = self.asks.match_constraints.resource_rules.iter().flat_map(|rule| &rule.resources);
        resources.any(|named| named == request.resource)
    }

    /// Whether it is evaluated for a request. matchConditions come later than the parameters.
    fn is_about(&self, case: &mut Case, request: Request) -> bool {
        let constraints = &self.asks.match_constraints;
        let mut is_within = |resources: &MatchResources, rules: &[WebhookRule]| {
            matches(case, &resources.as_webhook(rules), request) != Match::No
        };
        let mut is_excluded = |resources: &MatchResources| {
            let excluded = &resources.exclude_resource_rules;
            !excluded.is_empty() && is_within(&MatchResources::default(), excluded)
        };
        if is_excluded(constraints) || self.binds.match_resources.as_ref().is_some_and(&mut is_excluded) {
            return false;
        }
        let narrowed = self.binds.match_resources.as_ref();
        is_within(constraints, &constraints.resource_rules)
            && narrowed.is_none_or(|narrowed| {
                let rules = &narrowed.resource_rules;
                is_within(narrowed, if rules.is_empty() { &constraints.resource_rules } else { rules })
            })
    }

    /// Whether its parameters are gone, so that it refuses all that it is about, before any condition or expression is
    /// evaluated (kubernetes: apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go, `CollectParams`).
    fn lacks_parameters(&self, case: &mut Case, namespace: Option<&str>) -> bool {
        let Bound { policy, binding, asks, binds } = self;
        let Some(missing) = self.missing_parameters(case, namespace) else { return false };
        if asks.failure_policy == "Ignore" {
            return false;
        }
        let words = format!("{missing}: each request that the policy matches is refused");
        let root = RootCause::below(&cause::POLICY_PARAMETERS_MISSING, policy)
            .same_as(format!("{policy}:{}", binds.policy_name))
            .name(Placeholder::Configuration, binding.typed_name())
            .step(Step::about(policy, "admission evaluates it for this request (failurePolicy: Fail)"))
            .step(Step::about(binding, &words))
            .evidence(binding.to_string(), words);
        if case.diagnosis.causes.iter().all(|known| known.draft.root != root.draft.root) {
            case.diagnosis.causes.push(root);
        }
        true
    }

    fn missing_parameters(&self, case: &mut Case, namespace: Option<&str>) -> Option<String> {
        let ParamKind { api_version, kind } = self.asks.param_kind.as_ref()?;
        let wanted = self.binds.param_ref.as_ref()?;
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let discovery = case.diagnosis.silently(case.lister.discovery())?;
        let Some((resource, served)) = discovery.resource_of_kind(group, version, kind) else {
            let is_known = !discovery.is_stale(group);
            return is_known.then(|| format!("its parameters are of {api_version} {kind}, which is not served"));
        };
        // Secrets are never read.
        if wanted.parameter_not_found_action != "Deny" || (group.is_empty() && resource.plural == "secrets") {
            return None;
        }
        let own = Some(wanted.namespace.as_str()).filter(|own| !own.is_empty());
        let place = served.namespaced.then(|| own.or(namespace)).flatten();
        let at = place.map_or(String::new(), |place| format!(" in {place}"));
        let refuses = "does not exist, and parameterNotFoundAction is Deny";
        if let Some(selector) = &wanted.selector {
            let scope = place.map_or(Scope::All, |place| Scope::Namespace(place.to_owned()));
            let all = case.diagnosis.silently(case.lister.metadata(&resource, scope.clone()))?;
            // Of a list that was cut the rest may hold them.
            let is_whole = case.lister.is_whole(&resource, scope, Detail::Metadata);
            let none = !all.iter().any(|one| selector.matches(&one.metadata.labels));
            return (none && is_whole && !case.diagnosis.pending)
                .then(|| format!("a {kind} with the labels of its paramRef{at} {refuses}"));
        }
        let answer = case.lister.object(&resource, place, &wanted.name);
        let is_missing = answer.is_missing();
        case.diagnosis.silently(answer);
        is_missing.then(|| format!("its parameter {kind} {}{at} {refuses}", wanted.name))
    }
}
