//! An object that the user named and that is not there: it may be in another namespace, or be called nearly so.

use findings::near_name;

use super::phrases::{some, within};
use crate::diagnosis::Diagnosis;
use crate::lister::Lister;
use crate::state::*;

/// More namespaces are counted.
const MAX_NAMES: usize = 5;

/// Names the namespaces that have an object of this kind and name; where none has, the object that may be meant.
pub fn offer(lister: &Lister, target: &ObjectRef, diagnosis: &mut Diagnosis) {
    let others: Vec<String> = match target.namespace {
        Some(_) => {
            let answer = lister.namesakes(&target.resource, &target.name);
            diagnosis.silently(answer).into_iter().flatten().filter_map(place).collect()
        }
        None => Vec::new(),
    };
    let offered = match others.len() {
        0 => near(lister, target, diagnosis),
        1 => format!("; there is one in {}", some(&others, MAX_NAMES)),
        _ => format!("; there are some in {}", some(&others, MAX_NAMES)),
    };
    diagnosis.words.push_str(&offered);
}

/// ` (did you mean web-0?)`: an object of this kind in the same namespace. Secrets are not listed for that.
pub fn near(lister: &Lister, target: &ObjectRef, diagnosis: &mut Diagnosis) -> String {
    if target.resource.is_built_in() && target.resource.plural == "secrets" {
        return String::new();
    }
    let scope = target.namespace.as_deref().map_or(Scope::All, within);
    let all = diagnosis.silently(lister.metadata(&target.resource, scope)).unwrap_or_default();
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
