//! What an answer cost: for the one who asks, and for the API server.

use super::fake::Cluster;
use crate::measure::{Run, Tool};
use crate::report::{Report, mebi, millis, yes};
use crate::stats::Spread;

/// Runs of one command, and what they asked.
#[derive(Default)]
pub struct Asked {
    runs: Vec<Run>,
    /// Requests of each run.
    requests: Vec<usize>,
    /// Bytes of the answers' bodies as they travel, of each run.
    bytes: Vec<u64>,
    /// The same before they were compressed.
    plain: Vec<u64>,
}

/// What is promised.
#[derive(Clone, Copy, Default)]
pub struct Targets {
    pub requests: Option<usize>,
    /// On the wire.
    pub megabytes: Option<f64>,
    pub cpu_ms: Option<f64>,
    /// From the command to its answer.
    pub clock_ms: Option<f64>,
    pub rss_mib: Option<f64>,
}

/// Runs it `runs` times and once before; every answer is checked.
pub fn repeat(
    cluster: &Cluster,
    tool: &Tool,
    runs: usize,
    tell: bool,
    check: &dyn Fn(&str) -> anyhow::Result<()>,
) -> anyhow::Result<Asked> {
    let mut asked = Asked::default();
    for run in 0..=runs {
        let before = cluster.requests()?.len();
        let done = tool.run()?;
        check(&done.output)?;
        let requests = cluster.requests()?.split_off(before);
        if run == 0 && tell {
            tell_all(&requests);
        }
        if run > 0 {
            asked.add(done, &requests);
        }
    }
    Ok(asked)
}

/// Each of them on a line: bytes that travelled, bytes before they were packed.
pub fn tell_all(requests: &[apiserver::Request]) {
    for request in requests {
        let apiserver::Request { verb, answered_bytes, plain_bytes, status, path, query, .. } = request;
        eprintln!("{answered_bytes:>9} of {plain_bytes:>9} {status} {verb} {path}?{query}");
    }
}

/// Runs it once, whatever it says.
pub fn once(cluster: &Cluster, tool: &Tool) -> anyhow::Result<Asked> {
    let mut asked = Asked::default();
    let before = cluster.requests()?.len();
    let done = tool.run()?;
    asked.add(done, &cluster.requests()?.split_off(before));
    Ok(asked)
}

impl Asked {
    fn add(&mut self, run: Run, requests: &[apiserver::Request]) {
        self.runs.push(run);
        self.requests.push(requests.len());
        self.bytes.push(requests.iter().map(|request| request.answered_bytes).sum());
        self.plain.push(requests.iter().map(|request| request.plain_bytes).sum());
    }
}

/// Adds the head of the table.
pub fn head(report: &mut Report) {
    report.text("| command | requests | MB on the wire (uncompressed) | CPU ms (min / **median** / max) | clock ms | RSS MiB (max) | target | met |");
    report.text("|---|---|---|---|---|---|---|---|");
}

/// Adds one command; says whether its targets are met.
pub fn row(report: &mut Report, what: &str, asked: &Asked, targets: Targets) -> bool {
    let spread = |of: fn(&Run) -> f64| Spread::of(asked.runs.iter().map(of));
    let (Some(cpu), Some(clock), Some(rss)) = (
        spread(|run| millis(run.cost.cpu_us)),
        spread(|run| millis(run.cost.wall_us)),
        spread(|run| mebi(run.cost.rss_kib)),
    ) else {
        return false;
    };
    let requests = asked.requests.iter().copied().max().unwrap_or(0);
    let most = |bytes: &[u64]| bytes.iter().copied().max().unwrap_or(0) as f64 / 1e6;
    let (megabytes, plain) = (most(&asked.bytes), most(&asked.plain));
    let mut wanted = Vec::new();
    let mut met = Vec::new();
    if let Some(most) = targets.requests {
        wanted.push(format!("≤ {most} requests"));
        met.push(requests <= most);
    }
    if let Some(most) = targets.megabytes {
        wanted.push(format!("≤ {most:.0} MB"));
        met.push(megabytes <= most);
    }
    if let Some(most) = targets.cpu_ms {
        wanted.push(format!("CPU ≤ {most:.0} ms"));
        met.push(cpu.median <= most);
    }
    if let Some(most) = targets.clock_ms {
        wanted.push(format!("clock ≤ {most:.0} ms"));
        met.push(clock.median <= most);
    }
    if let Some(most) = targets.rss_mib {
        wanted.push(format!("RSS ≤ {most:.0} MiB"));
        met.push(rss.max <= most);
    }
    let says: Vec<&str> = met.iter().map(|&met| yes(met)).collect();
    report.text(format!(
        "| {what} | {requests} | {megabytes:.1} ({plain:.1}) | {cpu} | {clock} | {:.1} | {} | {} |",
        rss.max,
        wanted.join(", "),
        says.join(", ")
    ));
    met.iter().all(|&met| met)
}
