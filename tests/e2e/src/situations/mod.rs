//! All of them.

mod api;
mod node;

use crate::situation::Situation;

/// All of them.
pub fn all() -> Vec<Situation> {
    api::all().into_iter().chain(node::all()).collect()
}
