//! Half an hour of pods that appear, stick and resolve on the lab's node, while the API server flaps, containerd is
//! restarted and the agent is killed; for a third of the time beside a pod that does its worst.
//!
//! At the end every finding was opened and closed exactly once, memory and descriptors of the agent have not grown,
//! and no process is left.

mod agent;
mod asked;
mod flat;
mod hostile;
mod incidents;
mod pods;
mod state;
mod trouble;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use clap::Parser;
use lab::{Node, cgroup, process, scenario, wait_for};

use agent::Lives;
use asked::Answers;
use incidents::Told;
use state::State;

/// All that is waited for may take so many times longer than where nothing else goes on.
const PATIENCE: u32 = 4;

/// Soaks the agent.
#[derive(Debug, Parser)]
struct Options {
    /// How long pods are made.
    #[arg(long, default_value_t = 30)]
    minutes: u64,
    /// Repeats the choices of an earlier run, as far as the machine's own speed lets it.
    #[arg(long)]
    seed: Option<u64>,
    /// The agent.
    #[arg(long)]
    agent: PathBuf,
}

fn main() -> anyhow::Result<ExitCode> {
    // The lab's own processes are this binary again, and so is the hostile one.
    if let Some(ended) = lab::standin::take_over().or_else(hostile::take_over) {
        return ended.map(|()| ExitCode::SUCCESS);
    }
    let options = Options::parse();
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}");
    lab::be_patient(PATIENCE);
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    scenario::provide(&node)?;
    let outcome = soak(&node, &options, seed);
    let faults = outcome?;
    node.down().context("take the node down")?;
    for fault in &faults {
        println!("FAULT  {fault}");
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns what was wrong.
fn soak(node: &Node, options: &Options, seed: u64) -> anyhow::Result<Vec<String>> {
    let length = Duration::from_secs(options.minutes * 60);
    let (began, before) = (Instant::now(), processes()?);
    let state = State::new(options.agent.canonicalize()?, began + length, pods::AT_ONCE + 3);
    let [hostile_from, unharmed] = [began + length / 3, began + length * 2 / 3];
    let mut random = fastrand::Rng::with_seed(seed);

    let (lives, flaps, restarts, answers) = thread::scope(|scope| {
        let state = &state;
        let churning: Vec<_> = (0..pods::AT_ONCE)
            .map(|number| (number, random.fork()))
            .map(|(number, random)| scope.spawn(move || state.ended(pods::churn(state, number, random))))
            .collect();
        let (flap, restart, kill) = (random.fork(), random.fork(), random.fork());
        let flapping = scope.spawn(move || state.ended(trouble::flap(state, flap)));
        let restarting = scope.spawn(move || state.ended(trouble::restart_runtime(state, restart)));
        let asking = scope.spawn(move || state.ended(hostile::beside(state, hostile_from, unharmed)));
        let lives = state.noted(agent::live(node, state, unharmed, kill));
        let churned: Vec<_> = churning.into_iter().map(ended).collect();
        let (flaps, restarts, answers) = (ended(flapping), ended(restarting), ended(asking));
        // All have ended; a later failure may be an effect of the first.
        let failures = churned.iter().filter_map(|churned| churned.as_ref().err());
        failures.for_each(|error| eprintln!("{error:#}"));
        let lives = lives?;
        churned.into_iter().collect::<anyhow::Result<()>>()?;
        anyhow::Ok((lives, flaps?, restarts?, answers?))
    })?;

    let told = node.store().events()?.iter().map(Told::read).collect::<anyhow::Result<Vec<_>>>()?;
    let incidents = state.incidents();
    let mut faults = incidents::faults(&told, &incidents, hostile::swaps_files);
    println!("{} minutes, {} pods stuck and resolved", options.minutes, incidents.len());
    println!("API server failed {flaps} times, containerd restarted {restarts} times");
    println!("Events: {} Warning, {} Normal", count(&told, false), count(&told, true));
    println!("causes that were not staged: {:?}", incidents::others(&told, &incidents));
    faults.extend(of_the_agent(&lives));
    faults.extend(of_the_answers(&answers));
    faults.extend(injected(node)?);
    faults.extend(left(&before));
    Ok(faults)
}

fn ended<T>(thread: ScopedJoinHandle<'_, anyhow::Result<T>>) -> anyhow::Result<T> {
    thread.join().map_err(|_| anyhow!("a thread of the soak panicked"))?
}

fn count(told: &[Told], over: bool) -> usize {
    told.iter().filter(|one| one.over == over).count()
}

fn of_the_agent(lives: &Lives) -> Vec<String> {
    let Lives { count, most_resident, most_descriptors, times_limited, last } = lives;
    println!(
        "agent: {count} lives, at most {most_resident} KiB resident, {most_descriptors} descriptors, \
         limit met {times_limited} times"
    );
    let Some(course) = last else { return vec!["the last life was too short to be judged".to_owned()] };
    let (first, last) = (course.first, course.last);
    println!(
        "last life, medians of first and last third: {} and {} KiB resident, {} and {} descriptors",
        first.resident, last.resident, first.descriptors, last.descriptors
    );
    let grown = (!course.is_flat()).then(|| format!("the agent has grown: {course:?}"));
    grown.into_iter().collect()
}

fn of_the_answers(answers: &Answers) -> Vec<String> {
    println!(
        "beside the hostile pod: {} times asked, at most {:.1} s, {} of {} other pods explained",
        answers.times,
        answers.longest.as_secs_f64(),
        answers.explained,
        answers.held
    );
    answers.faults.clone()
}

/// Nothing of the hostile pod steers who reads the Events.
fn injected(node: &Node) -> anyhow::Result<Vec<String>> {
    let texts = node.store().events()?.into_iter().map(|event| {
        let note = event["note"].as_str().unwrap_or_default().to_owned();
        (event["metadata"]["name"].to_string(), note)
    });
    Ok(texts.filter_map(|(name, note)| Some(format!("Event {name}: {}", asked::steers(&note)?))).collect())
}

/// The lab's processes by their names.
fn processes() -> anyhow::Result<BTreeMap<String, usize>> {
    let mut names = BTreeMap::new();
    for pid in cgroup::all_processes()? {
        let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if process::state(pid).is_some_and(|state| !"ZX".contains(state)) {
            *names.entry(comm.trim().to_owned()).or_insert(0) += 1;
        }
    }
    Ok(names)
}

/// No process is left that was not there before.
fn left(before: &BTreeMap<String, usize>) -> Option<String> {
    let more = || -> anyhow::Result<BTreeMap<String, usize>> {
        let more = processes()?.into_iter();
        Ok(more.filter(|(name, count)| count > before.get(name).unwrap_or(&0)).collect())
    };
    let gone = wait_for("no process is left", Duration::from_secs(30), || {
        let more = more()?;
        ensure!(more.len() < 1000, "too many processes are left");
        Ok(more.is_empty().then_some(()))
    });
    gone.err().map(|error| format!("{error:#}: {:?}", more().unwrap_or_default()))
}
