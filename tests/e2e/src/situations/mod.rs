//! All of them.

mod api;
mod csi;
mod network;
mod node;
mod operator;
mod volume;

use crate::situation::Situation;

/// All of them.
pub fn all() -> Vec<Situation> {
    [api::all(), operator::all(), node::all(), volume::all(), network::all(), csi::all()]
        .into_iter()
        .flatten()
        .collect()
}
