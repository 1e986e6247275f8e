//! What the service costs in a large cluster in which much goes on.

mod live;
mod process;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::cluster::{self, Running, Size, finding};
use crate::machine;
use crate::report::{Report, yes};
use crate::stats::Spread;
use live::{Live, Rates};
use process::Service;

/// How long it is looked at, and which program.
#[derive(Clone, Debug, clap::Args)]
pub struct Bench {
    /// The service
    #[arg(long, default_value_os_t = cluster::beside_us("why-terminating-aggregator"))]
    aggregator: PathBuf,
    /// Seconds of life in the cluster during which its cost is counted
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Events of which the way to the metric is timed, in the cluster of full size
    #[arg(long, default_value_t = 100)]
    probes: usize,
    /// Parts of the full size, in percent
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 100])]
    percent: Vec<usize>,
    /// Each request until it is ready, and of the time that is counted, on standard error
    #[arg(long)]
    requests: bool,
}

/// Nodes, pods, findings, and nodes on which fifty pods are held, at full size.
const FULL: [usize; 4] = [5000, 150_000, 10_000, 38];
/// How often Prometheus asks.
const SCRAPE: Duration = Duration::from_secs(15);
/// Between two reads of a metric: more than ten a second for long are refused.
const LOOK: Duration = Duration::from_millis(110);

/// What was measured of one size.
struct Measured {
    size: Size,
    objects: usize,
    roots: usize,
    victims: usize,
    /// Until the first judgement: seconds, requests, and MB of all answers and streams.
    ready: f64,
    requests: usize,
    megabytes: f64,
    /// The largest list among them.
    largest: (f64, String),
    /// Of the second that is counted: leases, pods and stuck objects that were written.
    rates: [f64; 3],
    cpu: f64,
    peak: f64,
    rss: f64,
    asked: f64,
    /// Seconds from an Event to the metric that counts it.
    latency: Vec<f64>,
    /// The list, one root and the JSON: KB and milliseconds.
    pages: Vec<(&'static str, f64, Vec<f64>)>,
    takeover: Option<f64>,
}

impl Bench {
    /// Measures; returns the report, and whether all targets are met.
    pub fn run(&self) -> anyhow::Result<(String, bool)> {
        ensure!(self.aggregator.exists(), "{} is missing: build it in release mode first", self.aggregator.display());
        let mut report = Report::default();
        report.text(format!(
            "Machine: {}; load when the measuring began: {:.1}.\n",
            machine::describe(),
            machine::load()
        ));
        let all: Vec<Measured> =
            self.percent.iter().map(|percent| self.measure(*percent)).collect::<anyhow::Result<_>>()?;
        let met = table(&mut report, &all)?;
        report.text(format!("\nLoad when it ended: {:.1}. All targets met: {}.", machine::load(), yes(met)));
        Ok((report.finish(), met))
    }

    fn measure(&self, percent: usize) -> anyhow::Result<Measured> {
        let part = |full: usize| (full * percent).div_ceil(100);
        let [nodes, pods, findings, held_nodes] = FULL.map(part);
        let size = Size { nodes: nodes.max(60), pods, findings, held_nodes, all_apis_answer: false };
        let is_full = percent >= 100;
        eprintln!("bench: a cluster of {nodes} nodes …");
        let cluster = Running::start(size)?;
        let first = Service::start(&self.aggregator, &cluster, "first")?;
        let ready = first.until_ready()?.as_secs_f64();
        first.end()?;
        std::thread::sleep(Duration::from_secs(1));
        let requests = cluster.requests()?;
        if self.requests {
            cluster::tell_all(&requests);
        }
        let megabytes = requests.iter().map(|one| one.answered_bytes).sum::<u64>() as f64 / 1e6;
        let mut lists: Vec<(u64, String)> = Vec::new();
        for one in &requests {
            match lists.iter_mut().find(|(_, path)| *path == one.path) {
                Some((bytes, _)) => *bytes += one.answered_bytes,
                None => lists.push((one.answered_bytes, one.path.clone())),
            }
        }
        let (bytes, path) = lists.into_iter().max().context("the service has asked nothing")?;
        eprintln!("bench: ready after {ready:.1} s, {megabytes:.1} MB; most of {path}: {bytes} bytes");
        let fraction = percent as f64 / 100.0;
        let rates = Rates { leases: size.nodes as f64 / 10.0, pods: 200.0 * fraction, stuck: 20.0 * fraction };
        let service = Service::start(&self.aggregator, &cluster, "second")?;
        service.until_ready()?;
        let live = Live::start(&cluster.store(), size, rates)?;
        std::thread::sleep(Duration::from_secs(20));
        let mut measured = Measured {
            size,
            objects: cluster.contents.objects,
            roots: 0,
            victims: 0,
            ready,
            requests: requests.len(),
            megabytes,
            largest: (bytes as f64 / 1e6, path),
            rates: [0.0; 3],
            cpu: 0.0,
            peak: 0.0,
            rss: 0.0,
            asked: 0.0,
            latency: Vec::new(),
            pages: Vec::new(),
            takeover: None,
        };
        let before = cluster.requests()?.len();
        self.cost(&mut measured, &cluster, &service, &live)?;
        if self.requests {
            cluster::tell_all(&cluster.requests()?.split_off(before));
        }
        measured.latency = latency(&cluster, &service, if is_full { self.probes } else { self.probes / 5 })?;
        pages(&mut measured, &service)?;
        (measured.peak, _) = service.memory()?;
        if is_full {
            measured.takeover = Some(takeover(&self.aggregator, &cluster, service)?);
        }
        Ok(measured)
    }

    /// What a minute of life costs.
    fn cost(&self, measured: &mut Measured, cluster: &Running, service: &Service, live: &Live) -> anyhow::Result<()> {
        let (begun, cpu, done) = (Instant::now(), service.cpu()?, live.done());
        let asked = asked(cluster)?;
        while begun.elapsed() < Duration::from_secs(self.seconds) {
            std::thread::sleep(SCRAPE.min(Duration::from_secs(self.seconds)));
            service.metric("objects")?;
        }
        let seconds = begun.elapsed().as_secs_f64();
        measured.cpu = (service.cpu()? - cpu).as_secs_f64() * 1000.0 / seconds;
        measured.asked = (self::asked(cluster)? - asked) as f64 / seconds;
        (_, measured.rss) = service.memory()?;
        for (rate, (after, before)) in measured.rates.iter_mut().zip(live.done().into_iter().zip(done)) {
            *rate = (after - before) as f64 / seconds;
        }
        Ok(())
    }
}

/// Requests beside the watches, and beside the Lease of the replicas.
fn asked(cluster: &Running) -> anyhow::Result<usize> {
    let is_counted =
        |one: &&apiserver::Request| one.verb != "watch" && !one.path.contains("/namespaces/why-terminating/");
    Ok(cluster.requests()?.iter().filter(is_counted).count())
}

/// Writes Events one after the other and waits for the metric that counts them.
fn latency(cluster: &Running, service: &Service, probes: usize) -> anyhow::Result<Vec<f64>> {
    let count = || service.metric("agent_findings{state=\"fresh\"}");
    let mut known = count()?;
    let mut seconds = Vec::new();
    for probe in 0..probes {
        let (node, name) = ("node-0015", format!("probe-{probe}"));
        let event = finding(node, &name, &["00000000-0000-4000-8000-000000000000".to_owned()])?;
        // Not always at the same moment of the service's own rhythm.
        std::thread::sleep(Duration::from_millis(fastrand::u64(0..1000)));
        let begun = Instant::now();
        cluster.store().put("events", Some("default"), &format!("{node}.{name}"), &event)?;
        while count()? <= known {
            ensure!(begun.elapsed() < Duration::from_secs(60), "an Event is not counted after a minute");
            std::thread::sleep(LOOK);
        }
        seconds.push(begun.elapsed().as_secs_f64());
        known += 1.0;
    }
    Ok(seconds)
}

/// What people look at.
fn pages(measured: &mut Measured, service: &Service) -> anyhow::Result<()> {
    let (_, roots) = service.get("/api/v1/roots", false)?;
    let roots: Value = serde_json::from_str(&roots).context("read the roots")?;
    let victims = roots["roots"].as_array().context("no roots")?.iter().filter_map(|root| root["victims"].as_u64());
    let victims: Vec<u64> = victims.collect();
    (measured.roots, measured.victims) = (victims.len(), usize::try_from(victims.iter().sum::<u64>())?);
    let (_, list) = service.get("/page/roots", false)?;
    let widest = list
        .split("#root=")
        .skip(1)
        .filter_map(|root| {
            let holds = root.split("holds ").nth(1)?.split(' ').next()?.parse::<u64>().ok()?;
            Some((holds, root.split('"').next()?))
        })
        .max()
        .context("a list without roots")?;
    let one = format!("/page/roots/{}", widest.1);
    let asked = [
        ("the list", "/page/roots", false),
        ("one root", one.as_str(), false),
        ("the JSON, packed", "/api/v1/stuck", true),
    ];
    for (what, path, packed) in asked {
        let mut times = Vec::new();
        let mut bytes = 0;
        for _ in 0..20 {
            std::thread::sleep(LOOK);
            let (cost, _) = service.get(path, packed)?;
            ensure!(cost.status == 200, "{path} answers {}", cost.status);
            times.push(cost.seconds * 1000.0);
            bytes = bytes.max(cost.bytes);
        }
        measured.pages.push((what, bytes as f64 / 1024.0, times));
    }
    Ok(())
}

/// Seconds from the death of the one that writes until another does.
fn takeover(program: &std::path::Path, cluster: &Running, leader: Service) -> anyhow::Result<f64> {
    let other = Service::start(program, cluster, "other")?;
    other.until_ready()?;
    // While the other lists everything, a small machine may leave the first too little to renew its Lease in time.
    let begun = Instant::now();
    while leader.metric("leader")? == 0.0 || other.metric("leader")? > 0.0 {
        ensure!(begun.elapsed() < Duration::from_secs(60), "the first is not the one that leads");
        std::thread::sleep(LOOK);
    }
    // Not asked to end: killed.
    drop(leader);
    let begun = Instant::now();
    while other.metric("leader")? == 0.0 {
        ensure!(begun.elapsed() < Duration::from_secs(60), "no replica leads after a minute");
        std::thread::sleep(LOOK);
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// Of the row: each size's value, what is promised of the last, and whether it is held.
fn table(report: &mut Report, all: &[Measured]) -> anyhow::Result<bool> {
    let full = all.last().context("nothing was measured")?;
    ensure!(
        full.size.nodes < FULL[0] || (full.roots >= 50 && full.victims >= 2000),
        "{} roots hold {} objects: this was no measurement",
        full.roots,
        full.victims
    );
    let mut met_all = true;
    let head: Vec<String> = all.iter().map(|one| format!("{} nodes", one.size.nodes)).collect();
    report.text(format!("| | {} | target | met |", head.join(" | ")));
    report.text(format!("|---|{}---|---|", "---|".repeat(all.len())));
    let mut row = |what: &str, of: &dyn Fn(&Measured) -> String, promised: Option<(String, bool)>| {
        let values: Vec<String> = all.iter().map(of).collect();
        let (target, met) = promised.map_or((String::new(), String::new()), |(target, met)| {
            met_all &= met;
            (target, yes(met).to_owned())
        });
        report.text(format!("| {what} | {} | {target} | {met} |", values.join(" | ")));
    };
    let most = |unit: &str, most: f64, value: f64| Some((format!("≤ {most} {unit}"), value <= most));
    row("pods / findings", &|one| format!("{} / {}", one.size.pods, one.size.findings), None);
    row("objects in the cluster", &|one| one.objects.to_string(), None);
    row("roots / what they hold", &|one| format!("{} / {}", one.roots, one.victims), None);
    row(
        "written in a second: Leases / pods / stuck objects",
        &|one| one.rates.map(|rate| format!("{rate:.0}")).join(" / "),
        None,
    );
    row("ready after a start, s", &|one| format!("{:.1}", one.ready), None);
    row("… with requests", &|one| one.requests.to_string(), None);
    row("… MB received", &|one| format!("{:.1}", one.megabytes), None);
    row(
        "… the largest list, MB",
        &|one| format!("{:.1} ({})", one.largest.0, one.largest.1.rsplit('/').next().unwrap_or_default()),
        most("MB", 60.0, full.largest.0),
    );
    row("CPU, ms per second", &|one| format!("**{:.1}**", one.cpu), most("ms", 30.0, full.cpu));
    row("RSS MiB, at the most", &|one| format!("**{:.1}**", one.peak), most("MiB", 128.0, full.peak));
    row("… at the end of the minute", &|one| format!("{:.1}", one.rss), None);
    row("API requests a second beside the watches", &|one| format!("**{:.1}**", one.asked), most("", 5.0, full.asked));
    let quantile = |values: &[f64], at: f64| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        let rank = (at * values.len() as f64).ceil().max(1.0) as usize - 1;
        values.get(rank).copied().unwrap_or(f64::NAN)
    };
    row(
        "an Event until it is in the metric, s: median / p99",
        &|one| format!("{:.2} / **{:.2}**", quantile(&one.latency, 0.5), quantile(&one.latency, 0.99)),
        most("s", 2.0, quantile(&full.latency, 0.99)),
    );
    for (index, (what, kilobytes, times)) in full.pages.iter().enumerate() {
        let worst = Spread::of(times.iter().copied()).map_or(f64::NAN, |spread| spread.max);
        let cell = |one: &Measured| {
            let Some((_, bytes, times)) = one.pages.get(index) else { return String::new() };
            let spread = Spread::of(times.iter().copied()).map(|spread| spread.to_string()).unwrap_or_default();
            format!("{bytes:.0} KiB, {spread} ms")
        };
        let target = ("≤ 150 KiB, 100 ms".to_owned(), *kilobytes <= 150.0 && worst <= 100.0);
        row(&format!("{what} of the page (min / **median** / max)"), &cell, Some(target));
    }
    row(
        "another replica writes after a kill, s",
        &|one| one.takeover.map_or("".to_owned(), |seconds| format!("{seconds:.1}")),
        full.takeover.map(|seconds| ("≤ 15 s".to_owned(), seconds <= 15.0)),
    );
    Ok(met_all)
}
