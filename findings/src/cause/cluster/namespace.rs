//! Why a namespace is not empty, or does not go when it is.

pub(super) mod finish;
pub(super) mod pointers;
pub(super) mod unseen;

pub use finish::*;
pub use pointers::*;
pub use unseen::*;
