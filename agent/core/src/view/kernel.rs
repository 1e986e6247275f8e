//! What changed between kernels.

use crate::observation::{Observation, Seen};

/// Whether a mere copy of a mount in another mount namespace keeps its directory or file from being removed. Since 3.18 the
/// kernel detaches such copies; RHEL and CentOS 7 can be configured to (`fs.may_detach_mounts`). A kernel of unknown version
/// is taken for one of today.
pub fn copies_block(seen: &Observation) -> bool {
    let is_old = version(&seen.node.kernel).is_some_and(|version| version < (3, 18));
    is_old && matches!(seen.node.may_detach_mounts, Seen::Missing | Seen::Seen(false))
}

/// Reads `3.10.0-1160.el7.x86_64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{FaultKind, sample};

    #[test]
    fn only_on_an_old_kernel_that_was_not_taught() {
        let mut seen = sample::node();
        assert!(!copies_block(&seen));
        for release in ["3.18.0", "4.18.0-553.el8.x86_64", "6.18.1+deb", "", "rolling"] {
            seen.node.kernel = release.into();
            assert!(!copies_block(&seen), "{release}");
        }
        seen.node.kernel = "3.10.0-1160.el7.x86_64".into();
        assert!(copies_block(&seen));
        seen.node.may_detach_mounts = Seen::Seen(true);
        assert!(!copies_block(&seen));
        seen.node.may_detach_mounts = Seen::failed("x", (FaultKind::Failed, "y"));
        assert!(!copies_block(&seen));
    }
}
