//! The answer in words: a first screen, trees and a table for people, JSON and YAML for scripts, drawings.

mod blocks;
mod drawing;
mod name;
mod root_selector;
mod screen;
mod summary;
mod table;
mod tree;
mod yaml;

pub use blocks::count;
pub use drawing::{dot, mermaid};
pub use name::name;
pub use root_selector::RootSelector;
pub use screen::screen;
pub use table::table;
pub use tree::{explain, tree};
pub use yaml::yaml;
