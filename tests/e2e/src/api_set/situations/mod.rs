//! All of them.

mod admission;
mod collector;
mod control_plane;
mod extension;
mod finalizers;
mod idle;
mod known;
mod lost_nodes;
mod normal;
mod storage;
mod usage;
mod volumes;
mod workloads;

use super::Situation;

/// All of them.
pub fn all() -> Vec<Situation> {
    [
        admission::all(),
        collector::all(),
        control_plane::all(),
        extension::all(),
        finalizers::all(),
        idle::all(),
        known::all(),
        lost_nodes::all(),
        normal::all(),
        storage::all(),
        usage::all(),
        volumes::all(),
        workloads::all(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
