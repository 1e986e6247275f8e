//! The fake as its clients see it: over HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails says so by a panic")]

mod faults;
mod lists;
mod load;
mod recordings;
mod rights;
mod support;
mod validation;
mod watches;
mod writes;
