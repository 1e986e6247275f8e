//! `check`, asked while the hostile pod does its worst.

use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use findings::NodeReport;
use lab::{Node, cgroup};

use crate::agent::{LIMIT, confined};
use crate::state::{State, lock};

/// However hostile the pod is, the answer comes within this time.
const LONGEST: Duration = Duration::from_secs(10);

/// What it answered.
#[derive(Debug, Default)]
pub struct Answers {
    /// How often it was asked.
    pub times: usize,
    /// How long the longest answer took.
    pub longest: Duration,
    /// How many pods were stuck and reported during all questions together.
    pub held: usize,
    /// Of how many of them it named the cause.
    pub explained: usize,
    /// What was wrong.
    pub faults: Vec<String>,
}

impl Answers {
    /// Asks once, while runtime and API server are well; `secret` may be nowhere in the answer.
    pub fn ask(&mut self, node: &Node, state: &State, secret: &str) -> anyhow::Result<()> {
        let _runtime = state.runtime(node)?;
        let _api = lock(&state.api);
        let group = cgroup::with_memory_limit(&format!("{}/check", cgroup::PODS), LIMIT)?;
        let before = state.held().clone();
        let json = self.run(node, state, &group, "json")?;
        let still = state.held().clone();
        let wide = self.run(node, state, &group, "wide")?;
        self.times += 1;
        for output in [&json, &wide] {
            let text = [output.stdout.as_slice(), &output.stderr].concat();
            let text = String::from_utf8_lossy(&text);
            self.faults.extend(steers(&text).map(|what| format!("the answer has {what}")));
            if text.contains(secret) {
                self.faults.push("the answer shows what stands outside".to_owned());
            }
            if !matches!(output.status.code(), Some(0 | 2 | 3)) {
                self.faults.push(format!("check ended with {}: {text}", output.status));
            }
        }
        let report: NodeReport = serde_json::from_slice(&json.stdout).context("the answer is a report")?;
        for (uid, cause) in before.iter().filter(|(uid, _)| still.contains_key(*uid)) {
            self.held += 1;
            let pod = report.pods.iter().find(|pod| pod.pod.uid.as_str() == uid);
            let is_told = pod.is_some_and(|pod| pod.findings.iter().any(|finding| finding.cause.0.id == *cause));
            if is_told {
                self.explained += 1;
            } else {
                let said = pod.map(|pod| serde_json::to_string(pod).unwrap_or_default());
                self.faults.push(format!("pod {uid}, held by {cause}, is not explained: {said:?}"));
            }
        }
        Ok(())
    }

    fn run(&mut self, node: &Node, state: &State, group: &Path, output: &str) -> anyhow::Result<Output> {
        let began = Instant::now();
        let mut check = confined(&state.agent, group);
        let answer = check.arg("check").args(node.agent_args()).args(["-o", output]).output().context("run check")?;
        let took = began.elapsed();
        self.longest = self.longest.max(took);
        if took > LONGEST {
            self.faults.push(format!("check took {took:?}"));
        }
        Ok(answer)
    }
}

/// What of a text steers a terminal, or turns round what a person reads.
pub fn steers(text: &str) -> Option<String> {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let found = text.chars().find(|&c| c.is_control() && c != '\n' || turns(c))?;
    Some(format!("the character {found:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_turned_text_are_seen() {
        assert_eq!(steers("a pod\nis held by \"é\""), None);
        for text in ["\u{1b}[2J", "a\rb", "a\u{202e}b", "a\u{9b}31m", "\u{7}"] {
            assert!(steers(text).is_some(), "{text:?}");
        }
    }
}
