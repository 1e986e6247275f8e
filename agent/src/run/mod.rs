//! The DaemonSet's process: the same look and the same judgement as `check`, at the right time, and
//! told as Events and metrics.
//!
//! ```text
//! watch, answers, time  →  brain (pure: index, schedule, ledger)  →  commands  →  drive (look, list, write)
//! ```

pub mod api;
pub mod brain;
pub mod bucket;
pub mod clock;
mod drive;
pub mod index;
pub mod ledger;
pub mod logs;
pub mod metrics;
pub mod moment;
pub mod patience;
pub mod schedule;
pub mod serve;
mod settings;
pub mod worker;

pub use drive::{Options, run};
pub use moment::Moment;
pub use settings::Settings;
