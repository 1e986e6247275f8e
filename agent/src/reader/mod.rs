//! The reader: the half of the agent that may look at every process, and has neither a token nor a way to the network. The
//! other half, the *talker*, has both and no rights on the node. It asks the reader over a unix socket for a scan, with what
//! the API server reports, and receives the judgement.
//!
//! ```text
//! talker (run, check --reader)  ──ToReader──▶  reader  ──questions──▶  host/, and host/broker for sockets
//!                               ◀──ToTalker──          ◀──answers────
//! ```

mod client;
mod judged;
mod message;
mod serve;

pub use client::Client;
pub use judged::{Judged, SOURCES};
pub use message::{ToReader, ToTalker, Wanted};
pub use serve::{Options, run};
