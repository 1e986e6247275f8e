//! What the judgement of a cluster asks for, and how kubectl would reach that cluster.

/// What was seen. Where there is no such answer the function ends with why.
macro_rules! seen {
    ($answer:expr) => {
        match $answer {
            Answer::Seen(seen) => seen,
            other => return other.and_then(|_| Answer::Missing),
        }
    };
}

mod bounded_client;
mod bounds;
mod connect;
mod counts;
mod credential_plugin;
mod discovery;
mod fault;
mod follow;
mod gather;
mod kind_scan;
mod kubelet_log;
mod list;
mod live;
mod objects;
mod pages;
mod paths;
mod pod_exec;
mod port_forward;
mod proxy;
mod retry_after;
mod scan;
mod table;
mod terminating;
mod watch;

pub use bounded_client::BoundedClient;
pub use bounds::{Bounds, ScanBudget};
pub use connect::{ConnectError, Connection, Defaults, connect, with_scheme};
pub use credential_plugin::ExecError;
pub use follow::{WatchStarts, changed, followed, versions};
pub use gather::{Unreachable, answer, gather, reach};
pub use live::{PROGRAM as AGENT_PROGRAM, read_report};
pub use paths::path;
pub use port_forward::forwarded_tls;
pub use watch::{version as version_to_watch_from, watch};
