//! A test that fails is tried once more: the machine may have stood still meanwhile. The failure is still printed, last, and
//! more than a few fail the run: a test that fails now and then has a race to be found.

use std::sync::Mutex;

use libtest_mimic::Failed;

/// So many tests may pass only when tried again.
const MOST: usize = 2;

static FAILURES: Mutex<Vec<Failure>> = Mutex::new(Vec::new());

struct Failure {
    name: &'static str,
    why: String,
    passed_then: bool,
}

/// Runs a test, a second time if it fails.
pub fn run(name: &'static str, test: impl Fn() -> anyhow::Result<()>) -> Result<(), Failed> {
    let Err(first) = test() else { return Ok(()) };
    let then = test();
    let failure = Failure { name, why: in_short(&first), passed_then: then.is_ok() };
    if let Ok(mut failures) = FAILURES.lock() {
        failures.push(failure);
    }
    then.map_err(|error| Failed::from(format!("{error:#}\n\nIt failed before, too: {first:#}")))
}

/// Prints what has failed; whether too many did that passed later.
pub fn tell() -> bool {
    let failures = FAILURES.lock().map(|mut failures| std::mem::take(&mut *failures)).unwrap_or_default();
    for Failure { name, why, passed_then } in &failures {
        let state = if *passed_then { "passed when it was tried again" } else { "failed twice" };
        println!("{name} {state}; at first: {why}");
    }
    failures.iter().filter(|failure| failure.passed_then).count() > MOST
}

/// A line of each of an error's causes: some hold a whole answer.
fn in_short(error: &anyhow::Error) -> String {
    let causes = error.chain().map(|cause| {
        let text = cause.to_string();
        text.lines().next().unwrap_or_default().trim_end_matches(':').chars().take(300).collect::<String>()
    });
    causes.collect::<Vec<_>>().join(": ")
}
