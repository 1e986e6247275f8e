//! Asking the real binary.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};
use findings::NodeReport;
use lab::Node;

/// However much is dead at once, the answer comes within this time.
const LIMIT: Duration = Duration::from_secs(3);

const SCHEMA: &str = include_str!("../../../docs/schema/node-report.v1.json");

/// What the binary answered.
pub struct Answer {
    /// As JSON.
    pub report: NodeReport,
    /// As a person reads it.
    pub text: String,
    /// The exit code.
    pub code: i32,
}

/// Runs `check` on the lab's node.
pub fn check(node: &Node) -> anyhow::Result<Answer> {
    check_with(node, &[])
}

/// The same for who reads no text: half the time. The text is the JSON's.
pub fn check_for_scripts(node: &Node) -> anyhow::Result<Answer> {
    let (text, code) = run(node, &[], "json")?;
    Ok(Answer { report: read(&text)?, text, code })
}

/// Runs `check` on the lab's node with more flags.
pub fn check_with(node: &Node, flags: &[&str]) -> anyhow::Result<Answer> {
    let (json, code) = run(node, flags, "json")?;
    let (text, _) = run(node, flags, "wide")?;
    Ok(Answer { report: read(&json)?, text, code })
}

/// What a person sees who types `check`.
pub fn shown(node: &Node) -> anyhow::Result<String> {
    Ok(run(node, &[], "table")?.0)
}

/// Runs `judge` on a saved observation.
pub fn judge(file: &str) -> anyhow::Result<Answer> {
    let done = Command::new(binary()?).args(["judge", file, "-o", "json"]).output().context("run judge")?;
    let text = String::from_utf8(done.stdout)?;
    Ok(Answer { report: read(&text)?, text, code: done.status.code().context("judge died")? })
}

/// Reads a report that keeps the published schema.
fn read(json: &str) -> anyhow::Result<NodeReport> {
    let schema = serde_json::from_str(SCHEMA).context("read the published schema")?;
    let answer = serde_json::from_str(json).with_context(|| format!("the answer is no JSON: {json}"))?;
    jsonschema::validate(&schema, &answer).map_err(|error| anyhow!("the answer breaks its schema: {error}\n{json}"))?;
    serde_json::from_value(answer).with_context(|| format!("the answer is no report: {json}"))
}

fn run(node: &Node, flags: &[&str], output: &str) -> anyhow::Result<(String, i32)> {
    let binary = binary()?;
    let before = Instant::now();
    let done = Command::new(&binary).arg("check").args(node.agent_args()).args(flags).args(["-o", output]).output();
    let done = done.with_context(|| format!("run {}", binary.display()))?;
    let took = before.elapsed();
    let complaint = String::from_utf8_lossy(&done.stderr).into_owned();
    ensure!(took < lab::patient(LIMIT), "check took {took:?}: {complaint}");
    let code = done.status.code().with_context(|| format!("check died: {}", done.status))?;
    ensure!(code != 1, "check failed: {complaint}");
    Ok((String::from_utf8(done.stdout)?, code))
}

/// The agent, built beside this test.
pub fn binary() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let directory = own.parent().and_then(|deps| deps.parent()).context("the test stands in no target directory")?;
    let path = directory.join("why-terminating-agent");
    ensure!(path.exists(), "{} does not exist: run `cargo build --workspace` first", path.display());
    Ok(path)
}
