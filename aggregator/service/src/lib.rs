//! The aggregator as a service: watches what is being deleted, judges it by the plugin's own rules, and serves it as metrics
//! and as an API, to each caller what that caller may see.
//!
//! ```text
//! watches, answers, time  →  Judge (aggregator-core)  →  Published  →  metrics, API
//!                               ↓ questions                  ↓
//!                            API server                  incidents (kept in a file)
//!                               ↑ Events, of one replica     ↓
//!                               └────────────────────────  event writer
//! ```

mod election;
mod helm_test;
mod http;
mod incidents;
mod judge;
mod judge_thread;
mod leader;
mod left_behind;
mod namespace_events;
mod neighbourhood;
mod published;
mod query_schedule;
mod requests;
mod resource_usage;
mod serve;
mod server_clock;

pub use helm_test::{HelmTest, helm_test};
pub use http::{Certificate, openapi, rendered};
pub use serve::{LeaseName, Settings, serve};
