//! The API server: asked, within bounds, and never told to change anything.

mod ask;
mod connect;
mod discovery;
mod going;
mod objects;
mod pages;
mod paths;
mod scan;

pub use ask::{Bounds, Unreachable, gather, reach, words};
pub use connect::{ConnectError, Connection, connect};
