//! What the API shows: causes outside of the node, found from the API server's answers alone.

mod admission;
mod api;
mod control_plane;
mod finalizer;
mod known_finalizer;
mod look_alike;
mod namespace;
mod node;
mod pod;
mod storage;

pub use admission::*;
pub use api::*;
pub use control_plane::*;
pub use finalizer::*;
pub use known_finalizer::*;
pub use look_alike::*;
pub use namespace::*;
pub use node::*;
pub use pod::*;
pub use storage::*;

/// Every cause the aggregator can name, from the widest to the narrowest.
pub(super) static ALL: &[&[&crate::cause::Cause]] = &[
    api::ALL,
    control_plane::ALL,
    namespace::ALL,
    admission::ALL,
    finalizer::ALL,
    known_finalizer::ALL,
    pod::ALL,
    node::ALL,
    storage::ALL,
    look_alike::ALL,
];

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

    #[test]
    fn no_step_skips_a_clean_up() {
        for advice in ALL.iter().copied().flatten().flat_map(|cause| cause.safe) {
            let command = advice.command.unwrap_or_default();
            for forbidden in [" patch ", " replace ", "--grace-period", "--raw /api/v1/namespaces", "/finalize"] {
                assert!(!command.contains(forbidden), "{command}");
            }
        }
    }
}
