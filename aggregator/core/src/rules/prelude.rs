//! What nearly every rule uses.

pub use findings::{Cause, Circumstance, Placeholder, cause};

pub use super::case::Case;
pub use crate::diagnosis::{Diagnosis, RootCause, Step};
pub use crate::lister::Lister;
pub use crate::state::*;
