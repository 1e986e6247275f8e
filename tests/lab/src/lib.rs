//! Pods that are really stuck, on this machine.
//!
//! A [`Node`] is one Kubernetes node in a directory: a containerd of its own, a kubelet's directory
//! tree, pod cgroups, a stand-in for the kubelet that runs the kubelet's gates in order, and a
//! fake API server. A [`scenario`] makes one pod of it stuck in one way, with real kernel
//! objects only, and says what a right diagnosis is and which cure lets the kubelet go on.
//!
//! Everything is found again from what is on disk and in cgroups, so [`Node::down`] also cleans up
//! after a lab that crashed.
//!
//! The lab's own processes are the lab's binary again, under another name (see [`standin`]). A
//! program that uses this crate must therefore start with [`standin::take_over`].

pub mod agent_pod;
pub mod cgroup;
mod cri_write;
pub mod image;
mod kubelet;
mod launch;
pub mod mounts;
mod network;
mod node;
mod pod;
pub mod process;
mod retry;
mod runtime;
pub mod scenario;
pub mod standin;
mod volume;

pub use kubelet::Gate;
pub use launch::Launch;
pub use node::{Layout, NODE_NAME, Node, Restart, default_dir};
pub use pod::{Container, Pod, PodRef, PodSpec};
pub use retry::{be_patient, patient, wait_for};
