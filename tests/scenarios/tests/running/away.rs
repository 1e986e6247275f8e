//! The API server is away, and comes back.

use std::{thread, time::Duration};

use anyhow::ensure;
use apiserver::{Fault, Faults, Rule};

use super::ground::{CAUSE, Staged};

/// No API server listens when the agent starts.
pub fn at_start(staged: &Staged) -> anyhow::Result<()> {
    let mut cluster = staged.cluster("at-start")?;
    cluster.stop()?;
    let agent = staged.agent(&cluster, &[])?;
    agent.wait_line("the API server was asked in vain; going on with what the node shows", |_| true)?;
    agent.wait_scans(3)?;
    let over = agent.said("a pod is no longer held")?;
    ensure!(over.is_empty(), "{over:?}");
    cluster.start()?;
    staged.wait_told(&cluster, &agent)?;
    agent.wait_line("the API server answers again", |_| true)?;
    agent.wait_scans(3)?;
    ensure!(staged.told(&cluster)? == (1, 0), "{:#?}", cluster.events()?);
    // A finding that is already reported survives the same.
    cluster.stop()?;
    agent.wait_scans(3)?;
    cluster.start()?;
    agent.wait("the watch is there again", || {
        Ok((agent.said("the API server answers again")?.len() >= 2).then_some(()))
    })?;
    agent.wait_scans(2)?;
    ensure!(staged.told(&cluster)? == (1, 0), "{:#?}", cluster.events()?);
    Ok(())
}

/// Each watch is answered, and over at once: no reason to ask a thousand times per second.
pub fn empty_watches(staged: &Staged) -> anyhow::Result<()> {
    let cluster = staged.cluster("empty-watches")?;
    cluster.set_faults(Rule::new(Fault::Nonsense).watch(true))?;
    let agent = staged.agent(&cluster, &[])?;
    staged.wait_told(&cluster, &agent)?;
    thread::sleep(Duration::from_secs(5));
    let watches = cluster.store().requests()?.iter().filter(|request| request.verb == "watch").count();
    ensure!((2..20).contains(&watches), "{watches} watches");
    Ok(())
}

/// Every second it fails in another way.
pub fn flapping(staged: &Staged) -> anyhow::Result<()> {
    let mut cluster = staged.cluster("flapping")?;
    let agent = staged.agent(&cluster, &["--event-renewal=5s", "--event-refill=1s"])?;
    let ways = [
        Rule::new(Fault::Status { status: 503, retry_after: None }),
        Rule::new(Fault::Cut),
        Rule::new(Fault::Nonsense),
        Rule::new(Fault::Gone).watch(true),
        Rule::new(Fault::Gone),
        Rule::new(Fault::Silent),
    ];
    for second in 0..20 {
        let faults = if second % 2 == 0 { ways[second / 2 % ways.len()].clone().into() } else { Faults::none() };
        cluster.set_faults(faults)?;
        // An open watch meets no fault: it has to break.
        cluster.stop()?;
        cluster.start()?;
        thread::sleep(Duration::from_secs(1));
    }
    let during = cluster.store().requests()?.len();
    cluster.set_faults(Faults::none())?;
    staged.wait_told(&cluster, &agent)?;
    agent.wait_scans(3)?;
    ensure!(during <= 60, "{during} requests in 20 s");
    ensure!(staged.told(&cluster)? == (1, 0), "{:#?}", cluster.events()?);
    let over = agent.said("a pod is no longer held")?;
    ensure!(over.is_empty(), "{over:?}");
    let held = agent.said("a pod is held")?;
    ensure!(held.len() == 1 && held[0]["cause"] == CAUSE, "{held:?}");
    Ok(())
}
