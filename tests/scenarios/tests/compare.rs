//! Whether the answer is the right one.

use anyhow::{Context, bail, ensure};
use findings::{Finding, Verdict};
use lab::scenario::{Expect, Staged};

use super::ask::Answer;

/// Everything that is expected is there, and nothing else is accused.
pub fn expected(staged: &Staged, answer: &Answer) -> anyhow::Result<()> {
    for expect in &staged.expect {
        one(expect, answer).with_context(|| format!("expected {expect:?}"))?;
    }
    for pod in answer.report.pods.iter().filter(|pod| pod.verdict != Verdict::Clear) {
        let meant = staged
            .expect
            .iter()
            .any(|expect| expect.pod_uid.as_deref() == Some(pod.pod.uid.as_str()) || expect.pod_uid.is_none());
        ensure!(meant, "pod {} is reported, and nothing is wrong with it", pod.pod);
    }
    for found in &answer.report.node_findings {
        let id = found.finding.cause.id;
        let meant = staged.expect.iter().any(|expect| expect.cause == Some(id));
        ensure!(meant, "{id} is reported of the node, and it is not so");
    }
    let code = exit_code(staged);
    ensure!(answer.code == code, "the exit code is {}, it should be {code}", answer.code);
    Ok(())
}

fn exit_code(staged: &Staged) -> i32 {
    let says = |verdict: &str| staged.expect.iter().any(|expect| expect.verdict == verdict);
    match () {
        () if says("Stuck") => 2,
        () if says("CannotTell") => 3,
        () => 0,
    }
}

fn one(expect: &Expect, answer: &Answer) -> anyhow::Result<()> {
    match &expect.pod_uid {
        Some(uid) => {
            let pod = answer
                .report
                .pods
                .iter()
                .find(|pod| pod.pod.uid.as_str() == uid)
                .context("this pod is not in the answer")?;
            ensure!(pod.verdict.as_str() == expect.verdict, "the verdict is {}", pod.verdict);
            let gate = pod.gate.map(|gate| gate.as_str());
            ensure!(gate == expect.gate, "the gate is {gate:?}");
            let of_node = answer
                .report
                .node_findings
                .iter()
                .filter(|found| found.pods.contains(&pod.pod))
                .map(|found| &found.finding);
            named(expect, pod.findings.iter().chain(of_node))
        }
        None => named(expect, answer.report.node_findings.iter().map(|found| &found.finding)),
    }
}

/// A finding of the expected cause, with every name in it.
fn named<'a>(expect: &Expect, findings: impl Iterator<Item = &'a Finding>) -> anyhow::Result<()> {
    let Some(cause) = expect.cause else { return Ok(()) };
    let mut others = Vec::new();
    for finding in findings {
        if finding.cause.id != cause {
            others.push(finding.cause.id);
            continue;
        }
        ensure!(
            finding.chain.last().is_some_and(|link| link.root),
            "the chain of {cause} does not end at its root cause"
        );
        let text = serde_json::to_string(finding)?;
        match expect.names.iter().find(|name| !text.contains(name.as_str())) {
            None => return Ok(()),
            Some(missing) => bail!("{cause} does not name {missing:?}: {text}"),
        }
    }
    bail!("{cause} is not among the findings {others:?}")
}

/// Nothing is said of the staged pods any more, and nothing of the node.
pub fn clear(staged: &Staged, answer: &Answer) -> anyhow::Result<()> {
    let left =
        answer.report.pods.iter().find(|pod| staged.pods.iter().any(|staged| staged.uid == pod.pod.uid.as_str()));
    ensure!(left.is_none(), "the pod is still reported");
    ensure!(answer.report.node_findings.is_empty(), "the node is still reported");
    ensure!(answer.code == 0, "the exit code is {}", answer.code);
    Ok(())
}
