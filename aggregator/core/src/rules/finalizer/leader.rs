//! Whether a controller with ready pods leads: of several copies only the holder of a Lease works.

use findings::duration;

use crate::rules::phrases::{age, within};
use crate::rules::prelude::*;

/// Who leads among the pods of a workload.
pub enum Leader {
    /// An answer is still out.
    Open,
    /// No Lease is held in the name of one of its pods: it elects none, or that is not visible.
    NotTold,
    /// The Lease is renewed.
    Leads {
        /// Where that stands.
        source: String,
        says: String,
    },
    /// Its holder does not renew it.
    Nobody {
        /// Where that stands.
        source: String,
        says: String,
    },
}

/// Looks for a Lease of the workload's namespace whose holder is named after one of its pods, as
/// controllers name themselves: `<pod>_<uid>`.
pub fn find(case: &mut Case, workload: &ObjectRef, object: &Workload) -> Leader {
    let Some(namespace) = workload.namespace.as_deref() else { return Leader::NotTold };
    let labels: Vec<String> =
        object.spec.selector.match_labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if labels.is_empty() {
        return Leader::NotTold;
    }
    let answer = case.lister.list::<Lease>(known::LEASES, within(namespace));
    let leases = case.diagnosis.optional(format!("leases of {namespace}"), "whether the controller leads", answer);
    let answer = case.lister.select::<Pod>(known::PODS, within(namespace), Select::Labels(labels.join(",")));
    let pods = case.diagnosis.optional(format!("pods of {workload}"), "which of them leads", answer);
    if case.diagnosis.pending {
        return Leader::Open;
    }
    let (Some(leases), Some(pods)) = (leases, pods) else { return Leader::NotTold };
    let is_of_pod = |lease: &Lease| pods.iter().any(|pod| is_named(&lease.spec.holder_identity, &pod.metadata.name));
    let is_of_gone =
        |lease: &Lease| was_pod_of(&lease.spec.holder_identity, workload) && case.lister.expired_for(lease).is_some();
    let (own, rest): (Vec<&Lease>, Vec<&Lease>) = leases.into_iter().partition(|lease| is_of_pod(lease));
    let shown = |lease: &Lease| format!("Lease {namespace}/{}", lease.metadata.name);
    if let Some(lease) = own.iter().find(|lease| case.lister.expired_for(lease).is_none()) {
        let renewed =
            lease.spec.renew_time.map_or(String::new(), |at| format!(", renewed {} ago", age(case.lister, at)));
        return Leader::Leads {
            source: shown(lease),
            says: format!("held by {}{renewed}", lease.spec.holder_identity),
        };
    }
    let late = |lease: &Lease, what: &str| {
        let late = duration(case.lister.expired_for(lease).unwrap_or(0));
        Leader::Nobody {
            source: shown(lease),
            says: format!("held by {}{what}, not renewed for {late}", lease.spec.holder_identity),
        }
    };
    match (own.first(), rest.into_iter().find(|lease| is_of_gone(lease))) {
        (Some(lease), _) => late(lease, ""),
        (None, Some(lease)) => late(lease, ", a pod that is gone"),
        (None, None) => Leader::NotTold,
    }
}

/// Whether a holder is this pod: its name, and then nothing that could belong to a longer name.
fn is_named(holder: &str, pod: &str) -> bool {
    let rest = holder.strip_prefix(pod).filter(|_| !pod.is_empty());
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.'))
}

/// Whether a holder is named as the pods of this workload are: `<deployment>-<hash>-<five>`,
/// `<statefulset>-<number>`, `<daemonset>-<five>`.
fn was_pod_of(holder: &str, workload: &ObjectRef) -> bool {
    let rest = holder.strip_prefix(&workload.name).and_then(|rest| rest.strip_prefix('-'));
    let Some(rest) = rest.and_then(|rest| rest.split('_').next()) else { return false };
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let is_five = |word: &str| word.len() == 5 && is_word(word);
    match (workload.kind.as_ref(), rest.split_once('-')) {
        ("Deployment", Some((hash, five))) => is_word(hash) && is_five(five),
        ("StatefulSet", None) => rest.parse::<u32>().is_ok(),
        ("DaemonSet", None) => is_five(rest),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_named, was_pod_of};
    use crate::state::{ObjectRef, known};

    #[test]
    fn a_pod_that_is_gone_is_known_by_its_name() {
        let is = |kind: &str, holder: &str| {
            let target =
                ObjectRef { kind: kind.to_owned().into(), ..ObjectRef::namespaced(known::DEPLOYMENTS, "a", "op") };
            was_pod_of(holder, &target)
        };
        assert!(
            is("Deployment", "op-7d9c8b6f5-x2k4q_8f1c")
                && is("StatefulSet", "op-0_8f1c")
                && is("DaemonSet", "op-x2k4q")
        );
        assert!(
            !is("Deployment", "op-webhook-7d9c8b6f5-x2k4q") && !is("Deployment", "op-0") && !is("StatefulSet", "op-a")
        );
        assert!(!is("Deployment", "other-7d9c8b6f5-x2k4q"));
    }

    #[test]
    fn a_holder_is_named_after_its_pod() {
        assert!(is_named("op-7d-x2", "op-7d-x2") && is_named("op-7d-x2_8f1c", "op-7d-x2"));
        assert!(!is_named("op-7d-x21_8f1c", "op-7d-x2") && !is_named("op-7d-x2-1", "op-7d-x2"));
        assert!(!is_named("anybody", "") && !is_named("other_op", "op"));
    }
}
