//! Why a namespace is not empty, or does not go when it is.

pub(super) mod conditions;
pub(super) mod failing_lists;
pub(super) mod finish;
pub(super) mod unlisted;

pub use conditions::*;
pub use failing_lists::*;
pub use finish::*;
pub use unlisted::*;
