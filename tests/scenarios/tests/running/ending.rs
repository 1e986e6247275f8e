//! The agent ends, in a good way or a bad one, and another one goes on.

use std::{fs, net::UdpSocket, process::Command, time::Duration};

use anyhow::{Context, ensure};
use apiserver::{Fault, Faults, Rule, kubeconfig};
use lab::{NODE_NAME, PodRef};
use serde_json::json;

use super::agent::Agent;
use super::events::series;
use super::ground::{CAUSE, Staged};
use crate::ask;

/// After SIGTERM.
const END: Duration = Duration::from_secs(2);

fn unavailable() -> Fault {
    Fault::Status { status: 503, retry_after: None }
}

/// It has seen the finding, its write hangs, and it is killed.
pub fn killed_unheard(staged: &Staged) -> anyhow::Result<()> {
    let cluster = staged.cluster("killed-unheard")?;
    cluster.set_faults(Rule::new(Fault::Silent).verb("PATCH"))?;
    let agent = staged.agent(&cluster, &[])?;
    agent.wait_held(CAUSE)?;
    agent.kill()?;
    ensure!(staged.told(&cluster)? == (0, 0), "nothing was to be written");
    cluster.set_faults(Faults::none())?;
    let agent = staged.agent(&cluster, &[])?;
    staged.wait_told(&cluster, &agent)?;
    agent.wait_scans(2)?;
    ensure!(staged.told(&cluster)? == (1, 0), "{:#?}", cluster.events()?);
    Ok(())
}

/// Its write was done, and it is killed before it hears of that.
pub fn killed_heard(staged: &Staged) -> anyhow::Result<()> {
    let cluster = staged.cluster("killed-heard")?;
    cluster.set_faults(Rule::new(Fault::Slow { slow_ms: 3000 }).verb("PATCH"))?;
    let agent = staged.agent(&cluster, &[])?;
    agent.wait_held(CAUSE)?;
    staged.wait_told(&cluster, &agent).and_then(|()| agent.kill())?;
    cluster.set_faults(Faults::none())?;
    let agent = staged.agent(&cluster, &[])?;
    agent.wait_scans(3)?;
    let events = cluster.events()?.about(&staged.pod.uid);
    ensure!(events.count() == (1, 0), "{events:#?}");
    ensure!(series(events.warning()?) == 1, "it was reported once: {events:#?}");
    Ok(())
}

/// The API server takes the write and says nothing; the agent is asked to end.
pub fn silent(staged: &Staged) -> anyhow::Result<()> {
    let cluster = staged.cluster("silent")?;
    cluster.set_faults(Rule::new(Fault::Silent).verb("PATCH"))?;
    let agent = staged.agent(&cluster, &[])?;
    agent.wait_held(CAUSE)?;
    let ended = agent.terminate()?;
    ensure!(ended.took < END, "it took {:?}", ended.took);
    ensure!(ended.last["dropped"] == 1 && ended.last["written"] == 0, "it says {}", ended.last);
    ensure!(staged.told(&cluster)? == (0, 0));
    Ok(())
}

/// The API server's name cannot be looked up: the DNS server takes the question and says nothing.
pub fn nameless(staged: &Staged) -> anyhow::Result<()> {
    let cluster = staged.cluster("nameless")?;
    let mute = UdpSocket::bind("127.0.0.53:53").context("be a DNS server")?;
    mute.set_read_timeout(Some(super::LIMIT))?;
    let resolver = cluster.dir().join("resolv.conf");
    fs::write(&resolver, "nameserver 127.0.0.53\n")?;
    fs::write(cluster.kubeconfig(), kubeconfig("api.nobody.example:80", None))?;
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\""]);
    command.arg(&resolver).arg(ask::binary()?);
    let agent = Agent::start_by(command, &staged.node, &cluster.dir().join("log"), &cluster.kubeconfig(), &[])?;
    mute.recv(&mut [0; 512]).context("nothing looks the name up")?;
    let ended = agent.terminate()?;
    ensure!(ended.took < END, "it took {:?}", ended.took);
    Ok(())
}

/// What is not written yet is written at the end, if the API server answers.
pub fn flushed(staged: &Staged) -> anyhow::Result<()> {
    let cluster = staged.cluster("flushed")?;
    cluster.set_faults(Rule::new(unavailable()).verb("PATCH"))?;
    let agent = staged.agent(&cluster, &[])?;
    // Then it waits for some seconds before it tries again.
    agent.wait("three writes fail", || Ok((cluster.writes()?.len() >= 3).then_some(())))?;
    cluster.set_faults(Faults::none())?;
    let ended = agent.terminate()?;
    ensure!(ended.took < END, "it took {:?}", ended.took);
    ensure!(ended.last["dropped"] == 0 && ended.last["written"] == 1, "it says {}", ended.last);
    ensure!(staged.told(&cluster)? == (1, 0), "{:#?}", cluster.events()?);
    Ok(())
}

/// A restart in peace writes nothing before the renewal is due.
pub fn restarted(staged: &Staged) -> anyhow::Result<()> {
    let cluster = staged.cluster("restarted")?;
    let agent = staged.agent(&cluster, &[])?;
    staged.wait_told(&cluster, &agent)?;
    agent.wait_heard()?;
    let before = cluster.events()?.about(&staged.pod.uid).warning()?.clone();
    let ended = agent.terminate()?;
    ensure!(ended.took < END, "it took {:?}", ended.took);
    ensure!(ended.last["dropped"] == 0, "it says {}", ended.last);
    let agent = staged.agent(&cluster, &[])?;
    agent.wait_scans(3)?;
    ensure!(cluster.events()?.about(&staged.pod.uid).warning()? == &before, "the Event was written again");
    ensure!(cluster.writes()?.len() == 1, "{:#?}", cluster.writes()?);
    Ok(())
}

/// What ended while no agent ran is reported by the next one, and only by that.
pub fn over_meanwhile(staged: &Staged) -> anyhow::Result<()> {
    let cluster = staged.cluster("over-meanwhile")?;
    let pod = PodRef::new("kept-by-a-finalizer");
    put_kept_pod(&cluster, &pod)?;
    let counted = || anyhow::Ok(cluster.events()?.about(&pod.uid).count());
    let agent = staged.agent(&cluster, &[])?;
    agent.wait("it is reported", || Ok((counted()? == (1, 0)).then_some(())))?;
    agent.terminate()?;
    cluster.store().remove_pod(&pod.namespace, &pod.name)?;
    let agent = staged.agent(&cluster, &[])?;
    agent.wait("its end is reported", || Ok((counted()? == (1, 1)).then_some(())))?;
    agent.terminate()?;
    let agent = staged.agent(&cluster, &[])?;
    agent.wait_scans(3)?;
    ensure!(counted()? == (1, 1), "{:#?}", cluster.events()?);
    cluster.events()?.check(&cluster.node_uid()?)
}

/// What ends while its first write is under way is ended in the API server, too, though the answer
/// to that write comes late, or never.
pub fn over_unanswered(staged: &Staged) -> anyhow::Result<()> {
    for (name, fault) in [("over-late", Fault::Slow { slow_ms: 6000 }), ("over-cut", Fault::Cut)] {
        let cluster = staged.cluster(name)?;
        let pod = PodRef::new(name);
        let counted = || anyhow::Ok(cluster.events()?.about(&pod.uid).count());
        // The staged pod's comes first; then each write is the only one under way.
        let agent = staged.agent(&cluster, &[])?;
        staged.wait_told(&cluster, &agent)?;
        cluster.set_faults(Rule::new(fault).verb("PATCH").times(1))?;
        put_kept_pod(&cluster, &pod)?;
        agent.wait_held("FinalizersRemain")?;
        cluster.store().remove_pod(&pod.namespace, &pod.name)?;
        agent.wait_over("FinalizersRemain")?;
        agent.wait(&format!("{name}: both are reported"), || Ok((counted()? == (1, 1)).then_some(())))?;
        agent.wait_scans(2)?;
        ensure!(counted()? == (1, 1), "{:#?}", cluster.events()?);
    }
    Ok(())
}

/// A pod of this node of which nothing is left here, whose deadline passed long ago.
pub fn put_kept_pod(cluster: &super::cluster::Cluster, pod: &PodRef) -> anyhow::Result<()> {
    let object = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": pod.name, "namespace": pod.namespace, "uid": pod.uid, "finalizers": ["example.com/hold"],
            "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30,
        },
        "spec": {"nodeName": NODE_NAME, "containers": []},
        "status": {"phase": "Failed"},
    });
    cluster.store().put_pod(&pod.namespace, &pod.name, &object)
}
