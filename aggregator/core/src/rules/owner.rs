//! The owner of a pod that stays.

use crate::diagnosis::Diagnosis;
use crate::lister::Lister;
use crate::state::*;

/// What a missing or odd owner means, which people often take for the reason.
pub fn notes(lister: &Lister, target: &ObjectRef, meta: &Meta, diagnosis: &mut Diagnosis) {
    for owner in &meta.owner_references {
        let known = match owner.kind.as_str() {
            "StatefulSet" => known::STATEFUL_SETS,
            "DaemonSet" => known::DAEMON_SETS,
            _ => continue,
        };
        let answer = lister.get::<Workload>(known, target.namespace.as_deref(), &owner.name);
        if answer.is_missing() {
            diagnosis.note(format!(
                "Not the cause: the missing {} {}. {target} has a deletionTimestamp already, and a missing owner never \
                 holds what it owned.",
                owner.kind, owner.name
            ));
        } else if let Some(set) = answer.seen() {
            diagnosis.also_waits(format!("{} {} (waits for its pod)", owner.kind, owner.name));
            // More of its pods than this one.
            if owner.kind == "StatefulSet" && set.ready() + 1 < set.wanted() {
                let namespace = target.namespace.as_deref().unwrap_or_default();
                diagnosis.note(format!(
                    "StatefulSet {namespace}/{} has {} of {} pods ready. One that is not being deleted and not ready is \
                     looked at by its name: kubectl why-terminating pod/NAME -n {namespace}",
                    owner.name,
                    set.ready(),
                    set.wanted()
                ));
            }
        }
    }
}
