//! `SET=api`: what the API server, its controllers and its extensions hold, on a control plane without a node.
//!
//! Each situation makes something stuck, asks the plugin until it says what is expected, fails at once where another root is
//! called proven, and types the steps of the answer.

mod nodes;
mod objects;
mod situations;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use lab::wait_for;
use serde_json::Value;

use crate::answers::commands;
use crate::cluster::Cluster;
use crate::situation::Staged;

/// Makes it, in this namespace, up to the deletion.
type Stage = fn(&Cluster, &str) -> anyhow::Result<Staged>;

/// One way to be stuck.
pub struct Situation {
    /// Its name; its namespace is called after it.
    name: &'static str,
    /// The cluster that it is made on. What would disturb others has one of its own.
    cluster: u8,
    stage: Stage,
    asks: Vec<Ask>,
    /// Tried after the questions.
    lines: Vec<Line>,
}

/// A command line of the plugin, and how it must end. `{ns}` stands for the namespace.
struct Line {
    args: &'static str,
    exit_code: i32,
    says: &'static [&'static str],
    never: &'static [&'static str],
}

impl Line {
    /// What is not as it should be; empty when nothing is.
    fn wrong(&self, cluster: &Cluster, namespace: &str) -> anyhow::Result<String> {
        let args: Vec<String> = self.args.split(' ').map(|word| word.replace("{ns}", namespace)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let (exit_code, text) = cluster.run("kubectl-why_terminating", &args)?;
        let said = |words: &&&str| text.contains(&words.replace("{ns}", namespace));
        let lacks = self.says.iter().find(|words| !said(words));
        let is_right = exit_code == Some(self.exit_code) && lacks.is_none() && !self.never.iter().any(|one| said(&one));
        Ok(if is_right {
            String::new()
        } else {
            format!("exit {exit_code:?}, not {}; without {lacks:?}: {text}", self.exit_code)
        })
    }
}

/// A question, and what the answer must be. `{ns}` stands for the namespace.
struct Ask {
    about: &'static str,
    /// The cause; empty where nothing is stuck.
    cause: &'static str,
    /// The last link of its chain.
    root: &'static str,
    /// `Proven`, `Probable`, or either.
    confidence: &'static str,
    /// Causes of further roots.
    beside: &'static [&'static str],
    /// Words of the answer.
    says: &'static [&'static str],
    /// Words that are false here.
    never: &'static [&'static str],
    /// The commands of the answer that contain these words, in this order.
    types: &'static [&'static str],
    /// The command of the answer that tries it, and is refused.
    refused: &'static str,
    /// What else a person does then, as lines of kubectl; or `sleep SECONDS`.
    does: &'static [&'static str],
    /// What has gone then: TYPE NAME.
    gone: &'static [&'static str],
}

impl Situation {
    fn new(name: &'static str, stage: Stage, asks: impl Into<Vec<Ask>>) -> Self {
        Self { name, cluster: 0, stage, asks: asks.into(), lines: Vec::new() }
    }

    fn then_typing(self, lines: impl Into<Vec<Line>>) -> Self {
        Self { lines: lines.into(), ..self }
    }

    fn on_cluster(self, cluster: u8) -> Self {
        Self { cluster, ..self }
    }

    fn is_among(&self, names: &[String]) -> bool {
        names.is_empty() || names.iter().any(|name| name == self.name)
    }
}

/// A command line that ends so.
fn line(args: &'static str, exit_code: i32, says: &'static [&'static str]) -> Line {
    Line { args, exit_code, says, never: &[] }
}

/// One question, one root.
fn ask(about: &'static str, cause: &'static str, root: &'static str) -> Ask {
    Ask {
        about,
        cause,
        root,
        confidence: "",
        beside: &[],
        says: &[],
        never: &[],
        types: &[],
        refused: "",
        does: &[],
        gone: &[],
    }
}

impl Ask {
    fn proven(self) -> Self {
        Self { confidence: "Proven", ..self }
    }

    fn beside(self, beside: &'static [&'static str]) -> Self {
        Self { beside, ..self }
    }

    fn saying(self, says: &'static [&'static str]) -> Self {
        Self { says, ..self }
    }

    fn never(self, never: &'static [&'static str]) -> Self {
        Self { never, ..self }
    }

    fn refusing(self, refused: &'static str) -> Self {
        Self { refused, ..self }
    }

    fn then_doing(self, does: &'static [&'static str], gone: &'static [&'static str]) -> Self {
        Self { does, gone, ..self }
    }

    fn then_typing(self, types: &'static [&'static str], gone: &'static [&'static str]) -> Self {
        Self { types, gone, ..self }
    }
}

/// What the namespace controller, a garbage collector and the plugin's own patience take at most on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);
const PAUSE: Duration = Duration::from_secs(6);
/// So many are tried at a time.
const AT_ONCE: usize = 14;

/// Runs those of these names, or all: `clusters` prints which clusters they need, `on N` runs those of one.
pub fn run(args: &[String]) -> anyhow::Result<ExitCode> {
    let (command, args) = args.split_first().context("clusters, or on")?;
    let all = situations::all();
    if command == "clusters" {
        let clusters: BTreeSet<u8> = all.iter().filter(|one| one.is_among(args)).map(|one| one.cluster).collect();
        anyhow::ensure!(!clusters.is_empty(), "none of {args:?} is a situation");
        clusters.iter().for_each(|number| println!("{number}"));
        return Ok(ExitCode::SUCCESS);
    }
    let (number, names) = args.split_first().context("the number of a cluster")?;
    let number: u8 = number.parse()?;
    let chosen: Vec<&Situation> = all.iter().filter(|one| one.cluster == number && one.is_among(names)).collect();
    let cluster = Cluster::without_node()?;
    nodes::start();
    objects::create(&[nodes::node("node-a", true), nodes::node("node-b", true)])?;
    let went_well = together(&cluster, &chosen);
    Ok(if went_well == chosen.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How many of these went well.
fn together(cluster: &Cluster, all: &[&Situation]) -> usize {
    let left = Mutex::new(all.iter());
    let asking = Mutex::new(());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        let lane = || std::iter::from_fn(next).filter(|one| one.went_well(cluster, &asking)).count();
        let lanes: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().map(|lane| lane.join().unwrap_or(0)).sum()
    })
}

impl Situation {
    fn went_well(&self, cluster: &Cluster, asking: &Mutex<()>) -> bool {
        let begin = Instant::now();
        match self.run(cluster, asking) {
            Ok(()) => println!("ok      {} ({} s)", self.name, begin.elapsed().as_secs()),
            Err(error) => {
                println!("FAILED  {} ({} s): {error:#}", self.name, begin.elapsed().as_secs());
                return false;
            }
        }
        true
    }

    fn run(&self, cluster: &Cluster, asking: &Mutex<()>) -> anyhow::Result<()> {
        let namespace = format!("e2e-{}", self.name);
        objects::create(&[objects::namespace(&namespace)])?;
        let staged = (self.stage)(cluster, &namespace).context("stage")?;
        for (index, one) in self.asks.iter().enumerate() {
            let answer = one.until_right(cluster, &namespace, asking);
            let answer = answer.with_context(|| format!("question {}, {}", index + 1, one.about))?;
            one.take_steps(cluster, &namespace, &answer)?;
        }
        for line in &self.lines {
            let wrong = line.wrong(cluster, &namespace)?;
            anyhow::ensure!(wrong.is_empty(), "{}: {wrong}", line.args);
        }
        drop(staged);
        Ok(())
    }
}

impl Ask {
    fn until_right(&self, cluster: &Cluster, namespace: &str, asking: &Mutex<()>) -> anyhow::Result<Value> {
        let args: Vec<String> = self.about.split(' ').map(|word| word.replace("{ns}", namespace)).collect();
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        args.extend(["-o", "json"]);
        let mut last = (Value::Null, String::new());
        let right = wait_for("the right answer", PATIENCE, || {
            std::thread::sleep(PAUSE);
            let turn = asking.lock().unwrap_or_else(PoisonError::into_inner);
            let answer = cluster.ask("kubectl-why_terminating", &args)?;
            drop(turn);
            let wrong = self.wrong_proof(&answer, namespace);
            anyhow::ensure!(wrong.is_empty(), "proven, and wrong: {wrong:?}");
            let lacks = self.lacks(&answer, namespace);
            let is_right = lacks.is_empty();
            last = (answer, lacks);
            Ok(is_right.then(|| last.0.clone()))
        });
        if let Some(dir) = std::env::var_os("ANSWERS") {
            let name = format!("{namespace}-{}.json", self.about.replace([' ', '/'], "_"));
            std::fs::create_dir_all(&dir)?;
            std::fs::write(Path::new(&dir).join(name), format!("{:#}", last.0))?;
        }
        right.with_context(|| last.1)
    }

    /// Roots of another cause than the expected one that are called proven.
    fn wrong_proof(&self, answer: &Value, namespace: &str) -> Vec<String> {
        let is_wrong = |root: &&Value| {
            let finding = &root["finding"];
            let is_it = finding["cause"] == self.cause && last_link(root).contains(&self.root(namespace));
            let is_beside = self.beside.iter().any(|cause| finding["cause"] == *cause);
            finding["confidence"] == "Proven" && root["verdict"] == "Stuck" && !is_it && !is_beside
        };
        roots(answer)
            .iter()
            .filter(is_wrong)
            .map(|root| format!("{}: {}", root["finding"]["cause"], last_link(root)))
            .collect()
    }

    fn root(&self, namespace: &str) -> String {
        self.root.replace("{ns}", namespace)
    }

    /// What is not as it should be; empty when nothing is.
    fn lacks(&self, answer: &Value, namespace: &str) -> String {
        let found: Vec<(&str, String)> = roots(answer)
            .iter()
            .map(|root| (root["finding"]["cause"].as_str().unwrap_or_default(), last_link(root)))
            .filter(|(cause, _)| !self.beside.contains(cause))
            .collect();
        let expected: &[&str] = if self.cause.is_empty() { &[] } else { &[self.cause] };
        if found.iter().map(|(cause, _)| *cause).collect::<Vec<_>>() != expected {
            return format!("roots {found:?}, not {expected:?}; verdict {}", answer["verdict"]);
        }
        if let Some((_, last)) = found.first().filter(|(_, last)| !last.contains(&self.root(namespace))) {
            return format!("root {last:?}, not {:?}", self.root(namespace));
        }
        let confidence = &answer["roots"][0]["finding"]["confidence"];
        if !self.confidence.is_empty() && confidence != self.confidence {
            return format!("{confidence}, not {}", self.confidence);
        }
        let text = answer.to_string();
        let said = |words: &&&str| text.contains(&words.replace("{ns}", namespace));
        if let Some(words) = self.says.iter().find(|words| !said(words)) {
            return format!("no {words:?} in {answer:#}");
        }
        self.never.iter().find(said).map_or(String::new(), |words| format!("{words:?} is in {answer:#}"))
    }

    fn take_steps(&self, cluster: &Cluster, namespace: &str, answer: &Value) -> anyhow::Result<()> {
        let steps = commands(answer);
        for words in self.types {
            let words = words.replace("{ns}", namespace);
            let step = steps.iter().find(|step| step.contains(&words));
            cluster.types(step.with_context(|| format!("no step with {words:?} among {steps:#?}"))?)?;
        }
        if !self.refused.is_empty() {
            let words = self.refused.replace("{ns}", namespace);
            let step = steps.iter().find(|step| **step == words);
            let step = step.with_context(|| format!("no step {words:?} among {steps:#?}"))?;
            let why = cluster.types(step).err().with_context(|| format!("{step} is not refused"))?.to_string();
            anyhow::ensure!(why.contains("denied request"), "{step}: {why}");
        }
        for line in self.does {
            match line.strip_prefix("sleep ") {
                Some(seconds) => std::thread::sleep(Duration::from_secs(seconds.parse()?)),
                None => drop(objects::kubectl(&line.replace("{ns}", namespace))?),
            }
        }
        for gone in self.gone {
            let object: Vec<String> = gone.split(' ').map(|word| word.replace("{ns}", namespace)).collect();
            let object: Vec<&str> = object.iter().map(String::as_str).collect();
            cluster.wait_gone(&object, PATIENCE).context("after the steps")?;
        }
        Ok(())
    }
}

fn roots(answer: &Value) -> &[Value] {
    answer["roots"].as_array().map_or(&[], Vec::as_slice)
}

/// `Service a/b: does not exist`.
fn last_link(root: &Value) -> String {
    let last = root["finding"]["chain"].as_array().and_then(|chain| chain.last());
    last.map_or(String::new(), |last| {
        format!("{}: {}", last["subject"].as_str().unwrap_or_default(), last["state"].as_str().unwrap_or_default())
    })
}
