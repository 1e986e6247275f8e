//! What `run` costs on a full node of which no pod is to go, beside `prometheus-node-exporter`.

mod pair;
mod scrape;
mod service;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use lab::Node;

use crate::report::{Report, yes};
use crate::stage::{Crowded, Size};
use crate::{compare, machine};
use service::{Cost, Service};

/// How often Prometheus asks.
const SCRAPE: Duration = Duration::from_secs(30);

/// Milliseconds of CPU per second.
const CPU_TARGET: f64 = 1.0;
/// MiB, at any time.
const RSS_TARGET: f64 = 12.0;

/// For how long, and beside what.
#[derive(Clone, Debug, clap::Args)]
pub struct Idle {
    /// How long both run
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    minutes: u64,
    /// What it is compared with
    #[arg(long, default_value = "prometheus-node-exporter")]
    exporter: PathBuf,
    /// In one process, as on a host without Kubernetes around it
    #[arg(long)]
    single: bool,
}

/// Both, after some time.
struct Sample {
    agent: Cost,
    exporter: Cost,
    /// The reader, its broker and the talker, which is `agent`; none with `--single`.
    pair: Option<pair::Cost>,
}

/// What the agent did all the time.
struct Did {
    looks: f64,
    look_seconds: f64,
    requests: BTreeMap<String, usize>,
    writes: usize,
}

impl Idle {
    /// Measures on a node in `dir`; returns the report, and whether all targets are met.
    pub fn run(&self, dir: &Path, agent: &Path, size: Size) -> anyhow::Result<(String, bool)> {
        anyhow::ensure!(agent.exists(), "{} is missing: build it in release mode first", agent.display());
        compare::nobody_else()?;
        let crowded = Crowded::up(dir, size, 0)?;
        let node = &crowded.node;
        let mut report = Report::default();
        report.text(format!(
            "Machine: {}; load when the measuring began: {:.1}.",
            machine::describe(),
            machine::load()
        ));
        report.text(format!(
            "Compared with: {}. Both are scraped every {} s.\n",
            machine::version(&self.exporter, "--version"),
            SCRAPE.as_secs()
        ));
        report.census(machine::Census::take());
        let asked_before = node.store().requests()?.len();
        let exporter = Service::start(node, "exporter", &self.exporter, |port| {
            vec![format!("--web.listen-address=127.0.0.1:{port}")]
        })?;
        let socket = node.layout().dir().join("reader.sock");
        let reader = (!self.single).then(|| pair::Reader::start(node, agent, &socket)).transpose()?;
        let agent = Service::start(node, "agent", agent, |port| {
            let flags = ["run".to_owned(), format!("--listen=127.0.0.1:{port}")].into_iter();
            let place = node.agent_args().into_iter();
            match &reader {
                None => flags.chain(place).collect(),
                Some(_) => {
                    let place = place.filter(|flag| !pair::is_of_the_node(flag));
                    flags.chain([format!("--reader={}", socket.display())]).chain(place).collect()
                }
            }
        })?;
        let samples = self.watch(&agent, reader.as_ref(), &exporter)?;
        let did = did(node, &agent, asked_before)?;
        report.text(format!("Load when it ended: {:.1}.\n", machine::load()));
        let met = table(&mut report, &samples, &did).context("no samples")?;
        Ok((report.finish(), met))
    }

    fn watch(&self, agent: &Service, reader: Option<&pair::Reader>, exporter: &Service) -> anyhow::Result<Vec<Sample>> {
        let begun = Instant::now();
        let mut samples = Vec::new();
        for round in 1..=self.minutes * 60 / SCRAPE.as_secs() {
            let due = SCRAPE.mul_f64(round as f64);
            std::thread::sleep(due.saturating_sub(begun.elapsed()));
            agent.scrape()?;
            exporter.scrape()?;
            let pair = reader.map(|reader| reader.cost_with(agent.pid())).transpose()?;
            let sample = Sample { agent: agent.cost()?, exporter: exporter.cost()?, pair };
            eprintln!("bench: after {} s: {:?}; exporter: {:?}", due.as_secs(), sample.agent, sample.exporter);
            samples.push(sample);
        }
        Ok(samples)
    }
}

/// What the agent and the fake API server say that the agent did.
fn did(node: &Node, agent: &Service, asked_before: usize) -> anyhow::Result<Did> {
    agent.expect_ready()?;
    let metrics = agent.scrape()?;
    let value = |name: &str| {
        scrape::value(&metrics, &format!("why_terminating_{name}")).with_context(|| format!("no metric {name}"))
    };
    let looks = value("scan_duration_seconds_count")?;
    anyhow::ensure!(looks > 0.0, "the agent has not looked yet, so this was no measurement");
    anyhow::ensure!(value("terminating_pods")? == 0.0, "a pod of the node is to go; this is to be a quiet node");
    anyhow::ensure!(value("api_fresh")? == 1.0, "the agent does not hear from the API server");
    let mut requests: BTreeMap<String, usize> = BTreeMap::new();
    for request in node.store().requests()?.into_iter().skip(asked_before) {
        *requests.entry(request.verb).or_default() += 1;
    }
    let writes = requests.iter().filter(|(verb, _)| !["get", "list", "watch"].contains(&verb.as_str()));
    let writes = writes.map(|(_, count)| count).sum();
    Ok(Did { looks, look_seconds: value("scan_duration_seconds_sum")?, requests, writes })
}

fn table(report: &mut Report, samples: &[Sample], did: &Did) -> Option<bool> {
    let (first, last) = (samples.first()?, samples.last()?);
    let (agent, exporter) = (last.agent, last.exporter);
    let most = |of: fn(&Sample) -> u64| samples.iter().map(of).max().unwrap_or(0);
    let (our_peak, their_peak) = (mebi(most(|sample| sample.agent.peak)), mebi(most(|sample| sample.exporter.peak)));
    let met = [agent.cpu_per_second() <= CPU_TARGET, our_peak <= RSS_TARGET, did.writes == 0];
    report.text(format!(
        "| over {:.0} s | `why-terminating-agent run` | `prometheus-node-exporter` | ratio | target | met |",
        agent.age.as_secs_f64()
    ));
    report.text("|---|---|---|---|---|---|");
    let (ours, theirs) = (agent.cpu_per_second(), exporter.cpu_per_second());
    report.text(format!(
        "| CPU, ms per second | **{ours:.2}** | {theirs:.2} | {:.1} | ≤ {CPU_TARGET:.0} | {} |",
        theirs / ours,
        yes(met[0])
    ));
    let after =
        |one: Cost, other: Cost| (other.cpu - one.cpu).as_secs_f64() * 1000.0 / (other.age - one.age).as_secs_f64();
    if samples.len() > 1 {
        let (ours, theirs) = (after(first.agent, agent), after(first.exporter, exporter));
        report.text(format!(
            "| … after the first {} s | {ours:.2} | {theirs:.2} | {:.1} | | |",
            SCRAPE.as_secs(),
            theirs / ours
        ));
    }
    report.text(format!(
        "| RSS MiB, at the most | **{our_peak:.1}** | {their_peak:.1} | {:.1} | ≤ {RSS_TARGET:.0} | {} |",
        their_peak / our_peak,
        yes(met[1])
    ));
    let mut memory = |what: &str, of: fn(&Cost) -> u64, ours: u64, theirs: u64| {
        let end = mebi(of(&agent));
        let others = mebi(of(&exporter));
        report.text(format!(
            "| {what} MiB, in the end (most seen) | {end:.1} ({:.1}) | {others:.1} ({:.1}) | {:.1} | | |",
            mebi(ours),
            mebi(theirs),
            others / end
        ));
    };
    memory("RSS", |cost| cost.rss, most(|sample| sample.agent.rss), most(|sample| sample.exporter.rss));
    memory("… anonymous", |cost| cost.anon, most(|sample| sample.agent.anon), most(|sample| sample.exporter.anon));
    memory("… of files", |cost| cost.file, most(|sample| sample.agent.file), most(|sample| sample.exporter.file));
    report.text(format!("| writes to the API server | **{}** | | | 0 | {} |", did.writes, yes(met[2])));
    let requests: Vec<String> = did.requests.iter().map(|(verb, count)| format!("{count} {verb}")).collect();
    report.text(format!("| requests to the API server | {} | | | | |", requests.join(", ")));
    report.text(format!(
        "| looks at the node | {:.0}, together {:.0} ms on the clock | | | | |",
        did.looks,
        did.look_seconds * 1000.0
    ));
    let pair_met = pair_rows(report, samples);
    Some(met.iter().all(|&met| met) && pair_met)
}

/// What the pair of reader and talker costs together.
fn pair_rows(report: &mut Report, samples: &[Sample]) -> bool {
    let pairs = || samples.iter().filter_map(|sample| Some((sample.pair?, sample.agent.age)));
    let Some((last, age)) = pairs().next_back() else { return true };
    let cpu = last.cpu.as_secs_f64() * 1000.0 / age.as_secs_f64();
    let pss = mebi(pairs().map(|(cost, _)| cost.pss).max().unwrap_or(0));
    let met = [cpu <= pair::CPU_TARGET, pss <= pair::PSS_TARGET];
    report.text(format!(
        "| CPU of reader, broker and talker, ms per second | **{cpu:.2}** | | | ≤ {:.0} | {} |",
        pair::CPU_TARGET,
        yes(met[0])
    ));
    report.text(format!(
        "| PSS MiB of the three, at the most | **{pss:.1}** | | | ≤ {:.0} | {} |",
        pair::PSS_TARGET,
        yes(met[1])
    ));
    met.iter().all(|&met| met)
}

fn mebi(kib: u64) -> f64 {
    kib as f64 / 1024.0
}
