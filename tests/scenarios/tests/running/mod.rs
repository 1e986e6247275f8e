//! `run` as a process, while something goes wrong around it.
//!
//! What takes hours is tested in virtual time, with the agent's reconciler alone. Here the real agent scans really stuck
//! pods and reports to a fake API server.

mod agent;
mod away;
mod cluster;
mod ending;
mod events;
mod false_sockets;
mod ground;
mod hostile;
mod leak;
mod many;
mod memory;
mod metrics;
mod node;
mod refused;
mod token;
mod told;

use std::time::Duration;

use libtest_mimic::{Arguments, Conclusion, Trial};

use super::trial;
pub use agent::Agent;
use ground::{Ground, Staged};

/// How long something may take that comes within seconds on an idle machine.
const LIMIT: Duration = Duration::from_secs(120);
/// So many tests share the node at a time.
const AT_ONCE: usize = 4;

/// Tests that break the node itself.
pub fn on_a_node_of_its_own() -> Vec<Trial> {
    vec![
        trial("run-tells-renews-and-ends", told::told),
        trial("run-while-the-node-fails", node::faults),
        trial("run-in-64-mib", memory::small),
        trial("run-in-32-mib-beside-a-huge-mount-table", hostile::mount_table),
        trial("run-in-32-mib-with-fat-events", hostile::events),
        trial("run-in-32-mib-with-fat-pods", hostile::pods),
        trial("run-in-32-mib-with-endless-answers", false_sockets::drivers),
        trial("run-in-32-mib-with-a-false-runtime", false_sockets::runtime),
        trial("run-beside-a-slow-fuse-server", hostile::slow_fuse),
        trial("run-is-no-leak", leak::none),
    ]
}

/// A test that breaks only its own API server.
type Test = fn(&Staged) -> anyhow::Result<()>;

const ON_ONE_NODE: &[(&str, Test)] = &[
    ("run-token-rotated", token::rotated),
    ("run-killed-before-it-was-heard", ending::killed_unheard),
    ("run-killed-after-it-was-heard", ending::killed_heard),
    ("run-ends-while-nobody-listens", ending::silent),
    ("run-ends-while-dns-is-silent", ending::nameless),
    ("run-ends-and-tells-first", ending::flushed),
    ("run-goes-on-after-a-restart", ending::restarted),
    ("run-ends-what-ended-meanwhile", ending::over_meanwhile),
    ("run-ends-what-was-never-answered", ending::over_unanswered),
    ("run-starts-without-the-api", away::at_start),
    ("run-while-watches-are-empty", away::empty_watches),
    ("run-while-the-api-flaps", away::flapping),
    ("run-waits-as-it-is-told", refused::busy),
    ("run-writes-a-vanished-event-again", refused::vanished),
    ("run-goes-on-with-other-words", refused::other_words),
    ("run-notices-a-node-made-anew", refused::node_anew),
    ("run-with-500-pods-at-once", many::pods),
];

/// Runs the tests that share a node, some at a time: mostly they wait.
pub fn on_one_node(mut arguments: Arguments) -> anyhow::Result<Conclusion> {
    arguments.test_threads = Some(AT_ONCE);
    let ground = Ground::default();
    let trials = ON_ONE_NODE.iter().map(|&(name, test)| {
        let ground = ground.clone();
        trial(name, move || test(&*ground.get()?))
    });
    let ended = libtest_mimic::run(&arguments, trials.collect());
    ground.down()?;
    Ok(ended)
}
