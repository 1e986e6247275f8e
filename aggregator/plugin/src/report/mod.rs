//! The answer in words: a first screen, trees and a table for people, JSON and YAML for scripts, drawings.

mod blocks;
mod drawing;
mod name;
mod screen;
mod table;
mod tree;
mod which;
mod words;
mod yaml;

pub use blocks::count;
pub use drawing::{dot, mermaid};
pub use name::name;
pub use screen::screen;
pub use table::table;
pub use tree::{explain, tree};
pub use which::Which;
pub use yaml::yaml;
