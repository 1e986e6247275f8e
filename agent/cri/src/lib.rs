//! The part of the Container Runtime Interface (`runtime.v1`) that why-terminating reads.
//!
//! The messages are declared by hand, each with only the fields that are used: protobuf skips the
//! fields it does not know, so a list of 200 containers decodes into a few kilobytes, and no
//! `protoc` is needed to build. What is *not* declared cannot be called: there is no
//! `StopContainer`, no `RemovePodSandbox` here. The field numbers are those of
//! `k8s.io/cri-api/pkg/apis/runtime/v1/api.proto`; the lab proves them against a real containerd.
//!
//! Every call has a connect deadline and a request deadline: a runtime that is stopped accepts the
//! connection (the kernel's backlog does) and then never answers.

mod bounded;
mod connection;
mod message;
mod reader;

pub use bounded::{List, Pairs, key};
pub use connection::{Call, CarriedAnswer, Carrier, Connection, RpcError};
pub use message::*;
pub use reader::{RuntimeReader, method};
