//! The measurements as Markdown.

use crate::floor::Floor;
use crate::machine::Census;
use crate::measure::Run;
use crate::overlooked::{Answer, Row};
use crate::stats::Spread;

/// A table under construction.
#[derive(Default)]
pub struct Report(String);

/// What is compared: its name, the runs, and the bounds that the project promises.
pub struct Line<'a> {
    /// The command.
    pub what: &'a str,
    /// Its runs.
    pub runs: &'a [Run],
    /// At most this many milliseconds of CPU, in the median.
    pub cpu_target: Option<f64>,
    /// At most this many MiB.
    pub rss_target: Option<f64>,
}

impl Report {
    /// Adds a line of text.
    pub fn text(&mut self, text: impl AsRef<str>) {
        self.0.push_str(text.as_ref());
        self.0.push('\n');
    }

    /// Adds what was measured on.
    pub fn census(&mut self, census: Census) {
        let Census { processes, descriptors, namespaces, mounts, on_host } = census;
        self.text(format!(
            "On the node, counted in `/proc`: {processes} processes ({on_host} of them in the kubelet's mount namespace) \
             with {descriptors} open files, {mounts} mounts in {namespaces} mount namespaces.\n"
        ));
    }

    /// Adds the head of the table of costs.
    pub fn costs_head(&mut self) {
        self.text("| command | CPU ms (min / **median** / max) | clock ms | RSS MiB (max) | target | met |");
        self.text("|---|---|---|---|---|---|");
    }

    /// Adds one command's costs.
    pub fn costs(&mut self, line: &Line<'_>) {
        let cpu = Spread::of(line.runs.iter().map(|run| millis(run.cost.cpu_us)));
        let clock = Spread::of(line.runs.iter().map(|run| millis(run.cost.wall_us)));
        let rss = Spread::of(line.runs.iter().map(|run| mebi(run.cost.rss_kib)));
        let (Some(cpu), Some(clock), Some(rss)) = (cpu, clock, rss) else { return };
        let mut targets = Vec::new();
        let mut met = Vec::new();
        if let Some(target) = line.cpu_target {
            targets.push(format!("CPU ≤ {target:.0} ms"));
            met.push(yes(cpu.median <= target));
        }
        if let Some(target) = line.rss_target {
            targets.push(format!("RSS ≤ {target:.0} MiB"));
            met.push(yes(rss.max <= target));
        }
        self.text(format!(
            "| {} | {cpu} | {clock} | {:.1} | {} | {} |",
            line.what,
            rss.max,
            targets.join(", "),
            met.join(", ")
        ));
    }

    /// Adds the head of the table of floors.
    pub fn floors_head(&mut self) {
        self.text("| command | CPU ms (**median**) | calls | the calls alone (min / **median** / max) | share |");
        self.text("|---|---|---|---|---|");
    }

    /// Adds what of a command's cost its calls alone cost.
    pub fn floor(&mut self, what: &str, runs: &[Run], floor: &Floor) {
        let whole = Spread::of(runs.iter().map(|run| millis(run.cost.cpu_us)));
        let alone = Spread::of(floor.cpu_us.iter().map(|cpu| millis(*cpu)));
        let (Some(whole), Some(alone)) = (whole, alone) else { return };
        let share = 100.0 * alone.median / whole.median;
        self.text(format!("| {what} | **{:.1}** | {} | {alone} | {share:.0} % |", whole.median, floor.calls));
    }

    /// Adds the head of the table of ratios.
    pub fn ratios_head(&mut self) {
        self.text("| pair by pair | CPU (min / **median** / max) | clock | target | met |");
        self.text("|---|---|---|---|---|");
    }

    /// Adds how many times more the second of each pair costs than the first.
    pub fn ratios(&mut self, what: &str, pairs: &[(Run, Run)], target: f64) {
        let cpu = Spread::of(pairs.iter().map(|(one, other)| millis(other.cost.cpu_us) / millis(one.cost.cpu_us)));
        let clock = Spread::of(pairs.iter().map(|(one, other)| millis(other.cost.wall_us) / millis(one.cost.wall_us)));
        let (Some(cpu), Some(clock)) = (cpu, clock) else { return };
        self.text(format!("| {what} | {cpu} | {clock} | ≥ {target:.0} | {} |", yes(cpu.median >= target)));
    }

    /// Adds who finds whom.
    pub fn holders(&mut self, rows: &[Row]) {
        self.text("| what holds the volume | `check` | `lsof` | `fuser -m` |");
        self.text("|---|---|---|---|");
        for row in rows {
            self.text(format!(
                "| {} | {} | {} | {} |",
                row.what,
                answer(&row.check),
                answer(&row.lsof),
                answer(&row.fuser)
            ));
        }
    }

    /// All of it.
    pub fn finish(self) -> String {
        self.0
    }
}

fn answer(answer: &Answer) -> String {
    let others = answer.named.saturating_sub(usize::from(answer.found));
    match (answer.found, others) {
        (true, 0) => "names it".to_owned(),
        (true, others) => format!("names it among {others} others"),
        (false, 0) => "**nothing**".to_owned(),
        (false, others) => format!("**only {others} others**"),
    }
}

/// For the last column.
pub fn yes(met: bool) -> &'static str {
    if met { "yes" } else { "**no**" }
}

/// Microseconds as milliseconds.
pub fn millis(micros: u64) -> f64 {
    std::time::Duration::from_micros(micros).as_secs_f64() * 1000.0
}

/// KiB as MiB.
pub fn mebi(kib: u64) -> f64 {
    u32::try_from(kib).map_or(f64::INFINITY, f64::from) / 1024.0
}
