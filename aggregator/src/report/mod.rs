//! The answer in words: a tree and a table for people, JSON and YAML for scripts, drawings.

mod drawing;
mod name;
mod table;
mod tree;
mod yaml;

pub use drawing::{dot, mermaid};
pub use name::name;
pub use table::table;
pub use tree::tree;
pub use yaml::yaml;
