//! Tenants and other writers of what the agent reads try to exhaust its memory. It has half of what the DaemonSet allows, is
//! not killed, and reports what it has to report.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use findings::event::{ANNOTATION, CONTROLLER};
use lab::{Launch, NODE_NAME, Node, cgroup, scenario};
use serde_json::json;

use super::cluster::Cluster;
use super::memory::{limited, most_resident};
use crate::ask;

pub const LIMIT: u64 = 32 << 20;
/// A user namespace may mount what it likes; each of these binds doubles what is mounted.
const BINDS: &str = "1 2 3 4 5 6 7 8 9 10 11 12";
const EVENTS: usize = 500;
const EVENT_BYTES: usize = 250_000;
const POD_BYTES: usize = 250_000;
const PODS: usize = 400;
const ON_SLOW_FUSE: usize = 40;
/// For each request, in milliseconds: less than the shortest deadline of a look at one file.
const SLOW: &str = "250";

/// On a node of its own on which this scenario is staged.
pub fn on(name: &str, attack: impl FnOnce(&Node) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    let stage = || (scenario::find(name).with_context(|| format!("the lab has no scenario {name}"))?.stage)(&node);
    let outcome = stage().and_then(|_| attack(&node));
    outcome.and_then(|()| node.down().context("take the node down"))
}

/// Another pod's volume is held, and a namespace has a mount table of 28 MB.
pub fn mount_table() -> anyhow::Result<()> {
    on("cwd", |node| {
        let base = node.layout().dir().join("deep");
        fs::create_dir_all(&base)?;
        let mut tenant = namespace_with_long_paths(base.to_str().context("the lab's path is text")?)?;
        let outcome = held_beside(node, &tenant);
        tenant.kill()?;
        tenant.wait()?;
        outcome
    })
}

fn held_beside(node: &Node, tenant: &Child) -> anyhow::Result<()> {
    let table = fs::read(format!("/proc/{}/mountinfo", tenant.id()))?;
    ensure!(table.len() > 20_000_000, "the table has {} bytes", table.len());
    let (agent, group) = limited(node, &node.layout().kubeconfig(), LIMIT, &[])?;
    agent.wait_held("VolumeHeldByProcess")?;
    agent.wait_scans(3)?;
    eprintln!(
        "beside a table of {} bytes: {}, {}",
        table.len(),
        most_resident(&agent)?,
        cgroup::times_limited(&group)?
    );
    agent.terminate().map(drop)
}

fn namespace_with_long_paths(base: &str) -> anyhow::Result<Child> {
    let deep = format!("{base}{}", format!("/{}", "d".repeat(240)).repeat(14));
    let script = format!(
        "mount -t tmpfs t {base} && for i in {BINDS}; do mkdir -p {deep}/$i; done && \
         for i in {BINDS}; do mount --rbind {deep} {deep}/$i; done && echo mounted && exec sleep 1000"
    );
    let mut tenant = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .stdout(Stdio::piped())
        .spawn()
        .context("start a process in a user namespace")?;
    let mut line = String::new();
    BufReader::new(tenant.stdout.take().context("its output is a pipe")?).read_line(&mut line)?;
    ensure!(line == "mounted\n", "the tenant could not mount");
    Ok(tenant)
}

/// Forty processes stand on a FUSE file system whose server answers within each deadline, and hardly faster.
pub fn slow_fuse() -> anyhow::Result<()> {
    on("cwd", |node| {
        let media = node.layout().mnt("media-of-slow");
        fs::create_dir_all(&media)?;
        let server = Launch::stand_in("s3fs").args(["stand-in", "hangfs", "--source", "s3fs", "--delay", SLOW]);
        node.launch(server.arg(&media))?;
        lab::wait_for("the slow server has mounted", Duration::from_secs(10), || {
            let table = fs::read_to_string("/proc/self/mountinfo")?;
            Ok(media.to_str().is_some_and(|media| table.contains(media)).then_some(()))
        })?;
        let file = fs::File::open(media.join("ok"))?;
        let stand_on_it = |_| {
            let mut command = Command::new("sleep");
            command.arg("1000").current_dir(&media).stdin(file.try_clone()?);
            command.spawn().context("start a process on it")
        };
        let tenants = (0..ON_SLOW_FUSE).map(stand_on_it).collect::<anyhow::Result<Vec<Child>>>();
        let outcome = tenants.and_then(|mut tenants| {
            let outcome = held_beside_slow_fuse(node);
            for tenant in &mut tenants {
                tenant.kill()?;
                tenant.wait()?;
            }
            outcome
        });
        drop(file);
        outcome
    })
}

fn held_beside_slow_fuse(node: &Node) -> anyhow::Result<()> {
    // It fails where an answer takes more than seconds.
    let answer = ask::check(node)?;
    let causes: Vec<&str> =
        answer.report.pods.iter().flat_map(|pod| &pod.findings).map(|found| found.cause.id).collect();
    ensure!(causes == ["VolumeHeldByProcess"], "found were {causes:?}:\n{}", answer.text);
    let (agent, group) = limited(node, &node.layout().kubeconfig(), LIMIT, &[])?;
    agent.wait_held("VolumeHeldByProcess")?;
    let begin = Instant::now();
    agent.wait_scans(3)?;
    let took = begin.elapsed();
    eprintln!(
        "beside a slow server: 3 scans in {took:?}, {}, {}",
        most_resident(&agent)?,
        cgroup::times_limited(&group)?
    );
    ensure!(took < Duration::from_secs(60), "three scans took {took:?}");
    agent.terminate().map(drop)
}

/// Five hundred Events of 250 kB bear the agent's name when it starts.
pub fn events() -> anyhow::Result<()> {
    on("vol-data-missing", |node| {
        let cluster = Cluster::beside(node, "fat-events")?;
        let fat = "x".repeat(EVENT_BYTES);
        for number in 0..EVENTS {
            let name = format!("{NODE_NAME}.{number}");
            let event = json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event",
                "metadata": {"name": name, "namespace": "default", "annotations": {ANNOTATION: fat}},
                "reportingController": CONTROLLER, "reportingInstance": NODE_NAME,
                "regarding": {"apiVersion": "v1", "kind": "Node", "name": NODE_NAME},
                "action": "x", "reason": "x", "type": "Warning", "eventTime": "2026-08-01T10:00:00.000000Z",
            });
            cluster.store().put("events", Some("default"), &name, &event)?;
        }
        let (agent, group) = limited(node, &cluster.kubeconfig(), LIMIT, &[])?;
        agent.wait_held("VolDataMissing")?;
        agent.wait("an Event is written", || Ok((!cluster.writes()?.is_empty()).then_some(())))?;
        eprintln!("with {EVENTS} fat Events: {}, {}", most_resident(&agent)?, cgroup::times_limited(&group)?);
        agent.terminate().map(drop)
    })
}

/// Four hundred pods of this node have 250 kB of annotations each, and all of them change at once.
pub fn pods() -> anyhow::Result<()> {
    on("vol-data-missing", |node| {
        let cluster = Cluster::beside(node, "fat-pods")?;
        let put = |phase: &str| (0..PODS).try_for_each(|number| fat_pod(&cluster, number, phase));
        put("Pending")?;
        let (agent, group) = limited(node, &cluster.kubeconfig(), LIMIT, &[])?;
        agent.wait_held("VolDataMissing")?;
        agent.wait("an Event is written", || Ok((!cluster.writes()?.is_empty()).then_some(())))?;
        put("Running")?;
        agent.wait_scans(3)?;
        eprintln!("with {PODS} fat pods: {}, {}", most_resident(&agent)?, cgroup::times_limited(&group)?);
        agent.terminate().map(drop)
    })
}

fn fat_pod(cluster: &Cluster, number: usize, phase: &str) -> anyhow::Result<()> {
    let name = format!("fat-{number}");
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "tenant", "uid": format!("96fb425e-919e-44f9-8b42-{number:012x}"),
            "annotations": {"example.com/fat": "x".repeat(POD_BYTES)},
        },
        "spec": {"nodeName": NODE_NAME, "containers": []},
        "status": {"phase": phase},
    });
    cluster.store().put("pods", Some("tenant"), &name, &pod)
}
