//! A mass failure: what thousands of agents write when all their nodes get into the same trouble in the
//! same second.

mod failure;
mod fleet;
mod tally;
mod wire;

use std::time::{Duration, Instant};

use anyhow::Context as _;
use reconcile::{Settings, tracker::Kind};

use crate::{interrupt, machine, report::Report};
use fleet::Fleet;
use tally::{Asked, Span, Tally};
use wire::{Stored, Wire};

/// Ends of the rows of the table, in seconds after the failure.
const ROWS: [u64; 9] = [10, 20, 30, 40, 60, 300, 1500, 2100, 3600];

/// How many, and for how long.
#[derive(Clone, Debug, clap::Args)]
pub struct Mass {
    /// Agents, one for each node
    #[arg(long, default_value_t = 5000)]
    agents: usize,
    /// Pods that get stuck on each node
    #[arg(long, default_value_t = 10)]
    pods: usize,
}

/// One way to tell it, and what came of it.
struct Told {
    name: String,
    events: usize,
    tally: Tally,
    stored: Stored,
    took: Duration,
}

impl Mass {
    /// Measures, and returns the report.
    pub fn run(&self) -> anyhow::Result<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let interrupted = interrupt::asked()?;
            tokio::select! {
                report = self.measure() => report,
                () = interrupted => anyhow::bail!("interrupted"),
            }
        })
    }

    async fn measure(&self) -> anyhow::Result<String> {
        let usual = Settings::default();
        let rules = usual.rules;
        let alone = Settings { rules: reconcile::tracker::Rules { fan_in: usize::MAX, ..rules }, ..usual };
        let at_once = Settings { spread: Duration::ZERO, ..usual };
        let load = machine::load();
        let by_node = if self.pods > rules.fan_in { self.agents } else { self.agents * self.pods };
        let mut told = Vec::new();
        for (name, settings, events) in [
            (format!("as it comes (fan-in {}, spread {} s)", rules.fan_in, usual.spread.as_secs()), usual, by_node),
            ("without fan-in".to_owned(), alone, self.agents * self.pods),
            ("without spread".to_owned(), at_once, by_node),
        ] {
            eprintln!("bench: {} agents, {name} …", self.agents);
            told.push(self.tell(name, settings, events).await?);
        }
        let mut report = Report::default();
        report.text(format!("Machine: {}; load when the measuring began: {load:.1}.", machine::describe()));
        report.text(format!(
            "{} agents, {} pods stuck on each, for an hour of virtual time. At most {} writes of an agent at once, \
             then one per {} s; renewed after {} min.\n",
            self.agents,
            self.pods,
            usual.burst,
            usual.refill.as_secs(),
            rules.renewal.as_secs() / 60
        ));
        table(&mut report, &told);
        for told in &told {
            self.expect_nothing_lost(told).with_context(|| told.name.clone())?;
        }
        Ok(report.finish())
    }

    async fn tell(&self, name: String, settings: Settings, events: usize) -> anyhow::Result<Told> {
        let begun = Instant::now();
        let wire = Wire::open().await?;
        let hour = Duration::from_secs(3600);
        let tally = Fleet::new(&wire, self.agents, self.pods, settings).live(hour).await?;
        Ok(Told { name, events, tally, stored: wire.stored()?, took: begun.elapsed() })
    }

    fn expect_nothing_lost(&self, told: &Told) -> anyhow::Result<()> {
        let Told { stored, events, .. } = told;
        let sent = told.tally.span(0..u64::MAX, Asked::is_write).total;
        anyhow::ensure!(stored.refused == 0, "the API server double refused {} requests", stored.refused);
        anyhow::ensure!(stored.accepted == sent, "{sent} writes were sent and {} accepted", stored.accepted);
        anyhow::ensure!(stored.events == *events, "{} Events instead of {events}", stored.events);
        let pods = self.agents * self.pods;
        anyhow::ensure!(stored.pods == pods, "the Events tell {} pods of {pods}", stored.pods);
        Ok(())
    }
}

fn table(report: &mut Report, told: &[Told]) {
    let mut row = |head: &str, cell: &dyn Fn(&Told) -> String| {
        report.text(format!("| {head} | {} |", told.iter().map(cell).collect::<Vec<_>>().join(" | ")));
    };
    row("after the failure", &|told| told.name.clone());
    row("---", &|_| "---".to_owned());
    let mut from = 0;
    for to in ROWS {
        row(&between(from, to), &|told| writes(told.tally.span(from..to, Asked::is_write)));
        from = to;
    }
    let all = 0..u64::MAX;
    row("**writes in the hour**", &|told| format!("**{}**", told.tally.span(all.clone(), Asked::is_write).total));
    let of = |told: &Told, kind: Kind| told.tally.span(all.clone(), |asked| asked == Asked::Write(kind));
    row("… of findings / renewals / others", &|told| {
        let (open, renew) = (of(told, Kind::Open).total, of(told, Kind::Renew).total);
        let others = told.tally.span(all.clone(), Asked::is_write).total - open - renew;
        format!("{open} / {renew} / {others}")
    });
    row("**most in one second**", &|told| format!("**{}**", told.tally.span(all.clone(), Asked::is_write).peak));
    row("the last finding is told after", &|told| format!("{} s", of(told, Kind::Open).last.unwrap_or(0) + 1));
    row("reads of Nodes (most in one second)", &|told| {
        let reads = told.tally.span(all.clone(), |asked| asked == Asked::Node);
        format!("{} ({})", reads.total, reads.peak)
    });
    row("lists (most in one second)", &|told| {
        let lists = told.tally.span(all.clone(), |asked| asked == Asked::List);
        format!("{} ({})", lists.total, lists.peak)
    });
    row("Events that stand / pods they tell", &|told| format!("{} / {}", told.stored.events, told.stored.pods));
    row("largest request", &|told| format!("{} bytes", told.stored.largest));
    row("measured in", &|told| format!("{:.0} s", told.took.as_secs_f64()));
}

fn between(from: u64, to: u64) -> String {
    if to <= 60 { format!("{from} to {to} s") } else { format!("{} to {} min", from / 60, to / 60) }
}

fn writes(span: Span) -> String {
    if span.total == 0 { "0".to_owned() } else { format!("{} (at most {}/s)", span.total, span.peak) }
}
