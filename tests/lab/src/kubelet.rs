//! The kubelet stand-in: a process that runs the kubelet's gates in order, and stops where the
//! kubelet would stop.
//!
//! It is a mirror of Kubernetes 1.27 and later, where the pod worker goes from gate to gate; only
//! the times between two tries are shorter. It never unmounts or kills more than the kubelet does.

mod block;
mod cgroups;
mod csi;
mod gate;
mod log;
mod orphans;
mod process;
mod reconstruction;
mod volumes;
mod worker;

pub use gate::Gate;
pub use process::Kubelet;
