//! A double of the Kubernetes API server, on plain HTTP at 127.0.0.1.
//!
//! It has no memory: every request reads the [`Store`]'s files again, so whoever writes a file has
//! changed the world, and a crashed double loses nothing. It serves only what an agent of one node
//! asks for; anything else is answered with the `Status` object a real server sends for an unknown
//! path, so that a client which starts to ask for more is noticed.

mod routes;
mod status;
mod store;

pub use routes::serve;
pub use store::Store;
