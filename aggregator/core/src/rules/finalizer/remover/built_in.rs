//! Finalizers of built-in kinds: hundreds of programs may change every object, so rights show nothing.

use findings::{Controller, Existence};

use super::super::blocking_finalizer::{BlockingFinalizer, is_within};
use super::super::controller::{self, Basis, Candidate, Controllers, Wanted};
use super::super::controller_reports;
use super::super::finalizer_cause::setter as setter_words;
use super::super::referenced_objects;
use super::super::registry::KnownFinalizer;
use super::super::setter;
use super::serving::{self, Serving};
use super::{Blame, blame, of_powerful, unknown, users, without_controller};
use crate::rules::prelude::*;
use crate::rules::rights::{self, Permission};

/// Who removes it, and why that one has not.
pub fn explain(case: &mut Case, blocking: &BlockingFinalizer) -> Option<RootCause> {
    let reported = controller_reports::keep_as_evidence(case, blocking.target, blocking.meta);
    let is_said = case.diagnosis.words.contains(blocking.finalizer);
    let held = if is_said { blocking.released_by() } else { format!("; {}", blocking.words()) };
    let template = setter::pod_template(case, blocking.target, blocking.meta, blocking.finalizer);
    let set = match &template {
        Some(workload) => format!("from the pod template of {workload}"),
        None => setter_words(blocking.meta, blocking.finalizer),
    };
    let words = format!("{}{held}; {set}", case.diagnosis.words);
    if let Some((source, says)) = controller_reports::invalid(case, blocking.target, blocking.meta) {
        return Some(
            blocking
                .start(&cause::UPDATE_FAILS_VALIDATION)
                .same_as(blocking.target)
                .at_itself(blocking.target, format!("{words}; its update is refused: {says}"))
                .evidence(source, says)
                .probable("whether the latest update failed the same way: not every try has an Event"),
        );
    }
    if let Some((source, says)) = referenced_objects::ingress_class(case, blocking.target, blocking.finalizer) {
        return Some(
            unknown(blocking)
                .step(Step::about(blocking.target, words))
                .step(Step::named(&source, &says))
                .same_as(&source)
                .given(Circumstance::Class(Existence::Gone))
                .evidence(source, says),
        );
    }
    let (found, groups) = domain_controllers(case, blocking)?;
    let is_set_by_it = found.first.as_ref().is_some_and(|first| first.by == Basis::Setting);
    let domain = || ("API discovery".to_owned(), format!("the finalizer is of the domain of {}", groups.join(", ")));
    let beside = Vec::from_iter((!groups.is_empty() && !is_set_by_it).then(domain));
    let root = match blame(case, blocking, &found, beside.clone()) {
        Blame::Open => return None,
        Blame::Found(root) => *root,
        // That a kind of the domain is served does not show that its operator has set, or removes, this one.
        Blame::Nobody if groups.is_empty() || blocking.known.is_none() => {
            if let Some(root) = of_powerful(case, blocking, &found) {
                return root;
            }
            let is_searched = groups.is_empty() && found.is_visible;
            let program = blocking.program().filter(|name| is_searched && controller::is_object_name(name));
            let is_its_own = |known: &KnownFinalizer| known.is_for(&blocking.target.kind) && !known.program.is_empty();
            let root = match program.as_deref() {
                // Who reports on the object runs.
                Some(program) if reported.is_none() && blocking.known.is_some_and(is_its_own) => {
                    not_installed(blocking, program, &words)
                }
                Some(program) => {
                    unknown(blocking).at_itself(blocking.target, format!("{words}; no Deployment is named {program}"))
                }
                None => unknown(blocking).at_itself(blocking.target, words),
            };
            let root = template.into_iter().fold(root, from_template);
            let root = match found.is_visible {
                true => root,
                false => root.given(blocking.controller(Controller::Unseen)).probable("whether its controller runs"),
            };
            namesake(case, blocking, root)?
        }
        Blame::Nobody => {
            let root = without_controller(case, blocking, &found, &groups.join(", "));
            root.with_evidence(beside.into_iter().chain(users(&found)))
        }
    };
    Some(controller_reports::add_words(root.same_as(blocking.finalizer), reported))
}

/// The program that removes it is known by its name, and no workload has that.
fn not_installed(blocking: &BlockingFinalizer, program: &str, words: &str) -> RootCause {
    let says = format!("none is named {program}, and none has the label app.kubernetes.io/name={program}");
    blocking
        .known_for(&cause::FINALIZER_CONTROLLER_GONE)
        .at_itself(blocking.target, format!("{words}; no Deployment or StatefulSet is named {program}"))
        .given(blocking.controller(Controller::Absent))
        .evidence("deployments, statefulsets", says)
        .probable("that no workload of another name is that program")
}

/// A pod template sets the finalizer on each new pod.
fn from_template(root: RootCause, workload: ObjectRef) -> RootCause {
    root.given(Circumstance::Template(Existence::Present))
        .evidence(workload.to_string(), "spec.template.metadata.finalizers has it")
        .name(Placeholder::Workload, workload.typed_name())
        .name_if(Placeholder::WorkloadNamespace, workload.namespace.as_deref())
}

/// Of a built-in kind hundreds of programs may change every object. What counts is who set the finalizer, and whose API has
/// the finalizer's domain.
fn domain_controllers<'a>(
    case: &mut Case<'_, 'a>,
    blocking: &BlockingFinalizer,
) -> Option<(Controllers<'a>, Vec<String>)> {
    let adds = "whose API has the finalizer's domain";
    let failures = case.diagnosis.failures;
    let discovery = case.diagnosis.optional("API discovery", adds, case.lister.discovery());
    let groups = discovery.map_or(Vec::new(), |discovery| groups_of(blocking, discovery));
    let cut = Cut { groups: groups.clone(), plural: None };
    let program = blocking.program();
    let wanted = Wanted {
        target: blocking.target,
        finalizer: blocking.finalizer,
        program: program.as_deref(),
        is_recorded: blocking.is_program_recorded(),
        cut: &cut,
    };
    if groups.is_empty() {
        let mut all = controller::named(case, &wanted).into_iter();
        let is_visible = case.diagnosis.failures == failures;
        let found = Controllers { first: all.next(), also: all.collect(), is_visible, ..Controllers::default() };
        return (!case.diagnosis.pending).then_some((found, groups));
    }
    let mut found = controller::find(case, &wanted)?;
    // Who serves a kind of that domain is not the one if no role lets it change this object.
    let mut may =
        |one: &Candidate| !matches!(rights::may(case, &one.account, CHANGES, blocking.target), Permission::Not(_));
    let all: Vec<Candidate> = found.first.take().into_iter().chain(found.also).filter(|one| may(one)).collect();
    let mut all = all.into_iter();
    (found.first, found.also) = (all.next(), all.by_ref().collect());
    (!case.diagnosis.pending).then_some((found, groups))
}

/// API groups whose domain a finalizer begins with; of one that is known by its name those below that domain too. What
/// else is served below the domain of a company says nothing of one of its finalizers.
fn groups_of(blocking: &BlockingFinalizer, discovery: &Discovery) -> Vec<String> {
    let domain = blocking.finalizer.split('/').next().unwrap_or(blocking.finalizer);
    if !domain.contains('.') {
        return Vec::new();
    }
    let is_of_kubernetes = |name: &str| ["k8s.io", "kubernetes.io"].iter().any(|own| is_within(name, own));
    let groups = discovery.versions.iter().map(|served| served.group.as_str());
    let mut own: Vec<String> = groups
        .filter(|group| group.contains('.') && !is_of_kubernetes(group))
        .filter(|group| is_within(domain, group) || (blocking.known.is_some() && is_within(group, domain)))
        .map(str::to_owned)
        .collect();
    own.sort_unstable();
    own.dedup();
    own
}

/// Where nothing better leads to a program, one that is called as the finalizer begins; nothing while an answer is out.
fn namesake(case: &mut Case, blocking: &BlockingFinalizer, root: RootCause) -> Option<RootCause> {
    if blocking.known.is_some() || blocking.program().is_some() {
        return Some(root);
    }
    let first = controller::namesakes(case, blocking.finalizer).into_iter().next();
    if case.diagnosis.pending {
        return None;
    }
    let Some(runner) = first else { return Some(root) };
    let named = (
        blocking.target.to_string(),
        format!("finalizer {} begins with the name of {}", blocking.finalizer, runner.target),
    );
    match rights::may(case, &runner.account, CHANGES, blocking.target) {
        Permission::Open => None,
        // A name alone is no reason to call for rights.
        Permission::Not(why) => {
            let kind = blocking.target.resource.for_kubectl();
            let words = format!(
                "has the name that the finalizer begins with ({}); its account may not patch {kind}: {why}",
                runner.words(case.lister)
            );
            let missing = "whether it is the program behind the finalizer: only its name says so";
            Some(root.step(Step::about(&runner.target, words)).with_evidence([named]).probable(missing))
        }
        Permission::Granted | Permission::NotTold => {
            let serving = Serving { runner, by: Some(Basis::Name), is_alone: false, beside: vec![named] };
            serving::explain(case, blocking, serving)
        }
    }
}
