//! The annotation or label by which an object is paused: controllers have it in their own domains, under a few names.

use super::Meta;

/// What a key is called, without its domain and separators, whose value must not be a refusal.
const PAUSES: [&str; 9] = [
    "pause", "paused", "pausereconcile", "pausereconciliation", "reconcilepaused", "skipreconcile",
    "skipreconciliation", "suspend", "suspended",
];
/// The same of what is on as long as it is not switched off.
const SWITCHES: [&str; 3] = ["reconcile", "reconciliation", "managed"];

const NO: [&str; 4] = ["false", "no", "0", "disabled"];

/// A key that pauses the object, and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause<'m> {
    Annotation(&'m str, &'m str),
    Label(&'m str, &'m str),
}

impl Meta {
    /// By what the object is paused, if it is.
    pub fn pause(&self) -> Option<Pause<'_>> {
        let in_annotations = self.annotations.iter().find(|(key, value)| pauses(key, value));
        let in_labels = || self.labels.iter().find(|(key, value)| pauses(key, value));
        let annotation = in_annotations.map(|(key, value)| Pause::Annotation(key, value));
        annotation.or_else(|| in_labels().map(|(key, value)| Pause::Label(key, value)))
    }
}

/// Whether an annotation of this key is kept.
pub fn is_key(key: &str) -> bool {
    let name = bare(key);
    PAUSES.contains(&name.as_str()) || SWITCHES.contains(&name.as_str())
}

fn pauses(key: &str, value: &str) -> bool {
    let name = bare(key);
    // A bare key may be anything's.
    let is_no = NO.contains(&value.to_ascii_lowercase().as_str());
    key.contains('/') && ((PAUSES.contains(&name.as_str()) && !is_no) || (SWITCHES.contains(&name.as_str()) && is_no))
}

/// `skipreconcile` of `argocd.argoproj.io/skip-reconcile`.
fn bare(key: &str) -> String {
    let name = key.rsplit('/').next().unwrap_or(key);
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_known_by_the_last_name_of_its_key() {
        for (key, value) in [
            ("crossplane.io/paused", "true"),
            ("cluster.x-k8s.io/paused", ""),
            ("argocd.argoproj.io/skip-reconcile", "true"),
            ("strimzi.io/pause-reconciliation", "true"),
            ("kustomize.toolkit.fluxcd.io/reconcile", "disabled"),
            ("rabbitmq.com/pauseReconciliation", "true"),
            ("eck.k8s.elastic.co/managed", "false"),
        ] {
            assert!(is_key(key) && pauses(key, value), "{key}");
        }
        for (key, value) in [
            ("crossplane.io/paused", "false"),
            ("kustomize.toolkit.fluxcd.io/reconcile", "enabled"),
            ("paused", "true"),
            ("example.com/unpaused", "true"),
            ("example.com/managed-by", "false"),
        ] {
            assert!(!pauses(key, value), "{key}");
        }
    }
}
