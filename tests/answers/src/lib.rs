//! Each page in `docs/causes` shows an answer that names its cause. `lab` has those of scenarios, by the scenario's name.
//! For causes that neither a
//! scenario nor a recording proves, the tests of the judgement keep one each, by the id of the cause: in `node` and
//! `cluster`. The first line of such a file says which test gives it; that test fails when it gives another one.
//! `UPDATE_GOLDEN=1 cargo test` keeps the shortest of the best. Read the difference.

#![allow(clippy::unwrap_used, clippy::panic, reason = "for tests")]

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Where the answers of this kind lie.
pub fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(kind)
}

/// Whether the answer of this scenario names the cause as a root.
pub fn is_shown_by(scenario: &str, cause: &str) -> bool {
    let answer = fs::read_to_string(folder("lab").join(format!("{scenario}.txt")));
    answer.is_ok_and(|text| text.contains(&format!("ROOT CAUSE {cause}:")))
}

/// What a test was answered.
pub struct Answer<'a> {
    /// The cause that it names.
    pub cause: &'a str,
    /// What makes it a poor example, the worst first.
    pub faults: &'a [bool],
    /// As a person reads it.
    pub text: &'a str,
}

thread_local! {
    /// How often the test of this thread has asked.
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

/// Which test asks, and for which time. A test has a thread of its own, named after it; a random input differs each time.
pub fn current_test() -> Option<String> {
    let count = ASKED.replace(ASKED.get() + 1);
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main" && !name.contains("properties"))?;
    Some(format!("{test} {count}"))
}

/// Finds the answer as it is kept, if it is this test's that is kept.
pub fn check_kept(folder: &Path, test: &str, answer: &Answer) {
    static WRITES: Mutex<()> = Mutex::new(());
    let Answer { cause, faults, text } = answer;
    let rank = faults.iter().fold(0, |rank, fault| 2 * rank + u8::from(*fault));
    let path = folder.join(format!("{cause}.txt"));
    let now = format!("{rank} {test}\n\n{text}");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let _alone = WRITES.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = fs::read_to_string(&path).ok();
        let order = |text: &str| (head(text).0, text.len(), text.to_owned());
        if kept.is_none_or(|kept| head(&kept).1 == test || order(&now) < order(&kept)) {
            fs::create_dir_all(folder).unwrap();
            fs::write(&path, now).unwrap();
        }
        return;
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let differs = head(&kept).1 == test && kept != now;
    assert!(!differs, "{} differs; UPDATE_GOLDEN=1 writes it again, read the difference\n{now}", path.display());
}

/// The rank, and which test keeps it.
fn head(text: &str) -> (u8, &str) {
    let (rank, test) = text.lines().next().and_then(|line| line.split_once(' ')).unwrap_or(("255", ""));
    (rank.parse().unwrap_or(u8::MAX), test)
}
