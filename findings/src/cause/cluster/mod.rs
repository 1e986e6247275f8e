//! What the API shows. Each file is named after that of its rule in `aggregator/core/src/rules`.

mod admission_policy;
mod api_service;
mod completed_pod;
mod control_plane;
mod crd;
mod deletion_cycle;
mod finalizer;
mod garbage_collector;
mod invalid_owner;
mod namespace;
mod node;
mod object;
mod owner;
mod persistent_volume;
mod persistent_volume_claim;
mod pod;
mod pod_not_terminating;
mod preview;
mod shared;
mod volume_attachment;
mod webhook;

// In the order of the documents.
files_of_causes! {
    api_service, control_plane, namespace::conditions, namespace::failing_lists, namespace::finish,
    namespace::unlisted, preview, webhook, admission_policy, crd, object, finalizer, finalizer::remover,
    finalizer::controller_reports, finalizer::registry, finalizer::users, finalizer::paused, finalizer::ineffective_removal, owner,
    garbage_collector, deletion_cycle, pod, pod_not_terminating, completed_pod, node, node::drain,
    persistent_volume_claim, persistent_volume, volume_attachment, invalid_owner,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What changes a cluster, as a word of a command.
    const CHANGES: &[&str] = &["delete", "taint", "scale", "edit", "create", "annotate", "label", "drain", "cordon"];

    #[test]
    fn the_first_step_only_looks() {
        for cause in ALL.iter().copied().flatten() {
            let first = cause.safe.first().and_then(|advice| advice.command).unwrap_or_default();
            let changes = first.split(' ').any(|word| CHANGES.contains(&word)) && !first.contains("--dry-run");
            assert!(!changes, "{}: {first}", cause.id);
        }
    }

    /// What a step says, people do: the warning beside it says until when not to.
    #[test]
    fn a_warning_does_not_forbid_what_a_step_says() {
        for cause in ALL.iter().copied().flatten() {
            let action = cause.danger.action;
            let takes_off = |text: &str| text.contains("finalizer off") && text.contains("take");
            let is_step = cause.safe.iter().any(|step| takes_off(step.text));
            let forbids = action.contains("finalizer off") || action.contains("finalizers off");
            assert!(!(is_step && forbids) || action.contains("before"), "{}: {action}", cause.id);
            for command in cause.safe.iter().filter_map(|step| step.command) {
                let act: Vec<&str> = command.split(' ').take(3).collect();
                let is_same = act.len() == 3 && action.contains(&act.join(" "));
                assert!(!is_same || action.contains("before"), "{}: {action} and {command}", cause.id);
            }
        }
    }

    #[test]
    fn no_step_skips_a_clean_up() {
        for advice in ALL.iter().copied().flatten().flat_map(|cause| cause.safe) {
            // The one that removes a single finalizer tests what it removes.
            let command = advice
                .command
                .unwrap_or_default()
                .replace(" patch {type} {name} -n {namespace} --type=json -p {finalizer_patch}", "");
            let command = command.replace(shared::FINALIZE_WITHOUT, "");
            let command = command.replace(" patch volumeattachment {attachment} --type=json -p {finalizer_patch}", "");
            for forbidden in [" patch ", " replace ", "--grace-period", "--raw /api/v1/namespaces", "/finalize"] {
                assert!(!command.contains(forbidden), "{command}");
            }
        }
    }
}
