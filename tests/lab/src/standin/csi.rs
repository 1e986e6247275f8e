//! A CSI driver's node part: a registration socket, and a socket that unpublishes volumes.

mod driver;
mod message;
mod serve;

pub use driver::{CsiDriver, Manner};
pub use message::*;
