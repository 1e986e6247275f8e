//! The API server answers, and does not take what is written.

use std::time::Duration;

use anyhow::{Context, ensure};
use apiserver::{Fault, Faults, Rule};
use findings::event::ANNOTATION;
use jiff::Timestamp;

use super::events::{carried, series};
use super::ground::Staged;

/// 429 with `Retry-After`, then a conflict, then a fault of its own.
pub fn busy(staged: &Staged) -> anyhow::Result<()> {
    let cluster = staged.cluster("busy")?;
    let once = |status, retry_after| Rule::new(Fault::Status { status, retry_after }).verb("PATCH").times(1);
    cluster.set_faults(Faults::none().and(once(429, Some(3))).and(once(409, None)).and(once(500, None)))?;
    let agent = staged.agent(&cluster, &[])?;
    staged.wait_told(&cluster, &agent)?;
    agent.wait_scans(2)?;
    let writes = cluster.writes()?;
    let statuses: Vec<u16> = writes.iter().map(|write| write.status).collect();
    ensure!(statuses == [429, 409, 500, 201], "the writes ended with {statuses:?}");
    let at: Vec<Timestamp> = writes.iter().map(|write| write.at.parse()).collect::<Result<_, _>>()?;
    let waits: Vec<Duration> = at.windows(2).map(|pair| pair[0].duration_until(pair[1]).unsigned_abs()).collect();
    ensure!(waits[0] >= Duration::from_secs(3), "it was asked to wait for 3 s: {waits:?}");
    ensure!(waits[1..].iter().all(|wait| *wait >= Duration::from_secs(1)), "it hurries: {waits:?}");
    ensure!(staged.told(&cluster)? == (1, 0), "{:#?}", cluster.events()?);
    let metrics = agent.metrics()?;
    let counted = |result: &str| metrics.sum_of("why_terminating_events_total", &format!("result=\"{result}\""));
    // A server that fails may have stored what it was given.
    let counts = (counted("busy"), counted("unknown"), counted("written"));
    ensure!(counts == (2.0, 1.0, 1.0), "busy, unknown and written are counted as {counts:?}");
    Ok(())
}

/// The Event is deleted; the finding still holds.
pub fn vanished(staged: &Staged) -> anyhow::Result<()> {
    let cluster = staged.cluster("vanished")?;
    let agent = staged.agent(&cluster, &["--event-renewal=6s", "--event-refill=1s"])?;
    staged.wait_told(&cluster, &agent)?;
    let first = cluster.events()?.about(&staged.pod.uid).warning()?.clone();
    let name = first["metadata"]["name"].as_str().context("it has a name")?;
    cluster.store().remove("events", Some("default"), name)?;
    staged.wait_told(&cluster, &agent)?;
    let events = cluster.events()?.about(&staged.pod.uid);
    ensure!(events.count() == (1, 0), "{events:#?}");
    let again = events.warning()?;
    ensure!(again["metadata"]["name"] == name && again["metadata"]["uid"] != first["metadata"]["uid"], "{again:#}");
    ensure!(again["eventTime"] == first["eventTime"] && series(again) == 2, "it goes on: {again:#}");
    events.check(&cluster.node_uid()?)
}

/// An Event of this name says it in other words, and carries nothing that could be read.
pub fn other_words(staged: &Staged) -> anyhow::Result<()> {
    let cluster = staged.cluster("other-words")?;
    let agent = staged.agent(&cluster, &[])?;
    staged.wait_told(&cluster, &agent)?;
    agent.wait_heard()?;
    agent.terminate()?;
    let mut event = cluster.events()?.about(&staged.pod.uid).warning()?.clone();
    let name = event["metadata"]["name"].as_str().context("it has a name")?.to_owned();
    let note = format!("Pod {}/{} is held in other words", staged.pod.namespace, staged.pod.name);
    event["note"] = note.clone().into();
    event["metadata"]["annotations"].as_object_mut().context("it has annotations")?.remove(ANNOTATION);
    cluster.store().put("events", Some("default"), &name, &event)?;
    let agent = staged.agent(&cluster, &[])?;
    let adopted = || anyhow::Ok(cluster.events()?.about(&staged.pod.uid).warning()?.clone());
    agent.wait("it goes on with the Event", || Ok(carried(&adopted()?).is_ok().then_some(())))?;
    agent.wait_scans(2)?;
    let after = adopted()?;
    ensure!(after["note"] == note && after["eventTime"] == event["eventTime"], "{after:#}");
    ensure!(series(&after) == 2, "{after:#}");
    let statuses: Vec<u16> = cluster.writes()?.iter().map(|write| write.status).collect();
    ensure!(statuses == [201, 422, 200], "the writes ended with {statuses:?}");
    Ok(())
}

/// The Node was deleted and has joined again: its Events are not shown with it any more.
pub fn node_anew(staged: &Staged) -> anyhow::Result<()> {
    const ANEW: &str = "0f0e1c52-57b5-4c3c-8c7a-5a1de1c8e2f4";
    let cluster = staged.cluster("node-anew")?;
    let agent = staged.agent(&cluster, &[])?;
    staged.wait_told(&cluster, &agent)?;
    let old = cluster.events()?.about(&staged.pod.uid).warning()?.clone();
    agent.terminate()?;
    cluster.make_node_anew(ANEW)?;
    let agent = staged.agent(&cluster, &[])?;
    agent.wait("the Node made anew is reported", || Ok((staged.told(&cluster)?.0 == 2).then_some(())))?;
    agent.wait_scans(2)?;
    let events = cluster.events()?.about(&staged.pod.uid);
    ensure!(events.count() == (2, 0), "{events:#?}");
    let anew = events.warnings().find(|event| event["regarding"]["uid"] == ANEW).context("one regards the new Node")?;
    ensure!(anew["metadata"]["name"] != old["metadata"]["name"], "they have one name");
    ensure!(events.warnings().any(|event| *event == old), "the old Event was changed");
    Ok(())
}
