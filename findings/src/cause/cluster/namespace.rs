//! Why a namespace is not empty, or does not go when it is.

pub(super) mod conditions;
pub(super) mod failing_lists;
pub(super) mod finish;
pub(super) mod unlisted;
