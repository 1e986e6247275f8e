//! What changed between kubelets.

use crate::observation::Observation;

/// A kubelet's minor version, `36` for v1.36.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KubeletMinor(pub u32);

impl KubeletMinor {
    /// What is assumed when the version is not known: the newest behaviour known here.
    pub const NEWEST: KubeletMinor = KubeletMinor(36);

    /// Reads `v1.36.2`, `v1.30.1+k3s1`, `1.29`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('v').unwrap_or(text).strip_prefix("1.")?;
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok().map(KubeletMinor)
    }

    /// Up to 1.26 `PodResourcesAreReclaimed` tests everything together before the object goes; since 1.27 the pod worker
    /// reports each gate that it has passed (kubernetes#115331). What happens at the gates has one order in both.
    pub fn tests_together(self) -> bool {
        self.0 <= 26
    }
}

/// The kubelet's version, which only the API server reports. The kubelet's program would print it, and no program of the
/// node is ever run.
pub fn reported_minor(seen: &Observation) -> Option<KubeletMinor> {
    KubeletMinor::parse(seen.api.get()?.kubelet_version.as_deref()?)
}

/// The kubelet's version, the newest when it is not known.
pub fn kubelet_minor(seen: &Observation) -> KubeletMinor {
    reported_minor(seen).unwrap_or(KubeletMinor::NEWEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_nodes_tell() {
        assert_eq!(KubeletMinor::parse("v1.36.2"), Some(KubeletMinor(36)));
        assert_eq!(KubeletMinor::parse("v1.26.15+k3s1"), Some(KubeletMinor(26)));
        assert_eq!(KubeletMinor::parse("k3s"), None);
    }

    #[test]
    fn the_boundary() {
        assert!(KubeletMinor(26).tests_together() && !KubeletMinor(27).tests_together());
    }
}
