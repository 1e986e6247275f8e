//! For tests of what a kernel may refuse: a test that cannot run says so, also where it is counted as passed.

use std::io::Write as _;

/// Not by `eprintln!`: the test harness hides what a passed test prints with it.
pub(crate) fn skip(why: &str) {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "SKIPPED: {name}: {why}");
}
