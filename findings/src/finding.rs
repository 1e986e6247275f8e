//! A gate that is blocked, why, and what to do.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cause::DO_NOT;
use crate::{
    Advice, Cause, CauseRef, Circumstances, Entity, Gate, Placeholder, Subject, Values, cause::step, clean,
    clean_sentence, kill_guard, kubernetes_distribution, placeholder,
};

/// More roots of one chain are reported by their number.
const MAX_ROOTS: usize = 12;
/// For more of them no steps are printed: the next scan shows the rest.
const MAX_STEPS: usize = 4;

/// A cause found at work, with its evidence and the way out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The entry of the registry.
    pub cause: CauseRef,
    /// The gate it blocks; none for a state of the node.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gate: Option<Gate>,
    /// Whether the evidence proves it or only makes it likely.
    pub confidence: Confidence,
    /// What of the proof could not be had, where that is known of a probable one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub missing: Option<String>,
    /// From what the user knows (a container, a volume) down to the root cause, which is last.
    #[serde(default)]
    #[schemars(!default)]
    pub chain: Vec<Link>,
    /// Which source said what.
    #[serde(default)]
    #[schemars(!default)]
    pub evidence: Vec<Evidence>,
    /// What to do and what not to do.
    #[serde(skip_serializing_if = "Remedy::is_empty", default)]
    #[schemars(!skip_serializing_if, !default)]
    pub remedy: Remedy,
    /// What its steps are filled with, by the name of the placeholder; not in the answer for a cluster.
    #[serde(skip_serializing_if = "Values::is_empty", default)]
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub values: Values,
    /// Equal for findings with the same root, so that many victims show one root.
    pub root: String,
    /// What must end beside its roots before the gate is met, judged again without them; empty when they are enough.
    /// Absent when that was not judged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub must_end_too: Option<Vec<String>>,
}

impl Finding {
    /// Leaves out what a proven one beside it outranks.
    pub fn drop_outranked(found: &mut Vec<Finding>) {
        let proven = found.iter().filter(|finding| finding.confidence == Confidence::Proven);
        let proven: Vec<CauseRef> = proven.map(|finding| finding.cause).collect();
        found.retain(|finding| !proven.iter().any(|other| finding.cause.is_outranked_by(other)));
    }

    /// The roots of its chain: several when several things do the same to one thing, and all must go.
    pub fn roots(&self) -> impl Iterator<Item = &Link> {
        self.chain.iter().filter(|link| link.root)
    }

    /// This part of its proof is missing; of several the first is reported.
    pub fn doubt(&mut self, missing: &str) {
        self.confidence = Confidence::Probable;
        self.missing.get_or_insert_with(|| missing.to_owned());
    }

    /// One finding of several about the same thing with the same cause: the roots stand side by side below the
    /// chain of the first, and each has its steps.
    pub fn together(mut all: Vec<Finding>) -> Option<Finding> {
        let values: Vec<Values> = all.iter().take(MAX_STEPS).map(|one| one.values.clone()).collect();
        let others = all.split_off(all.len().min(1));
        let mut first = all.pop()?;
        let mut left = 0;
        for one in others {
            if first.roots().count() >= MAX_ROOTS {
                left += 1;
                continue;
            }
            first.chain.extend(one.chain.into_iter().filter(|link| link.root));
            first.evidence.extend(one.evidence);
            let root = one.root.split_once(':').map_or(one.root.as_str(), |(_, root)| root);
            first.root = clean(&format!("{}+{root}", first.root), 300);
        }
        if left > 0 {
            first
                .chain
                .push(Link { root: true, ..Link::new(format!("{left} more"), "look again when these are gone") });
        }
        let mut all: Vec<Evidence> = Vec::new();
        for evidence in std::mem::take(&mut first.evidence) {
            if !all.contains(&evidence) {
                all.push(evidence);
            }
        }
        first.evidence = all;
        first.remedy.steps = Remedy::steps(first.cause.0, &values, &Circumstances::default());
        Some(first)
    }

    /// Gives it the steps for each of these instead of its own, where its root is one of several.
    pub fn take_steps_for(&mut self, each: &[Values]) {
        self.remedy.steps =
            Remedy::steps(self.cause.0, each.get(..MAX_STEPS).unwrap_or(each), &Circumstances::default());
    }

    /// Bounds and cleans every text in it: one that was read may say anything.
    pub fn clean(&mut self) {
        for link in &mut self.chain {
            link.subject = clean(&link.subject, 200);
            link.state = clean(&link.state, 200);
            link.what = link.what.as_ref().map(Entity::cleaned);
        }
        for evidence in &mut self.evidence {
            *evidence = Evidence::new(&evidence.source, &evidence.says);
        }
        self.missing = self.missing.as_ref().map(|missing| clean(missing, 300));
        self.root = clean(&self.root, 300);
        self.must_end_too.iter_mut().flatten().for_each(|other| *other = clean(other, 200));
        for step in &mut self.remedy.steps {
            step.text = clean(&step.text, 600);
            // A command that is not what it seems is none.
            step.command = step.command.take().filter(|command| clean(command, 4096) == *command);
        }
        self.remedy.note = self.remedy.note.as_ref().map(|note| clean(note, 600));
        self.remedy.dont = clean(&self.remedy.dont, 600);
        self.remedy.breaks = clean(&self.remedy.breaks, 600);
    }
}

/// How far the evidence carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Confidence {
    /// The registry's proof is complete.
    Proven,
    /// A part of the proof could not be had; the evidence says which.
    Probable,
}

/// One step of the chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// Who: `pid 338 ls`, `fuse mount /mnt/media (0:40, s3fs)`.
    pub subject: String,
    /// In which state: `D (uninterruptible) in request_wait_answer, SIGKILL pending`.
    pub state: String,
    /// The subject as data: its pid, its path, its device.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub what: Option<Entity>,
    /// Whether this is the root cause.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub root: bool,
}

impl Link {
    /// A step; every text is bounded and cleaned.
    pub fn new(subject: impl Into<Subject>, state: impl AsRef<str>) -> Self {
        let Subject { text, what } = subject.into();
        Link { subject: clean(&text, 200), state: clean(state.as_ref(), 200), what, root: false }
    }
}

/// What one source said.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The source: a file, a call.
    pub source: String,
    /// Its words, bounded and cleaned.
    pub says: String,
}

impl Evidence {
    /// What it said; both texts are bounded and cleaned.
    pub fn new(source: impl AsRef<str>, says: impl AsRef<str>) -> Self {
        Evidence { source: clean(source.as_ref(), 200), says: clean_sentence(says.as_ref(), 500) }
    }
}

/// Where a step deletes what admission would not let be deleted.
pub(crate) static REFUSED_DELETION: Advice =
    step("Repair {refused_by} first: it would refuse the deletion").run("kubectl get {refused_by} -o yaml").typed();

/// What to do and what not to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remedy {
    /// Safest first.
    pub steps: Vec<Step>,
    /// What follows when the deletion continues, where that is more than the object.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    /// The tempting act, forbidden: `Do not …`.
    pub dont: String,
    /// What it breaks.
    pub breaks: String,
}

/// How the text of a step that gives up a clean-up begins.
pub(crate) const LAST_RESORT: &str = "Last resort";

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The advice.
    pub text: String,
    /// The exact command, with the names filled in and quoted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub command: Option<String>,
    /// Whether the command runs on the node of the cause, without an agent's report.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub on_the_node: bool,
    /// Whether it only reads or waits.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub is_check: bool,
    /// False when no test of the project has executed this advice.
    pub tested: bool,
}

impl Remedy {
    /// Fills the cause's templates with `values`, where no facts of the case are known.
    pub fn fill(cause: &'static Cause, values: &Values) -> Remedy {
        Remedy::for_all(cause, std::slice::from_ref(values), &Circumstances::default())
    }

    /// Fills those that apply to the case, for each of these.
    pub fn for_all(cause: &'static Cause, all: &[Values], facts: &Circumstances) -> Remedy {
        let steps = Remedy::steps(cause, all, facts);
        let danger = cause.danger_of(facts);
        let (dont, breaks) = (danger.action.to_owned(), danger.breaks_and_when(danger.breaks));
        Remedy { steps, note: cause.note_of(facts), dont, breaks }
    }

    /// What not to do, after the label "Do not".
    pub fn forbidden(&self) -> &str {
        self.dont.strip_prefix(DO_NOT).unwrap_or(&self.dont)
    }

    /// What it breaks; what a last resort has named is not said again.
    pub fn breaks_beside_steps(&self) -> &str {
        let loss = self.breaks.trim_end_matches('.');
        let is_said = |step: &Step| step.is_last_resort() && !loss.is_empty() && step.text.contains(loss);
        if self.steps.iter().any(is_said) { "What the last resort names is lost." } else { &self.breaks }
    }

    /// Whether it is left out. Every cause has something that must not be done.
    fn is_empty(&self) -> bool {
        *self == Remedy::default()
    }

    /// The cause's steps that apply, each for all of these. What refuses a deletion comes before all that leads to one.
    fn steps(cause: &'static Cause, all: &[Values], facts: &Circumstances) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let checks = cause.safe.iter().take_while(|advice| advice.is_check).count();
        let (checks, changes) = cause.safe.split_at(checks);
        let refusal = cause.safe.iter().any(Advice::deletes).then_some(&REFUSED_DELETION);
        let advices = checks.iter().chain(refusal).chain(changes);
        for advice in advices.filter(|advice| facts.meet(advice.when)) {
            let first = steps.len();
            for step in all.iter().filter_map(|values| advice.fill(values)) {
                // One command serves all of them.
                let is_same = |known: &Step| step.command.is_some() && known.command == step.command;
                if !steps.contains(&step) && !steps.iter().skip(first).any(is_same) {
                    steps.push(step);
                }
            }
        }
        steps
    }
}

impl Step {
    /// Whether it gives up what its finalizer stands for; the registry's test holds how these texts begin.
    pub fn is_last_resort(&self) -> bool {
        self.text.starts_with(LAST_RESORT)
    }

    /// Whether it runs the agent's check once, on a node without an agent.
    pub fn is_agents_check(&self) -> bool {
        self.command
            .as_deref()
            .is_some_and(|command| command.ends_with(" --on-node") || command.contains(" debug node/"))
    }
}

impl Finding {
    /// The steps of its cause that it lacks although their entry promises them ([`Advice::is_promised`]): its finder
    /// forgot a value. For tests.
    pub fn lacks(&self) -> Vec<&'static str> {
        let promised = self.cause.0.safe.iter().filter(|advice| advice.is_promised());
        promised.filter(|advice| !self.has(advice)).map(|advice| advice.text).collect()
    }

    /// The steps of its cause that depend on facts, and whether it has each. For tests.
    pub fn conditional_steps(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let conditional = self.cause.0.safe.iter().filter(|advice| !advice.when.is_empty());
        conditional.map(|advice| (advice.text, self.has(advice)))
    }

    fn has(&self, advice: &Advice) -> bool {
        self.remedy.steps.iter().any(|step| advice.may_read(&step.text))
    }
}

impl Advice {
    /// Whether its text, filled in somehow, reads like this.
    fn may_read(&self, text: &str) -> bool {
        let mut rest = Some(text);
        for (literal, _) in placeholder::holes(self.text) {
            rest = rest.and_then(|rest| Some(rest.split_at(rest.find(literal)? + literal.len()).1));
        }
        rest.is_some()
    }

    /// The step it is with these values, which are quoted for the shell in the command. None when one of its
    /// placeholders has no value, or a `kill` has a pid alone: half a command is worse than none. Where its path is in
    /// another mount namespace, it is the command that reaches it there.
    pub fn fill(&self, values: &Values) -> Option<Step> {
        let mut text = placeholder::fill(self.text, values, |value| Some(value.into()))?;
        let inside = values.get(Placeholder::MountNamespacePid).zip(self.entered_command());
        let command = match inside {
            Some((pid, entered)) => {
                text.push_str(&format!(" (in the mount namespace of pid {pid})"));
                Some(kill_guard::command(&entered, values)?)
            }
            None if self.command.is_some() => Some(
                self.commands()
                    .find_map(|template| kill_guard::command(&drop_absent_namespace(template, values), values))?,
            ),
            None => None,
        };
        let restarted = command.as_deref().and_then(|command| command.strip_prefix("systemctl restart "));
        if restarted.is_some_and(kubernetes_distribution::has_api_server) {
            text.push_str(" (this unit is the node's API server too: of several servers restart one at a time)");
        }
        Some(Step { text, command, on_the_node: self.on_the_node, is_check: self.is_check, tested: self.is_tested() })
    }
}

/// An object of any kind is named with its namespace, and one that lives in none without.
fn drop_absent_namespace<'t>(template: &'t str, values: &Values) -> Cow<'t, str> {
    let is_of_any_kind = template.contains("{type} {name} -n {namespace}");
    match is_of_any_kind && values.get(Placeholder::Namespace).is_none() {
        true => Cow::Owned(template.replace(" -n {namespace}", "")),
        false => Cow::Borrowed(template),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::{self, step};

    #[test]
    fn fills_and_quotes() {
        let values = Values::new().with(Placeholder::Mount, "/a b").with(Placeholder::Comm, "it's");
        let advice = step("Stop {comm}").run("umount {mount}");
        let step = advice.fill(&values).unwrap();
        assert_eq!((step.text.as_str(), step.command.as_deref()), ("Stop it's", Some("umount '/a b'")));
    }

    #[test]
    fn an_object_without_a_namespace_is_named_without_one() {
        let advice = step("See it").run("kubectl get {type} {name} -n {namespace} -o yaml");
        let values = Values::new().with(Placeholder::Type, "namespace").with(Placeholder::Name, "a");
        let command = |values: &Values| advice.fill(values).unwrap().command.unwrap();
        assert_eq!(command(&values), "kubectl get namespace a -o yaml");
        let values = values.with(Placeholder::Namespace, "team");
        assert_eq!(command(&values), "kubectl get namespace a -n team -o yaml");
    }

    #[test]
    fn a_log_is_read_where_it_is() {
        let advice = cause::VOLUME_MOUNTED_NO_HOLDER.safe.iter().find(|advice| advice.otherwise.is_some()).unwrap();
        let uid = "96fb425e-919e-44f9-8b42-b1254a602ba1";
        let values = Values::new().with(Placeholder::Uid, uid);
        let command = |values: &Values| advice.fill(values).map(|step| step.command.unwrap());
        assert_eq!(command(&values), None);
        let file = values.clone().with(Placeholder::KubeletLog, "/var/log/kubelet.log");
        assert_eq!(command(&file), Some(format!("grep -F -e {uid} /var/log/kubelet.log | tail -n 50")));
        let journal = values.with(Placeholder::KubeletJournal, "k3s-agent");
        let printed = format!("journalctl -u k3s-agent --since -15min --no-pager --grep {uid}");
        assert_eq!(command(&journal), Some(printed));
    }

    #[test]
    fn whoever_restarts_an_api_server_is_told_so() {
        let advice = step("Restart it").run("systemctl restart {kubelet_unit}");
        let warned = |unit: &str| {
            let step = advice.fill(&Values::new().with(Placeholder::KubeletUnit, unit)).unwrap();
            step.text.contains("API server")
        };
        assert!(["k3s", "k3s.service", "snap.microk8s.daemon-kubelite", "k0scontroller"].into_iter().all(warned));
        assert!(!["kubelet", "k3s-agent", "rke2-server", "k0sworker"].into_iter().any(warned));
    }

    #[test]
    fn half_a_command_is_none() {
        let advice = step("End it").run("kill {pid}");
        assert_eq!(advice.fill(&Values::new()), None);
        assert_eq!(advice.fill(&Values::new().with(Placeholder::Pid, -1)), None);
    }

    #[test]
    fn reads_its_own_text_back() {
        let advice = step("End {comm} (pid {pid})");
        assert!(advice.may_read("End du (pid 42)"));
        assert!(!advice.may_read("End du") && !advice.may_read("Wait (pid 42)"));
    }
}
