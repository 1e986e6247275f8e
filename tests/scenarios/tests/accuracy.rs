//! What is said, beside what is so: every two scenarios that fit on one node, healthy nodes on which something is odd,
//! and, where it is asked for, every scenario alone; as a matrix.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use findings::NodeReport;
use lab::Node;
use lab::scenario::{self, Cure, Expect, Scenario, Staged, pair};

use super::{ask, compare};

/// So long pairs are tried where nothing else is said; `make accuracy` tries more of them.
const MINUTES: u64 = 3;
/// In this order.
const SEED: u64 = 20_779;

/// Of one expected cause: how often it was to be found, and what was said of its pod.
#[derive(Default)]
struct Row {
    staged: usize,
    found: usize,
    /// Other causes, said of the same pod.
    others: BTreeMap<String, usize>,
}

/// All that was tried.
#[derive(Default)]
struct Matrix {
    rows: BTreeMap<String, Row>,
    wrong: Vec<String>,
    /// How long each part of all tries took.
    spent: BTreeMap<&'static str, Duration>,
}

/// Nothing may be said of a healthy node.
pub fn odd(scenario: &Scenario) -> anyhow::Result<()> {
    tried(&mut Matrix::default(), &[scenario])
}

/// Every two, shuffled, as long as there is time. `ACCURACY_MINUTES` and `ACCURACY_SEED` say how many and which;
/// `ACCURACY_WITH=NAME`: those with one scenario, a new one say.
pub fn pairs() -> anyhow::Result<()> {
    let minutes = number("ACCURACY_MINUTES")?.unwrap_or(MINUTES);
    // The same ones each time: what fails is of the change that is tried.
    let seed = number("ACCURACY_SEED")?.unwrap_or(SEED);
    let mut matrix = Matrix::default();
    pair::once_wrong().for_each(|pair| matrix.note(&pair));
    let (count, all) = some_pairs(&mut matrix, seed, Duration::from_secs(60 * minutes));
    ensure!(all > 0, "there are no pairs: is ACCURACY_WITH a scenario that is staged beside others?");
    println!("{count} of {all} pairs, seed {seed}; {}", matrix.spent());
    print!("{}", matrix.table());
    ensure!(matrix.wrong.is_empty(), "of {count} pairs, seed {seed}:\n{}", matrix.wrong.join("\n"));
    Ok(())
}

/// Everything, written to `docs/evidence/accuracy.md`. Only when it is asked for: it takes hours.
pub fn all(path: &str) -> anyhow::Result<()> {
    let minutes = number("ACCURACY_MINUTES")?.map_or(Duration::MAX, |minutes| Duration::from_secs(60 * minutes));
    let seed = number("ACCURACY_SEED")?.unwrap_or_else(today);
    let possible = || scenario::all().filter(|scenario| scenario.obstacle().is_none());
    let (mut alone, mut odd, mut pairs) = (Matrix::default(), Matrix::default(), Matrix::default());
    possible().for_each(|scenario| alone.note(&[scenario]));
    scenario::ODD.iter().for_each(|scenario| odd.note(&[scenario]));
    let (count, of) = some_pairs(&mut pairs, seed, minutes);
    print!("alone:\n{}in pairs:\n{}", alone.table(), pairs.table());
    let possible = possible().count();
    let mut text = format!(
        "# Accuracy\n\n```sh\nsudo make accuracy                        # hours; writes this page\n\
         sudo make accuracy ACCURACY_MINUTES=30    # pairs for half an hour only\n```\n\n\
         What `check` says, beside what is so, on a lab node whose pods are really stuck. Which pairs do not fit on one node, \
         and why, stands in `tests/lab/src/scenario/pair.rs`; of what is odd on a healthy node (`odd.rs`) nothing is to be \
         said. What was seen on clusters with a real kubelet: [seen-on.md](seen-on.md).\n\n\
         ## Result\n\n{}, commit {}, Linux {}.\n\n\
         | | tried | right |\n|---|---|---|\n\
         | scenarios, each alone | {possible} | {} |\n\
         | pairs on one node (of {of} that fit; seed {seed}) | {count} | {} |\n\
         | healthy nodes on which something is odd | {} | {} |\n",
        jiff::Zoned::now().date(),
        std::env::var("COMMIT").unwrap_or_default(),
        kernel(),
        possible - alone.wrong.len(),
        count - pairs.wrong.len(),
        scenario::ODD.len(),
        scenario::ODD.len() - odd.wrong.len(),
    );
    let wrong: Vec<&String> = alone.wrong.iter().chain(&odd.wrong).chain(&pairs.wrong).collect();
    if !wrong.is_empty() {
        text.push_str("\n## Wrong\n\n");
        wrong.iter().try_for_each(|wrong| writeln!(text, "* {}", wrong.lines().next().unwrap_or_default()))?;
    }
    fs::write(path, text).with_context(|| format!("write {path}"))?;
    ensure!(wrong.is_empty(), "{} are wrong: see {path}", wrong.len());
    Ok(())
}

/// How many were tried, and of how many.
fn some_pairs(matrix: &mut Matrix, seed: u64, time: Duration) -> (usize, usize) {
    let begun = Instant::now();
    let mut pairs = pair::pairs();
    if let Ok(name) = std::env::var("ACCURACY_WITH") {
        pairs.retain(|pair| pair.iter().any(|scenario| scenario.name == name));
    }
    let all = pairs.len();
    fastrand::Rng::with_seed(seed).shuffle(&mut pairs);
    let mut count = 0;
    for pair in pairs {
        if begun.elapsed() >= time {
            break;
        }
        matrix.note(&pair);
        count += 1;
    }
    (count, all)
}

impl Matrix {
    /// Tries these together, and keeps what was wrong.
    fn note(&mut self, scenarios: &[&Scenario]) {
        if let Err(error) = tried(self, scenarios) {
            let names: Vec<&str> = scenarios.iter().map(|scenario| scenario.name).collect();
            let wrong = format!("{}: {error:#}", names.join(" with "));
            eprintln!("{wrong}");
            self.wrong.push(wrong);
        }
    }

    /// What was said of each pod of which this is expected.
    fn count(&mut self, staged: &Staged, report: &NodeReport) {
        for expect in &staged.expect {
            let Some(cause) = expect.cause else { continue };
            let said = said_of(expect, report);
            let row = self.rows.entry(cause.to_owned()).or_default();
            row.staged += 1;
            row.found += usize::from(said.contains(&cause));
            let meant = |other: &&str| {
                staged.expect.iter().any(|one| one.pod_uid == expect.pod_uid && one.cause == Some(*other))
            };
            for other in said.into_iter().filter(|other| !meant(other)) {
                *row.others.entry(other.to_owned()).or_default() += 1;
            }
        }
    }

    /// Does one part of a try.
    fn timed<T>(&mut self, part: &'static str, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = work();
        *self.spent.entry(part).or_default() += begun.elapsed();
        done
    }

    fn spent(&self) -> String {
        let parts = self.spent.iter().map(|(part, spent)| format!("{part} {} s", spent.as_secs()));
        parts.collect::<Vec<_>>().join(", ")
    }

    fn table(&self) -> String {
        let mut text = "| so | staged | said | said beside it |\n|---|---|---|---|\n".to_owned();
        for (cause, row) in &self.rows {
            let others: Vec<String> = row.others.iter().map(|(other, count)| format!("{other} {count}")).collect();
            let others = if others.is_empty() { "–".to_owned() } else { others.join(", ") };
            text.push_str(&format!("| {cause} | {} | {} | {others} |\n", row.staged, row.found));
        }
        text
    }
}

fn said_of<'a>(expect: &Expect, report: &'a NodeReport) -> Vec<&'a str> {
    let of_node = report
        .node_findings
        .iter()
        .filter(|found| expect.pod_uid.as_ref().is_none_or(|uid| found.pods.iter().any(|pod| pod.uid.as_str() == uid)));
    let of_pod = report.pods.iter().filter(|pod| expect.pod_uid.as_deref() == Some(pod.pod.uid.as_str()));
    let mut said: Vec<&str> = of_pod.flat_map(|pod| &pod.findings).map(|finding| finding.cause.id).collect();
    said.extend(of_node.map(|found| found.finding.cause.id));
    said.sort_unstable();
    said.dedup();
    said
}

/// Stages these on one node, and asks.
fn tried(matrix: &mut Matrix, scenarios: &[&Scenario]) -> anyhow::Result<()> {
    let node = matrix.timed("nodes up", || Node::up(&lab::default_dir())).context("bring the node up")?;
    let mut all =
        Staged { pods: Vec::new(), expect: Vec::new(), cure: Cure::None, known_good: Vec::new(), ends: false };
    for scenario in scenarios {
        let staged = matrix.timed("staged", || (scenario.stage)(&node));
        let staged = staged.with_context(|| format!("stage {}", scenario.name))?;
        all.pods.extend(staged.pods);
        all.expect.extend(staged.expect);
    }
    let answer = matrix.timed("asked", || ask::check_for_scripts(&node))?;
    matrix.count(&all, &answer.report);
    compare::expected(&all, &answer).with_context(|| format!("the answer was:\n{}", answer.text))?;
    matrix.timed("nodes down", || node.down()).context("take the node down")
}

fn number(name: &str) -> anyhow::Result<Option<u64>> {
    let value = std::env::var(name).ok();
    value.map(|value| value.parse().with_context(|| format!("{name} is no number: {value:?}"))).transpose()
}

fn today() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_second() / 86_400).unwrap_or_default()
}

fn kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    // What its builder adds is of no use to anybody else.
    release.trim().split('-').next().unwrap_or_default().to_owned()
}
