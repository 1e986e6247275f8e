//! Who connects for a process that may not: a child that the reader forks before its own filter forbids it
//! `socket` and `connect`. It makes the reading calls of the CRI and of CSI registration, tries who listens
//! on a socket, and asks for the kubelet's health; nothing else can be said to it. It connects only to what lies
//! in the [`Directories`] that it opened at its start.

mod client;
mod directories;
mod message;
mod serve;

pub use client::Broker;
pub use directories::Directories;
pub use serve::start;
