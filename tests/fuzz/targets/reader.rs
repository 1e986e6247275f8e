//! What a reader sends to its talker: any message is accepted, and what is written of it keeps the bounds of an Event.
// Fuzzes: findings/src/report.rs agent/reconcile/src agent/src/reader
#![no_main]

use std::{collections::BTreeSet, time::Duration};

use findings::NodeReport;
use reconcile::{Instant, Reconciler, Settings};
use reconcile::index::NodeInfo;
use reconcile::reconciler::{Command, Input, Scan, WriteOutcome};

/// `note` of events.k8s.io/v1, in bytes.
const LONGEST_NOTE: usize = 1024;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(report) = serde_json::from_slice::<NodeReport>(bytes) else { return };
    let at = |second: u64| Instant { steady: Duration::from_secs(second), wall_ms: 1_780_000_000_000 + second * 1000 };
    let mut reconciler = Reconciler::new("node-7", Settings::default(), true, 7, at(0));
    let node = NodeInfo { uid: "7b0c".to_owned(), ..NodeInfo::default() };
    reconciler.handle(Input::Node(Ok(Some(node))), at(0));
    reconciler.handle(Input::OwnEvents(Ok(Vec::new())), at(0));
    for minute in 1..5 {
        let now = at(minute * 60);
        let scan = Scan {
            began: now,
            at: now,
            took: Duration::ZERO,
            report: report.clone(),
            complete: minute % 2 == 0,
            forgotten: BTreeSet::new(),
        };
        let mut commands = reconciler.handle(Input::Scanned(Box::new(scan)), now);
        while let Some(draft) = commands.into_iter().find_map(|command| match command {
            Command::Write(draft) => Some(draft),
            _ => None,
        }) {
            assert!(draft.note.len() <= LONGEST_NOTE, "{}", draft.note);
            let event_time = draft.event_time.clone();
            commands = reconciler.handle(Input::Wrote(WriteOutcome::Done { event_time }), now);
        }
    }
});
