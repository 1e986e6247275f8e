//! What the service reports, to each caller what that caller may see.

mod api;
mod cached_response;
mod caller;
mod connections;
mod metrics;
mod openapi;
mod page;
mod peer;
mod rate_limit;
mod rendered;
mod review;
mod router;
mod routes;
mod server;
mod shared;
mod stream;
mod tls;
mod unread_answers;
mod visibility;
mod write_rate;

pub use rendered::rendered;
pub use routes::openapi;
pub use server::{bind, serve};
pub use shared::{Served, Shared};
pub use tls::{Certificate, Tls};
pub use visibility::HIDDEN;
