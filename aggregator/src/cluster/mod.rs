//! The API server: asked, within bounds, and never told to change anything.

mod ask;
mod connect;
mod discovery;
mod objects;
mod paths;

pub use ask::{Bounds, Unreachable, gather, reach, words};
pub use connect::{ConnectError, Connection, connect};
