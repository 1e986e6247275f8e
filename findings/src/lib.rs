//! The words that the agent and the aggregator share: gates, verdicts, causes, findings.
//!
//! Nothing here reads or writes anything. A [`Finding`] points to a [`Cause`] of the
//! [registry](mod@cause); whatever names a cause (documents, metric labels, event reasons,
//! alert links) takes its words from there.

#[macro_use]
mod named;

mod agent_image;
pub mod cause;
mod concurrency_limit;
pub mod event;
mod fault;
mod finalizer_patch;
mod finding;
mod finding_builder;
mod force;
mod gate;
mod ids;
mod kill_guard;
pub mod kubernetes_distribution;
mod mount_namespace;
mod near_name;
mod placeholder;
pub mod render;
mod report;
mod root_id;
mod subject;
mod text;
mod token_bucket;
mod verdict;

pub use agent_image::agent_image;
pub use cause::{
    Advice, Area, Budget, Cause, CauseRef, Circle, Circumstance, Circumstances, Cleanup, ClusterArea, Controller,
    Creation, Danger, Existence, JobManager, Patience, PodState, Proven, Reach, Unread, Users, Words,
};
pub use concurrency_limit::{ConcurrencyLimit, Permit};
pub use fault::{FaultKind, errno};
pub use finalizer_patch::{finalizer_patch, spec_finalizer_patch};
pub use finding::{Confidence, Evidence, Finding, Link, Remedy, Step};
pub use finding_builder::FindingBuilder;
pub use force::{ForceCost, ForcedVolume, OtherPod, Writer};
pub use gate::Gate;
pub use ids::{PodRef, PodUid};
pub use near_name::near_name;
pub use placeholder::{BadValue, Placeholder, ProcessId, Shape, Values};
pub use report::{GateState, GateView, NodeFinding, NodeReport, PodReport, Unknown};
pub use root_id::RootId;
pub use subject::{Entity, Subject};
pub use text::{clean, clean_sentence, duration, is_visible, quote_for_shell, some};
pub use token_bucket::TokenBucket;
pub use verdict::Verdict;
