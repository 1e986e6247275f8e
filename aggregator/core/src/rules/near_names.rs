//! An object that the user named and that is not there: it may be in another namespace, or be called nearly so.

use findings::near_name;

use super::phrases::{some, within};
use crate::rules::prelude::*;

/// More namespaces are counted.
const MAX_NAMES: usize = 5;

/// Names the namespaces that have an object of this kind and name; where none has, the object that may be meant.
pub fn offer(case: &mut Case, target: &ObjectRef) {
    let others: Vec<String> = match target.namespace {
        Some(_) => {
            let answer = case.lister.namesakes(&target.resource, &target.name);
            case.diagnosis.silently(answer).into_iter().flatten().filter_map(place).collect()
        }
        None => Vec::new(),
    };
    let offered = match others.len() {
        0 => near(case, target),
        1 => format!("; there is one in {}", some(&others, MAX_NAMES)),
        _ => format!("; there are some in {}", some(&others, MAX_NAMES)),
    };
    case.diagnosis.words.push_str(&offered);
}

/// ` (did you mean web-0?)`: an object of this kind in the same namespace. Secrets are not listed for that.
pub fn near(case: &mut Case, target: &ObjectRef) -> String {
    if target.resource.is_built_in() && target.resource.plural == "secrets" {
        return String::new();
    }
    let scope = target.namespace.as_deref().map_or(Scope::All, within);
    let all = case.diagnosis.silently(case.lister.metadata(&target.resource, scope)).unwrap_or_default();
    let names = all.iter().map(|one| one.metadata.name.as_str()).filter(|name| !is_sibling(target, name));
    near_name(&target.name, names).map_or(String::new(), |near| format!(" (did you mean {near}?)"))
}

/// Whether a controller may have given both names: of a pod or claim that is gone, another one is not meant.
fn is_sibling(target: &ObjectRef, name: &str) -> bool {
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = target.name.rsplit_once('-').zip(name.rsplit_once('-'));
    parts.is_some_and(|((own, end), (other, other_end))| {
        own == other && (target.is(known::PODS) || (is_number(end) && is_number(other_end)))
    })
}

/// `nc-node, Terminating`
fn place(object: &Object) -> Option<String> {
    let namespace = object.metadata.namespace.as_deref()?;
    let state = if object.metadata.deletion_timestamp.is_some() { " (Terminating)" } else { "" };
    Some(format!("{namespace}{state}"))
}
