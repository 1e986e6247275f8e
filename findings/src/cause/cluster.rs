//! What the API shows: causes outside of the node, found from the API server's answers alone.

mod admission;
mod api;
mod control_plane;
mod finalizer;
mod known_finalizer;
mod namespace;
mod pod;
mod storage;

pub use admission::*;
pub use api::*;
pub use control_plane::*;
pub use finalizer::*;
pub use known_finalizer::*;
pub use namespace::*;
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
    storage::ALL,
];
