//! The answer in words: a first screen, trees and a table for people, JSON and YAML for scripts, drawings.

mod deleter;
mod drawing;
mod jsonpath;
mod name;
mod normal;
mod redact;
mod scanned;
mod screen;
mod share;
mod short_names;
mod summary;
mod table;
mod tree;
mod yaml;

pub use drawing::{dot, mermaid};
pub use jsonpath::{Columns, Template};
pub use name::name;
pub use redact::redact;
pub use screen::screen;
pub use share::share;
pub use summary::not_read;
pub use table::table;
pub use tree::{explain, tree};
pub use yaml::yaml;
