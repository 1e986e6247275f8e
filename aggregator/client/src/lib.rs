//! The API server: asked, followed and written to, within bounds. Nothing else of the project speaks to one.
//!
//! With the feature `cluster` it answers the questions of `aggregator-core`, finds credentials as kubectl does, and goes
//! through proxies. The agent needs none of that.

mod api_client;
mod certificates;
mod config;
mod counting;
mod fault;
mod list;
mod path;
mod pinned;
mod request;
mod retry;
mod watch;

#[cfg(feature = "cluster")]
mod cluster;

pub use kube::config as kubeconfig;
pub use kube::{Client, Config};

/// For whom a token must be made that the service accepts. Such a token says nothing to the API server, so that a service
/// that keeps it gains nothing.
pub const SERVICE_AUDIENCE: &str = "why-terminating";

pub use api_client::{ApiClient, Content, Limits};
#[cfg(feature = "cluster")]
pub use cluster::*;
pub use config::{TokenError, prepare};
pub use counting::counted;
pub use fault::{Fault, words};
pub use list::{Form, Freshness, List};
pub use path::{Selector, part};
pub use pinned::read_pinned;
pub use request::Response;
pub use retry::retrying;
pub use watch::{Change, Changes, Watch};
