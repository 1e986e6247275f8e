//! The answer in words: a tree and a table for people, JSON and YAML for scripts, drawings.

mod drawing;
mod explain;
mod name;
mod page;
mod table;
mod tree;

pub use drawing::{dot, mermaid};
pub use explain::explain;
pub use name::name;
pub use table::table;
pub use tree::{Depth, tree};
