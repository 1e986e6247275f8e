//! Five hundred pods become stuck within a second.

use std::time::{Duration, Instant};

use anyhow::ensure;
use lab::PodRef;

use super::{ending::put_kept_pod, ground::Staged};

const PODS: u32 = 500;
/// The defaults of the agent.
const BURST: usize = 10;
const REFILL: Duration = Duration::from_secs(30);

/// All are counted at once, and reported a few at a time, also at the agent's end.
pub fn pods(staged: &Staged) -> anyhow::Result<()> {
    let cluster = staged.cluster("many")?;
    let agent = staged.agent(&cluster, &[])?;
    let began = Instant::now();
    agent.wait_scans(1)?;
    (0..PODS).try_for_each(|number| put_kept_pod(&cluster, &PodRef::new(&format!("kept-{number}"))))?;
    let findings = || anyhow::Ok(agent.metrics()?.sum_of("why_terminating_findings", "FinalizersRemain"));
    agent.wait("all are counted", || Ok((findings()? >= f64::from(PODS)).then_some(())))?;
    agent.wait("the burst is written", || Ok((cluster.writes()?.len() >= BURST).then_some(())))?;
    agent.wait_scans(2)?;
    let may = BURST + usize::try_from(began.elapsed().as_secs() / REFILL.as_secs())? + 1;
    let writes = cluster.writes()?.len();
    ensure!(writes <= may, "{writes} writes, {may} are allowed");
    let scans = agent.metrics()?.sum("why_terminating_scan_duration_seconds_count");
    let most = began.elapsed().as_secs_f64() / 2.0 + 2.0;
    ensure!(scans <= most, "{scans} scans in {:?}", began.elapsed());
    let ended = agent.terminate()?;
    let last = cluster.writes()?.len() - writes;
    ensure!(last <= BURST, "{last} writes at the end");
    ensure!(ended.took < Duration::from_secs(2), "it took {:?}", ended.took);
    let dropped = ended.last["dropped"].as_u64().unwrap_or(0);
    ensure!(dropped >= u64::from(PODS) - 3 * BURST as u64, "it says {}", ended.last);
    let (warnings, normals) = cluster.events()?.count();
    ensure!(warnings <= writes + last && normals == 0, "{warnings} Warnings, {normals} Normal events");
    Ok(())
}
