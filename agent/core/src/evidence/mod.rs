//! What the judgement knows, and what it lacks.
//!
//! The causes and the gates ask [`Facts`]. What nobody has asked of the node yet becomes a
//! [`Question`](crate::observation::Question), and the judgement goes on without the answer.

mod answered;
mod facts;

pub use facts::Facts;
