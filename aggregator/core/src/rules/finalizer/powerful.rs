//! A program that may change everything: its rights lead to no kind, and something else may lead from the object to it.

use super::blocking_finalizer::BlockingFinalizer;
use super::controller::{self, Controllers};
use super::installation;
use super::setter;
use super::workloads_of_account::Runner;
use crate::rules::phrases::Quote;
use crate::rules::prelude::*;

/// What leads from the finalizer to a program, in words.
type Link<'l> = &'l dyn Fn(&Runner) -> Option<String>;

/// A shorter name of a kind begins the names of unrelated programs.
const MIN_KIND_CHARS: usize = 8;

/// The one of them that is of the same installation as the kind, or set the finalizer, or has its name or that of the kind.
/// Where several are, none.
pub fn find<'a>(case: &mut Case, blocking: &BlockingFinalizer, found: &Controllers<'a>) -> Option<(Runner<'a>, Quote)> {
    if found.powerful.is_empty() {
        return None;
    }
    let crd = if blocking.is_custom() { installation::definition(case, &blocking.target.resource) } else { None };
    let program = blocking.program();
    let is_set_by = |runner: &Runner| {
        let program = program.as_deref()?;
        let object = runner.workload?;
        setter::is_it(program, &runner.target.name, object)
            .then(|| format!("it has the name of {program}, which set the finalizer"))
    };
    let is_installed_with = |runner: &Runner| {
        let link = installation::link(crd?, &runner.workload?.metadata)?;
        Some(format!("installed with the CRD: {link}"))
    };
    let is_named = |runner: &Runner| is_named_by(blocking, runner);
    let links: [Link; 3] = [&is_set_by, &is_installed_with, &is_named];
    let mut left: Vec<&Runner> = found.powerful.iter().collect();
    for link in links {
        let linked: Vec<_> = left.iter().filter_map(|runner| Some((*runner, link(runner)?))).collect();
        if let [(runner, says)] = linked.as_slice() {
            let says = format!("may change everything, and {says}");
            return Some(((*runner).clone(), (runner.target.to_string(), says)));
        }
        if !linked.is_empty() {
            left = linked.into_iter().map(|(runner, _)| runner).collect();
        }
    }
    None
}

/// Which name of the object is that of the program.
fn is_named_by(blocking: &BlockingFinalizer, runner: &Runner) -> Option<String> {
    let BlockingFinalizer { target, finalizer, .. } = blocking;
    let name = controller::bare(&runner.target.name);
    if !setter::is_telling(name) {
        return None;
    }
    if controller::is_named_in(finalizer, runner) {
        return Some(format!("finalizer {finalizer} has its name"));
    }
    if !blocking.is_custom() {
        return None;
    }
    if controller::is_named_in(&target.resource.group, runner) {
        return Some(format!("the API group {} has its name", target.resource.group));
    }
    let kind = target.kind.to_lowercase();
    let is_compound = target.kind.chars().skip(1).any(char::is_uppercase) && kind.len() >= MIN_KIND_CHARS;
    let begins = || is_compound && runner.target.name.replace('-', "").starts_with(&kind);
    (name == kind || name == &*target.resource.plural || begins())
        .then(|| format!("its name begins with that of kind {}", target.kind))
}
