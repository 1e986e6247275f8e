//! A fake Kubernetes API server, on plain HTTP at 127.0.0.1.
//!
//! The files of its [`Store`] are the truth: writing one changes the world, and a crashed fake loses nothing. What it holds
//! in memory is only there to answer fast and to notify watchers. Beneath the files may lie a recording of what a real API
//! server answered.
//!
//! It behaves as a 1.36 server does, as far as an agent, an aggregator and kubectl notice: lists with pages and selectors,
//! metadata only, watches with bookmarks and streaming lists, server-side apply, the validation of events, compressed
//! answers, and the words and reasons of errors. [`Faults`] make it fail on purpose, and [`Store::requests`] lists what it
//! was asked.

mod apply;
mod attributes;
mod catalog;
mod detector;
mod event;
mod fake;
mod fault_answers;
mod faults;
mod feed;
mod list;
mod names;
mod object;
mod pack;
mod page_cache;
mod prepared;
mod rbac;
mod recording;
mod request;
mod requests;
mod reviews;
mod selector;
mod server;
mod status;
mod store;
mod watch;
mod world;
mod write;

/// The annotation of a pod that holds what its container has written.
pub const LOG: &str = "apiserver.example.com/log";

pub use fake::{FakeApiServer, VERSION, kubeconfig};
pub use faults::{Fault, Faults, Rule};
pub use prepared::Prepared;
pub use rbac::{USED, differences, guarded};
pub use recording::recordings;
pub use requests::Request;
pub use server::{serve, service};
pub use store::Store;
