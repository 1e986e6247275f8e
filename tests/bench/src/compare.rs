//! The run: stages the node step by step and measures in between.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use lab::Node;

use crate::measure::{Run, Tool};
use crate::report::{Line, Report, millis};
use crate::stage::{Crowded, STUCK, Size, StuckPod, stopped_server};
use crate::{floor, machine, overlooked};

const FUSE: &str = "`check --pod`, process in D on FUSE, among three";
const EMPTY: &str = "`check --pod`, unusable `vol_data.json`, among three";

/// How long a tool may hang before it is given up.
const HANGING: Duration = Duration::from_secs(10);

/// What to measure, and how often.
#[derive(Clone, Debug, clap::Args)]
pub struct Compare {
    #[command(flatten)]
    pub size: Size,
    /// Runs of each command
    #[arg(long, default_value_t = 10)]
    pub runs: usize,
    /// The agent [default: the one of the image]
    #[arg(long, default_value_os_t = agent_of_the_image())]
    pub agent: PathBuf,
    /// Where the node is staged
    #[arg(long, default_value = "/run/wt-bench")]
    pub dir: PathBuf,
    /// Print the node's flags, and leave the node as it is until Enter is pressed
    #[arg(long)]
    hold: bool,
}

/// Cargo puts both into one directory.
/// Where `make static` puts it in the target directory that we are in.
fn agent_of_the_image() -> PathBuf {
    let path = format!("../static/{}-unknown-linux-gnu/release/why-terminating-agent", std::env::consts::ARCH);
    std::env::current_exe().unwrap_or_default().with_file_name(path)
}

/// The commands that are measured.
pub struct Commands<'a> {
    /// The agent.
    pub agent: &'a Path,
    /// The node that it looks at.
    pub node: &'a Node,
}

impl Compare {
    /// Measures, and returns the report.
    pub fn run(&self) -> anyhow::Result<String> {
        anyhow::ensure!(self.agent.exists(), "{} is missing: `make static` builds it", self.agent.display());
        nobody_else()?;
        let crowded = Crowded::up(&self.dir, self.size, STUCK)?;
        let node = &crowded.node;
        let commands = Commands { agent: &self.agent, node };
        let mut report = Report::default();
        report.text(format!(
            "Machine: {}; load when the measuring began: {:.1}.",
            machine::describe(),
            machine::load()
        ));
        report.text(format!("Compared with: {}; {}.", machine::version("lsof", "-v"), machine::version("fuser", "-V")));
        report.text(format!("Runs of each command: {}, after one that does not count.\n", self.runs));

        let busy = StuckPod::stage(node, "cwd")?;
        let empty = StuckPod::stage(node, "vol-data-empty")?;
        let search = commands.check(&["--pod", &busy.name()]);
        let (lsof, fuser) = (lsof(&busy.volume()?), fuser(&busy.volume()?));
        let beside_lsof = self.pairs(&search, &lsof)?;
        let beside_fuser = self.pairs(&search, &fuser)?;
        let rows = overlooked::table(node, &commands.check(&["--output", "json"]))?;

        let hung = StuckPod::stage(node, "dstate-fuse")?;
        report.census(machine::Census::take());
        if self.hold {
            eprintln!("bench: flags: {}\nbench: press Enter to go on", node.agent_args().join(" "));
            std::io::stdin().read_line(&mut String::new())?;
        }
        let full = self.repeat(&commands.check(&[]))?;
        let offline = self.repeat(&commands.check(&["--api", "off"]))?;
        let among = self.repeat(&commands.check(&["--pod", &hung.name()]))?;
        let no_volume = self.repeat(&commands.check(&["--pod", &empty.name()]))?;
        let in_spite = self.repeat(&search)?;
        let floors = [
            ("`check`, three pods stuck", vec![], &full),
            (FUSE, vec![hung.name()], &among),
            (EMPTY, vec![empty.name()], &no_volume),
            ("`check --pod`, busy volume, among three", vec![busy.name()], &in_spite),
        ];
        let floors = floors.into_iter().map(|(what, pod, runs)| {
            let flags: Vec<&str> = pod.iter().flat_map(|name| ["--pod", name.as_str()]).collect();
            Ok((what, runs, floor::measure(&commands.check(&flags), self.runs)?))
        });
        let floors = floors.collect::<anyhow::Result<Vec<_>>>()?;
        stopped_server(node)?;
        let while_stopped = self.repeat(&search)?;
        let (lsof_hangs, fuser_hangs) = (lsof.run_within(HANGING)?, fuser.run_within(HANGING)?);
        for pod in [busy, empty] {
            pod.release(node)?;
        }
        let alone = self.repeat(&commands.check(&["--pod", &hung.name()]))?;
        report.text("### Cost of an answer\n");
        report.costs_head();
        let line = |what, runs| Line { what, runs, cpu_target: None, rss_target: None };
        let in_all =
            Line { cpu_target: Some(80.0), rss_target: Some(16.0), ..line("`check`, three pods stuck", &full) };
        report.costs(&in_all);
        report.costs(&line("`check --api off`, three pods stuck", &offline));
        report.costs(&Line {
            cpu_target: Some(6.0),
            ..line("`check --pod`, process in D on FUSE, the only stuck pod", &alone)
        });
        report.costs(&Line { cpu_target: Some(6.0), ..line(FUSE, &among) });
        report.costs(&Line { cpu_target: Some(6.0), ..line(EMPTY, &no_volume) });
        report.costs(&line("`check --pod`, busy volume, among three", &in_spite));

        report.text("\n### The floor: the calls that read the node, made again in a bare loop\n");
        report.floors_head();
        floors.iter().for_each(|(what, runs, floor)| report.floor(what, runs, floor));

        report.text("\n### The holder of one busy volume\n");
        report.costs_head();
        let searches: Vec<Run> = beside_lsof.iter().chain(&beside_fuser).map(|(check, _)| check.clone()).collect();
        let others = |pairs: &[(Run, Run)]| pairs.iter().map(|(_, other)| other.clone()).collect::<Vec<Run>>();
        report.costs(&line("`check --pod NAMESPACE/NAME`", &searches));
        let (lsofs, fusers) = (others(&beside_lsof), others(&beside_fuser));
        report.costs(&line("`lsof -n -P +f -- VOLUME`", &lsofs));
        report.costs(&line("`fuser -m VOLUME`", &fusers));
        report.text("");
        report.ratios_head();
        report.ratios("`lsof` / `check --pod`", &beside_lsof, 30.0);
        report.ratios("`fuser -m` / `check --pod`", &beside_fuser, 15.0);

        report.text("\n### With a FUSE server on the node that is stopped (none of the volume that is asked about)\n");
        report.text("| command | outcome |");
        report.text("|---|---|");
        let answered = while_stopped.iter().map(|run| millis(run.cost.wall_us)).fold(0.0, f64::max);
        report.text(format!("| `check --pod NAMESPACE/NAME` | answers, at the latest after {answered:.0} ms |"));
        report.text(format!("| `lsof -n -P +f -- VOLUME` | {} |", outcome(&lsof_hangs)));
        report.text(format!("| `fuser -m VOLUME` | {} |", outcome(&fuser_hangs)));

        report.text("\n### Who finds whom\n");
        report.holders(&rows);
        Ok(report.finish())
    }

    fn repeat(&self, tool: &Tool) -> anyhow::Result<Vec<Run>> {
        expect_stuck(&tool.run()?)?;
        (0..self.runs).map(|_| tool.run()).collect()
    }

    /// The two in turn, so that both meet the same machine.
    fn pairs(&self, one: &Tool, other: &Tool) -> anyhow::Result<Vec<(Run, Run)>> {
        expect_stuck(&one.run()?)?;
        other.run()?;
        (0..self.runs).map(|_| Ok((one.run()?, other.run()?))).collect()
    }
}

/// A fast answer that is wrong is no measurement.
pub fn expect_stuck(run: &Run) -> anyhow::Result<()> {
    const STUCK: i32 = 2;
    anyhow::ensure!(run.cost.code == Some(STUCK), "the agent did not say that something is stuck:\n{}", run.output);
    Ok(())
}

impl Commands<'_> {
    /// `check` with these flags and those of the node.
    pub fn check(&self, args: &[&str]) -> Tool {
        let node = self.node.agent_args();
        let args = ["check"].iter().chain(args).map(OsString::from).chain(node.into_iter().map(OsString::from));
        Tool::new(self.agent, args)
    }
}

/// Names nothing by network address and port, and takes the path for a mount: `lsof` at its
/// cheapest that still looks at every process.
fn lsof(volume: &Path) -> Tool {
    Tool::new("lsof", ["-n".as_ref(), "-P".as_ref(), "+f".as_ref(), "--".as_ref(), volume.as_os_str()])
}

fn fuser(volume: &Path) -> Tool {
    Tool::new("fuser", ["-m".as_ref(), volume.as_os_str()])
}

fn outcome(run: &Run) -> String {
    match run.cost.code {
        Some(code) => format!("ended after {:.0} ms with code {code}", millis(run.cost.wall_us)),
        None => format!("**had not answered after {} s**", HANGING.as_secs()),
    }
}

/// All labs of a machine share their cgroups, and making or removing one node ends the processes of
/// every other.
pub fn nobody_else() -> anyhow::Result<()> {
    let running = lab::cgroup::all_processes()?.len();
    anyhow::ensure!(
        running == 0,
        "a lab is running on this machine ({running} processes), and measuring would end it: wait for it, \
         or take it away with `bench clean` or `make clean-lab` if it was left behind"
    );
    Ok(())
}

/// Takes the node in `dir` away; without such a directory there is none of ours, and nothing of
/// another lab is touched.
pub fn clean(dir: &Path) -> anyhow::Result<()> {
    if dir.exists() { Node::remove(dir).context("clean up") } else { Ok(()) }
}
