//! All of them.

mod admission;
mod collector;
mod extension;
mod finalizers;
mod normal;
mod storage;
mod usage;
mod workloads;

use super::Situation;

/// All of them.
pub fn all() -> Vec<Situation> {
    [
        admission::all(),
        collector::all(),
        extension::all(),
        finalizers::all(),
        normal::all(),
        storage::all(),
        usage::all(),
        workloads::all(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
