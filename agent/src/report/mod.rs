//! Findings as words: the tree for people, JSON for scripts.

pub mod event;
mod explain;
mod json;
mod tree;
mod wrap;

pub use explain::explain;
pub use json::json;
pub use tree::{Detail, tree};
