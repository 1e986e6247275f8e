//! What a collector gets from the agent, and what the agent does when there is none:
//! `cargo test -p why-terminating-agent --features otel --test otel`, as root.

mod collector;
mod running;

use std::{net::TcpListener, process::ExitCode, time::Duration};

use anyhow::{Context, ensure};
use collector::{Collector, Received};
use lab::{
    Node,
    scenario::{self, Staged},
};
use libtest_mimic::{Arguments, Failed, Trial};
use running::Running;

/// How long anything is waited for.
const LIMIT: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    // The lab's own processes are this binary again.
    if let Some(ended) = lab::standin::take_over() {
        return match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error:#}");
                ExitCode::FAILURE
            }
        };
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let trials = vec![
        trial("tells-a-collector", tells),
        trial("goes-on-when-the-collector-is-silent", silent),
        trial("exports-nothing-unless-asked", unasked),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(name: &'static str, test: impl Fn() -> anyhow::Result<()> + Send + 'static) -> Trial {
    Trial::test(name, move || test().map_err(|error| Failed::from(format!("{error:#}"))))
}

/// A volume that is held by a process.
fn stage() -> anyhow::Result<(Node, Staged)> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    let scenario = scenario::find("cwd").context("the lab has no scenario cwd")?;
    let staged = (scenario.stage)(&node).context("stage cwd")?;
    Ok((node, staged))
}

fn tells() -> anyhow::Result<()> {
    let (node, staged) = stage()?;
    let collector = Collector::start(([127, 0, 0, 1], 0).into())?;
    let mut agent = Running::start(
        &node,
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=lab"),
            ("OTEL_BSP_SCHEDULE_DELAY", "200"),
        ],
    )?;
    told(&collector, &staged).with_context(|| format!("the agent logged:\n{}", agent.log()))?;
    let status = agent.end()?;
    ensure!(status.success(), "it ended with {status}");
    let lines = collector.lines();
    let is_last = |line: &Received| line.name.starts_with("ending;");
    ensure!(lines.iter().any(is_last), "what it said last did not arrive: {lines:#?}");
    node.down().context("take the node down")
}

fn told(collector: &Collector, staged: &Staged) -> anyhow::Result<()> {
    let pod = staged.pods.first().context("cwd stages a pod")?;
    let name = format!("{}/{}", pod.namespace, pod.name);
    let one = |what: &str, received: &dyn Fn() -> Vec<Received>, is_it: &dyn Fn(&Received) -> bool| {
        let found = lab::wait_for(what, LIMIT, || Ok(received().into_iter().find(is_it)));
        found.with_context(|| format!("the collector has {:#?}", received()))
    };
    let has = |received: &Received, key: &str, value: &str| {
        received.attributes.get(&format!("why_terminating.{key}")).is_some_and(|is| is == value)
    };
    let look = one("the span of a look", &|| collector.spans(), &|span| {
        span.name == "look" && has(span, "findings", "1") && has(span, "pods", "1") && has(span, "sources_failed", "")
    })?;
    ensure!(look.took > Duration::ZERO && look.took < LIMIT, "it took {:?}", look.took);
    for (key, value) in [
        ("service.name", "why-terminating-agent"),
        ("service.version", env!("CARGO_PKG_VERSION")),
        ("k8s.node.name", "lab-node"),
        ("deployment.environment.name", "lab"),
    ] {
        ensure!(look.resource.get(key).is_some_and(|is| is == value), "{key} is not {value}: {look:#?}");
    }
    one("the span of a write", &|| collector.spans(), &|span| {
        let is_open = has(span, "kind", "open") && has(span, "reason", "PodVolumeBusy");
        span.name == "write event" && is_open && has(span, "result", "written")
    })?;
    one("the line of the finding", &|| collector.lines(), &|line| {
        let cause = line.attributes.get("cause").is_some_and(|cause| cause == "VolumeHeldByProcess");
        let names_it = line.attributes.get("pod").is_some_and(|named| *named == name);
        line.name == "a pod is held" && cause && names_it
    })?;
    let spans = format!("{:?}", collector.spans());
    ensure!(!spans.contains(&name) && !spans.contains(pod.uid.as_str()), "a span names the pod: {spans}");
    Ok(())
}

/// It takes connections and answers nothing.
fn silent() -> anyhow::Result<()> {
    let (node, _staged) = stage()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let endpoint = format!("http://{}", listener.local_addr()?);
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "500"),
        ("OTEL_BSP_SCHEDULE_DELAY", "200"),
    ];
    let mut agent = Running::start(&node, &variables)?;
    lab::wait_for("an Event", LIMIT, || Ok((!node.store().events()?.is_empty()).then_some(())))
        .with_context(|| format!("the agent logged:\n{}", agent.log()))?;
    let complaints = || {
        ["spans", "log lines"].map(|what| {
            let log = agent.log();
            let lines = log.lines().filter(|line| line.contains("collector does not take it"));
            lines.filter(|line| line.contains(&format!("what=\"{what}\""))).count()
        })
    };
    lab::wait_for("the agent says so", LIMIT, || Ok((!complaints().contains(&0)).then_some(())))?;
    // More exports fail meanwhile.
    std::thread::sleep(Duration::from_secs(3));
    ensure!(complaints() == [1, 1], "it does not say so once:\n{}", agent.log());
    let status = agent.end()?;
    ensure!(status.success(), "it ended with {status}");
    node.down().context("take the node down")
}

/// Not even to the address that exporters fall back on.
fn unasked() -> anyhow::Result<()> {
    let (node, _staged) = stage()?;
    let listener = TcpListener::bind("127.0.0.1:4318").context("the test needs the port that collectors use")?;
    listener.set_nonblocking(true)?;
    let mut agent = Running::start(&node, &[("OTEL_BSP_SCHEDULE_DELAY", "100"), ("OTEL_BLRP_SCHEDULE_DELAY", "100")])?;
    lab::wait_for("an Event", LIMIT, || Ok((!node.store().events()?.is_empty()).then_some(())))
        .with_context(|| format!("the agent logged:\n{}", agent.log()))?;
    // Time for several exports.
    std::thread::sleep(Duration::from_secs(1));
    agent.end()?;
    let nobody = listener.accept().is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
    ensure!(nobody, "somebody has connected to the collector's port");
    node.down().context("take the node down")
}
