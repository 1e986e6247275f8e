//! The answer in words: a tree for people, JSON and YAML for scripts.

mod explain;
mod model;
mod page;
mod style;
mod tree;

pub use explain::explain;
pub use model::{ClusterReport, Held, Root, Victim};
pub use style::Style;
pub use tree::{Depth, tree};
