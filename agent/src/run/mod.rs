//! The DaemonSet's process: the same look and the same judgement as `check`, at the right time, and
//! told as Events and metrics.

pub mod brain;
pub mod bucket;
pub mod index;
pub mod ledger;
pub mod moment;
pub mod schedule;
mod settings;

pub use moment::Moment;
pub use settings::Settings;
