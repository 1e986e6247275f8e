//! The plugin on a large cluster, beside the loop that people use.

mod answer;
mod asked;
pub mod crowd;
mod discovery;
mod fake;
mod findings;
pub mod text;
mod trouble;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::machine;
use crate::measure::Tool;
use crate::report::{Report, yes};
pub use asked::tell_all;
use asked::{Asked, Targets};
pub use fake::{Cluster as Running, Serve};
pub use findings::finding;
pub use trouble::LOST;
use trouble::Trouble;

/// How large the cluster is.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Size {
    /// Nodes
    #[arg(long, default_value_t = 5000)]
    pub nodes: usize,
    /// Pods, fifteen in each namespace
    #[arg(long, default_value_t = 150_000)]
    pub pods: usize,
    /// Findings of agents
    #[arg(long, default_value_t = 0)]
    pub findings: usize,
    /// Nodes on which an agent says what holds fifty pods
    #[arg(long, default_value_t = 0)]
    pub held_nodes: usize,
    /// No API is dead, so that every namespace has its own root only
    #[arg(long)]
    pub all_apis_answer: bool,
}

impl Size {
    fn arguments(self) -> Vec<String> {
        let apis = self.all_apis_answer.then(|| "--all-apis-answer".to_owned());
        let numbers =
            [("nodes", self.nodes), ("pods", self.pods), ("findings", self.findings), ("held-nodes", self.held_nodes)];
        numbers.map(|(name, value)| format!("--{name}={value}")).into_iter().chain(apis).collect()
    }
}

/// What to measure, and how often.
#[derive(Clone, Debug, clap::Args)]
pub struct Cluster {
    #[command(flatten)]
    size: Size,
    /// Runs of each command
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// The plugin
    #[arg(long, default_value_os_t = beside_us("kubectl-why_terminating"))]
    plugin: PathBuf,
    /// Say on standard error what each command asks
    #[arg(long)]
    requests: bool,
    /// The kubectl to compare with
    #[arg(long, default_value = "kubectl")]
    kubectl: PathBuf,
}

/// Cargo puts both into one directory.
pub fn beside_us(name: &str) -> PathBuf {
    std::env::current_exe().unwrap_or_default().with_file_name(name)
}

/// Namespaces of different roots that are asked about alone, and how many requests each may take. Besides its own
/// root each has the dead API, which costs five; with their own root alone all are held to fifteen.
const ALONE: [(&str, usize); 4] = [("dead-api", 15), ("webhook", 20), ("silent-node", 15), ("operator-gone", 20)];

/// The whole answer, with a scan of every kind.
const EVERYTHING: Targets = Targets {
    requests: Some(800),
    megabytes: Some(20.0),
    cpu_ms: Some(2000.0),
    clock_ms: Some(5000.0),
    rss_mib: Some(200.0),
};

fn at_most(requests: usize) -> Targets {
    Targets { requests: Some(requests), ..Targets::default() }
}

impl Cluster {
    /// Measures; returns the report, and whether all targets are met.
    pub fn run(&self) -> anyhow::Result<(String, bool)> {
        ensure!(self.plugin.exists(), "{} is missing: build it in release mode first", self.plugin.display());
        ensure!(self.size.nodes > 20, "the pods that are stuck are on the first twenty nodes");
        let load = machine::load();
        let cluster = Running::start(self.size)?;
        let mut report = Report::default();
        report.text(format!("Machine: {}; load when the measuring began: {load:.1}.", machine::describe()));
        report.text(format!(
            "In the cluster: {} objects, {:.0} MB as JSON. Runs of each command: {}, after one that does not count.\n",
            cluster.contents.objects,
            cluster.contents.bytes as f64 / 1e6,
            self.runs
        ));
        let mut met = true;
        asked::head(&mut report);
        let mut row =
            |what: &str, asked: &Asked, targets: Targets| met &= asked::row(&mut report, what, asked, targets);
        let ask = |arguments: &[&str], check: &dyn Fn(&str) -> anyhow::Result<()>| {
            asked::repeat(&cluster, &self.plugin(&cluster, arguments), self.runs, self.requests, check)
                .with_context(|| format!("kubectl why-terminating {}", arguments.join(" ")))
        };
        row("`kubectl why-terminating`", &ask(&[], &answer::tells_every_cause)?, EVERYTHING);
        row("`… -A -o json`", &ask(&["-A", "-o", "json"], &answer::names_everything)?, EVERYTHING);
        for (name, most) in ALONE {
            let trouble = named(name)?;
            let namespace = format!("ns/{name}-0");
            let asked = ask(&[&namespace, "-o", "json"], &|text| answer::names(text, trouble))?;
            row(&format!("`… {namespace}` ({})", trouble.cause), &asked, at_most(most));
        }
        let trouble = named("silent-node")?;
        let pod = ask(&["pod/web-0", "-n", "silent-node-0", "-o", "json"], &|text| answer::names(text, trouble))?;
        row("`… pod/web-0 -n silent-node-0`", &pod, at_most(15));
        self.compare(&cluster, &mut report)?;
        drop(cluster);
        let cluster = Running::start(Size { all_apis_answer: true, ..self.size })?;
        for name in ["webhook", "operator-gone", "silent-node"] {
            let trouble = named(name)?;
            let namespace = format!("ns/{name}-0");
            let asked = asked::repeat(
                &cluster,
                &self.plugin(&cluster, &[&namespace, "-o", "json"]),
                self.runs,
                self.requests,
                &|text| answer::names(text, trouble),
            )?;
            let what = format!("`… {namespace}`, when no API is dead");
            met &= asked::row(&mut report, &what, &asked, at_most(15));
        }
        report.text(format!("\nAll targets met: {}.", yes(met)));
        Ok((report.finish(), met))
    }

    fn plugin(&self, cluster: &Running, arguments: &[&str]) -> Tool {
        let config = cluster.kubeconfig();
        let flags = ["--kubeconfig".as_ref(), config.as_os_str()];
        Tool::new(&self.plugin, flags.into_iter().chain(arguments.iter().map(|argument| argument.as_ref())))
    }

    /// The loop, with an empty cache and with a full one.
    fn compare(&self, cluster: &Running, report: &mut Report) -> anyhow::Result<()> {
        let namespace = "operator-gone-0";
        let cold = asked::once(cluster, &self.all_of(cluster, namespace))?;
        let warm = asked::once(cluster, &self.all_of(cluster, namespace))?;
        for (what, asked) in [("empty", &cold), ("full", &warm)] {
            asked::row(report, &format!("the loop, cache of discovery {what}"), asked, Targets::default());
        }
        Ok(())
    }

    fn all_of(&self, cluster: &Running, namespace: &str) -> Tool {
        let quoted = |path: &Path| format!("'{}'", path.display());
        let kubectl = format!(
            "{} --kubeconfig {} --cache-dir {}",
            quoted(&self.kubectl),
            quoted(&cluster.kubeconfig()),
            quoted(&cluster.scratch("kubectl-cache"))
        );
        let script = format!(
            "{kubectl} api-resources --verbs=list --namespaced -o name | \
             xargs -n1 {kubectl} get -n {namespace} --ignore-not-found --show-kind"
        );
        Tool::new("sh", ["-c", &script])
    }
}

fn named(name: &str) -> anyhow::Result<&'static Trouble> {
    trouble::ALL.iter().find(|trouble| trouble.name == name).with_context(|| format!("nothing is called {name}"))
}
