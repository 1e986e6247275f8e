//! What several pages say.

use crate::cause::entry::{Advice, Cause, Danger, step};

pub(in crate::cause) const READ_CONFIGURATION: Advice = step("Read what the webhook is called for, and where")
    .run("kubectl get {configuration} -o yaml")
    .typed()
    .if_known();

pub(in crate::cause) const FINALIZE: Danger = Danger::new(
    "Emptying spec.finalizers of the namespace (PUT /finalize)",
    "The objects that could not be deleted stay in etcd, and nobody can remove them any more.",
);

pub(in crate::cause) const EMPTY_THE_NAMESPACE: Danger = Danger::new(
    "Emptying spec.finalizers of the namespaces (PUT /finalize)",
    "The namespace is deleted and its objects stay in etcd. They cannot even be patched until a namespace of that name \
        exists again, and whatever they stand for outside of the cluster is never cleaned up.",
);

pub(in crate::cause) const CONTENT_BY_HAND: Danger = Danger::new(
    "Deleting the objects by hand, or emptying spec.finalizers (PUT /finalize)",
    "Nothing is wrong with the objects. What is removed by hand is not cleaned up, and an emptied namespace leaves its \
        objects in etcd.",
);

/// For every finalizer whose clean-up matters.
pub(in crate::cause) const BY_HAND: Danger = Danger::new(
    "Removing the finalizer by hand (kubectl patch … finalizers: null) before its clean-up is done",
    "The clean-up it stands for is skipped for good: cloud disks, load balancers, DNS records, accounts stay and cost \
        money, and nobody knows of them any more.",
);

/// For every cause whose steps let a deletion go on that has stopped.
pub(in crate::cause) const DECIDE: Advice = step(
    "Decide first whether it should go at all: a deletion cannot be taken back, and whoever finishes it does so as soon \
        as it works again, with all that the object stands for",
);

impl Cause {
    /// Whether its first step is to decide that a deletion may go on: what that does depends on the finalizer.
    pub fn begins_with_decision(&self) -> bool {
        self.safe.first().is_some_and(|advice| advice.text == DECIDE.text)
    }
}

impl Danger {
    /// Whether it is to take some finalizer off by hand: what that breaks depends on the finalizer.
    pub fn is_any_finalizer_by_hand(&self) -> bool {
        self.action == BY_HAND.action
    }
}

/// For every pod whose node has not let it go.
pub(in crate::cause) const FORCE: Danger = Danger::new(
    "kubectl delete pod --force",
    "It removes the object only. What still runs keeps running and what is mounted stays mounted, and a replacement \
        can write to the same data.",
);

/// What a kubelet says, on whatever machine: the API does not tell its unit.
pub(in crate::cause) const KUBELET_JOURNAL: &str =
    "journalctl -u kubelet -u 'k3s*' -u 'k0s*' -u '*kubelite*' -u microshift -u edgecore --since -1h --no-pager";

#[cfg(test)]
mod tests {
    use crate::kubernetes_distribution::{DISTRIBUTIONS, is_unit};

    /// As `journalctl` matches it, which completes a name and no pattern.
    fn names(pattern: &str, unit: &str) -> bool {
        let Some(start) = pattern.strip_suffix('*') else { return is_unit(pattern, unit) };
        start.strip_prefix('*').map_or_else(|| unit.starts_with(start), |part| unit.contains(part))
    }

    #[test]
    fn the_journal_of_every_kubelet_is_read() {
        let patterns: Vec<&str> = super::KUBELET_JOURNAL
            .split(" -u ")
            .skip(1)
            .filter_map(|rest| rest.split(' ').next())
            .map(|pattern| pattern.trim_matches('\''))
            .collect();
        let writes_a_file = |of: &crate::kubernetes_distribution::Distribution| {
            of.rancher.is_some_and(|rancher| rancher.kubelet_log.is_some())
        };
        for unit in DISTRIBUTIONS.iter().filter(|of| !writes_a_file(of)).flat_map(|of| of.kubelets).map(|one| one.unit)
        {
            assert!(patterns.iter().any(|pattern| names(pattern, unit)), "{unit} is not among {patterns:?}");
        }
    }
}
