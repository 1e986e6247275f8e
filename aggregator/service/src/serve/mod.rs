//! The running service: its tasks, and what ends them.

mod events;
mod incident_store;
mod lease;
mod queries;
mod service;
mod settings;
mod signals;
mod watches;

pub use lease::LeaseName;
pub use service::serve;
pub use settings::Settings;
pub use signals::ended_by_signal;
pub use watches::Relists;
