//! How the cost of `check` grows with the node: one measure of the node after the other at 1, 10 and 100 %.

use std::time::Duration;

use lab::{Node, PodRef};

use crate::{
    compare::{Commands, Compare, expect_stuck, nobody_else},
    crowd::{Crowd, Plan},
    machine,
    report::{Report, millis},
    stage::{Size, StuckPod, running_pods},
    stats::Spread,
};

const PERCENT: [usize; 3] = [1, 10, 100];
/// So many files each process has open in the end, where their number is what grows.
const MOST_DESCRIPTORS: usize = 300;

/// How often each command is run.
#[derive(Debug, clap::Args)]
pub struct Growth {
    /// Runs of each command at each size
    #[arg(long, default_value_t = 7)]
    each: usize,
}

/// CPU in ms of a full check, of a look at a pod with a process in D, and of a search for the holder of a volume.
type Costs = [f64; 3];

/// What was measured at one size.
struct Point {
    size: usize,
    costs: Costs,
}

impl Growth {
    /// Measures, and returns the report.
    pub fn run(&self, compare: &Compare) -> anyhow::Result<String> {
        nobody_else()?;
        let full = compare.size;
        let node = Node::up(&compare.dir)?;
        let commands = Commands { agent: &compare.agent, node: &node };
        let stuck = [StuckPod::stage(&node, "cwd")?, StuckPod::stage(&node, "dstate-fuse")?];
        let mut report = Report::default();
        let (machine, load) = (machine::describe(), machine::load());
        report.text(format!("Machine: {machine}; load when the measuring began: {load:.1}."));
        report.text(format!("Runs of each command at each size: {}, after one that does not count.\n", self.each));
        report.text("| what grows | | `check` | `check --pod`, a process in D | `check --pod`, a busy volume |");
        report.text("|---|---|---|---|---|");

        let (mut pods, mut points) = (Vec::new(), Vec::new());
        for percent in PERCENT {
            let size = part(full.pods, percent);
            pods.extend(running_pods(&node, pods.len()..size.saturating_sub(stuck.len()))?);
            points.push(Point { size, costs: self.costs(&commands, &stuck)? });
        }
        report.text(row("pods, nothing else on the node", &points));

        for (what, of, plan) in measures(full) {
            let mut points = Vec::new();
            for percent in PERCENT {
                let size = part(of, percent);
                eprintln!("bench: {size} {what}");
                let plan = plan(&node, &pods, size);
                let alone = lab::cgroup::all_processes()?.len();
                let crowd = Crowd::gather(&node, &plan)?;
                points.push(Point { size, costs: self.costs(&commands, &stuck)? });
                drop(crowd);
                lab::wait_for("the crowd has gone", Duration::from_secs(20), || {
                    Ok((lab::cgroup::all_processes()?.len() <= alone).then_some(()))
                })?;
            }
            report.text(row(what, &points));
        }
        Ok(report.finish())
    }

    fn costs(&self, commands: &Commands<'_>, [busy, hung]: &[StuckPod; 2]) -> anyhow::Result<Costs> {
        let median = |args: &[&str]| -> anyhow::Result<f64> {
            let tool = commands.check(args);
            expect_stuck(&tool.run()?)?;
            let runs = (0..self.each).map(|_| tool.run()).collect::<anyhow::Result<Vec<_>>>()?;
            let spread = Spread::of(runs.iter().map(|run| millis(run.cost.cpu_us)));
            Ok(spread.map_or(f64::NAN, |spread| spread.median))
        };
        Ok([median(&[])?, median(&["--pod", &hung.name()])?, median(&["--pod", &busy.name()])?])
    }
}

/// A crowd for a node, its pods, and a size of what grows.
type Planned = Box<dyn Fn(&Node, &[PodRef], usize) -> Plan>;

/// What grows, to what size, and the crowd for each size; all else is that of a full node.
fn measures(full: Size) -> [(&'static str, usize, Planned); 4] {
    let in_each = full.mounts / full.namespaces;
    let inhabited = move |pods: &[PodRef], namespaces: usize| pods[..namespaces.min(pods.len())].to_vec();
    let all =
        move |node: &Node, pods: &[PodRef]| Plan::new(node, &inhabited(pods, full.namespaces), full.processes, in_each);
    [
        (
            "processes, with 25 open files each",
            full.processes,
            Box::new(move |node, pods, size| {
                Plan::new(node, &inhabited(pods, full.namespaces.min(size * 9 / 10)), size, in_each)
            }),
        ),
        (
            "open files of each process",
            MOST_DESCRIPTORS,
            Box::new(move |node, pods, size| Plan { descriptors: size, ..all(node, pods) }),
        ),
        (
            "mounts, in the same namespaces",
            full.mounts,
            Box::new(move |node, pods, size| Plan { mounts: size / full.namespaces, ..all(node, pods) }),
        ),
        (
            "mount namespaces, with as many mounts each",
            full.namespaces,
            Box::new(move |node, pods, size| Plan::new(node, &inhabited(pods, size), full.processes, in_each)),
        ),
    ]
}

fn part(of: usize, percent: usize) -> usize {
    (of * percent / 100).max(1)
}

/// The costs at each size, and the exponent from the last but one to the last: 0 does not grow, 1 grows in proportion.
fn row(what: &str, points: &[Point]) -> String {
    let sizes: Vec<String> = points.iter().map(|point| point.size.to_string()).collect();
    let column = |of: usize| {
        let costs: Vec<String> = points.iter().map(|point| format!("{:.1}", point.costs[of])).collect();
        format!("{} ms, **{:.2}**", costs.join(" / "), exponent(points, of))
    };
    format!("| {what} | {} | {} | {} | {} |", sizes.join(" / "), column(0), column(1), column(2))
}

fn exponent(points: &[Point], of: usize) -> f64 {
    let [.., before, last] = points else { return f64::NAN };
    let float = |size: usize| u32::try_from(size).map_or(f64::INFINITY, f64::from);
    (last.costs[of] / before.costs[of]).ln() / (float(last.size) / float(before.size)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_in_proportion_has_the_exponent_one() {
        let point = |size, cost| Point { size, costs: [cost, 3.0, cost * cost] };
        let points = [point(1, 9.0), point(10, 2.0), point(100, 20.0)];
        assert_eq!(
            row("pods", &points),
            "| pods | 1 / 10 / 100 | 9.0 / 2.0 / 20.0 ms, **1.00** | 3.0 / 3.0 / 3.0 ms, **0.00** | 81.0 / 4.0 / 400.0 ms, **2.00** |"
        );
        assert_eq!((part(110, 1), part(50, 1), part(50, 10)), (1, 1, 5));
    }
}
