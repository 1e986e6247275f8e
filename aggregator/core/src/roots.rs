//! From the graph to the answer: each root cause once, with all it holds.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use findings::{Confidence, FaultKind, Unknown, Verdict, clean};

use crate::diagnosis::{Diagnosis, NotSeen, RootCause, Step};
use crate::engine::{build, to_ask};
use crate::graph::Graph;
use crate::messages::Refusal;
use crate::report::{ClusterReport, Held, Root, Victim};
use crate::state::{ObjectRef, Question, State, Subject};

/// More evidence for one root is not kept.
const MOST_EVIDENCE: usize = 24;

/// Judges a state; what it does not know yet makes the verdict "cannot tell".
pub fn judge(state: &State) -> ClusterReport {
    judge_and_ask(state).0
}

/// The same with what to ask next: who judges all the time does not look twice.
pub fn judge_and_ask(state: &State) -> (ClusterReport, Vec<Question>) {
    let (graph, questions) = build(state);
    (report(state, &graph, !questions.is_empty()), to_ask(questions))
}

fn report(state: &State, graph: &Graph, has_questions: bool) -> ClusterReport {
    let mut draft = Draft::default();
    draft.take(&graph.about);
    let inner = inner(graph);
    for victim in &graph.victims {
        tell(graph, victim, inner.contains(victim), &state.subject, &mut draft);
    }
    if graph.cut {
        draft.unknown.push(Unknown {
            kind: Some(FaultKind::TooLarge),
            source: "the cluster".to_owned(),
            why: "more objects wait for each other than are looked into at once".to_owned(),
            hides: "what the rest waits for; name one object to look at it alone".to_owned(),
        });
    }
    let is_blind = graph.cut || graph.about.is_blind() || has_questions;
    let verdict = draft.verdict.max(if is_blind { Verdict::CannotTell } else { Verdict::Clear });
    draft.notes.extend(draft.without_rights());
    draft.roots.sort_by_key(|root| std::cmp::Reverse((root.verdict, root.oldest(), root.victims.len())));
    ClusterReport {
        schema: ClusterReport::SCHEMA,
        at: state.at.to_string(),
        subject: state.subject.clone(),
        refused: refused(graph, &state.subject),
        verdict,
        roots: draft.roots,
        unexplained: draft.unexplained,
        looked_at: graph.looked_at.iter().map(|kind| clean(kind, 127)).collect(),
        unknown: draft.unknown,
        notes: draft.notes,
    }
}

/// What was asked about does not exist.
fn refused(graph: &Graph, subject: &Subject) -> Option<String> {
    if graph.about.missing {
        return Some(clean(&graph.about.words, 300));
    }
    let [only] = graph.victims.as_slice() else { return None };
    let is_asked_for = matches!(subject, Subject::Object { .. } | Subject::Before { .. });
    let diagnosis = graph.objects.get(only).filter(|diagnosis| is_asked_for && diagnosis.missing)?;
    Some(format!("{only} {}", diagnosis.words))
}

/// A report in the making.
#[derive(Default)]
struct Draft {
    verdict: Verdict,
    roots: Vec<Root>,
    by_key: BTreeMap<String, usize>,
    /// How many steps the shown finding of each root has of its own.
    steps: BTreeMap<usize, usize>,
    /// What each root already has.
    known: BTreeSet<(usize, ObjectRef)>,
    unexplained: Vec<Held>,
    unknown: Vec<Unknown>,
    notes: BTreeSet<String>,
    forbidden: BTreeSet<(String, String)>,
    refusals: BTreeSet<Refusal>,
}

impl Draft {
    /// What could not be seen, and what is worth knowing.
    fn take(&mut self, diagnosis: &Diagnosis) {
        for unknown in diagnosis.unknown.iter().map(NotSeen::unknown) {
            if !self.unknown.contains(&unknown) {
                self.unknown.push(unknown);
            }
        }
        self.notes.extend(diagnosis.notes.iter().cloned());
        self.forbidden.extend(diagnosis.forbidden.iter().cloned());
        self.refusals.extend(diagnosis.refusals.iter().cloned());
    }

    /// What may not be seen and is not needed is said once.
    fn without_rights(&self) -> Option<String> {
        let joined = |each: BTreeSet<&str>| each.into_iter().collect::<Vec<_>>().join(", ");
        let sources = joined(self.forbidden.iter().map(|(source, _)| source.as_str()).collect());
        let adds = joined(self.forbidden.iter().map(|(_, adds)| adds.as_str()).collect());
        let rights =
            Refusal::check(&self.refusals).map(|command| format!(" ({}: {command})", Refusal::words(&self.refusals)));
        (!self.forbidden.is_empty()).then(|| {
            let rights = rights.unwrap_or_default();
            clean(
                &format!("Not visible to us, and not needed for the verdict: {sources}. It says {adds}{rights}."),
                900,
            )
        })
    }

    /// The root of `found`, made from it when it is new. Of one root that holds several objects the worst is shown, and
    /// of those the one that tells most.
    fn root(&mut self, found: &RootCause, way: &[Step]) -> usize {
        let next = self.roots.len();
        let index = *self.by_key.entry(found.draft.root.clone()).or_insert(next);
        let told_by = found.agent.as_ref().map(|agent| agent.by.clone());
        match self.roots.get_mut(index) {
            None => {
                let (verdict, finding, look_on) = (found.verdict, found.finding(way), found.look_on());
                let (victims, on_the_way, behind) = (Vec::new(), Vec::new(), Vec::new());
                self.roots.push(Root { verdict, finding, told_by, look_on, victims, on_the_way, behind });
                self.steps.insert(index, found.steps.len());
            }
            Some(root)
                if (found.verdict, found.steps.len())
                    > (root.verdict, self.steps.get(&index).copied().unwrap_or(0)) =>
            {
                let before = std::mem::replace(&mut root.finding, found.finding(way)).evidence;
                let new = before.into_iter().filter(|one| !found.draft.evidence.contains(one));
                root.finding.evidence.extend(new);
                (root.verdict, root.told_by) = (found.verdict, told_by);
                self.steps.insert(index, found.steps.len());
            }
            Some(_) => {}
        }
        index
    }

    /// One more object that a root holds.
    fn add(&mut self, graph: &Graph, found: &RootCause, way: &[Step], held: &Held) {
        let index = self.root(found, way);
        let Some(root) = self.roots.get_mut(index) else { return };
        // What one object proves is so, however little another shows of it; that one is merely young proves nothing.
        if found.draft.confidence == Confidence::Proven && found.verdict == root.verdict {
            root.finding.confidence = Confidence::Proven;
            root.finding.missing = None;
        }
        let on_the_way = way.iter().filter_map(|step| graph.objects.get(step.object.as_ref()?));
        for evidence in on_the_way.flat_map(|diagnosis| &diagnosis.evidence).chain(&found.draft.evidence) {
            if root.finding.evidence.len() < MOST_EVIDENCE && !root.finding.evidence.contains(evidence) {
                root.finding.evidence.push(evidence.clone());
            }
        }
        if self.known.insert((index, held.thing.clone())) {
            root.victims.push(Victim { held: held.clone(), chain: found.finding(way).chain });
        }
        for object in way.iter().filter_map(|step| step.object.as_ref()) {
            let Some(diagnosis) = graph.objects.get(object) else { continue };
            let behind: Vec<String> =
                diagnosis.waiting.iter().filter(|one| !root.behind.contains(one)).cloned().collect();
            root.behind.extend(behind);
            if diagnosis.terminating && self.known.insert((index, object.clone())) {
                root.on_the_way.push(object.clone());
            }
        }
    }
}

fn tell(graph: &Graph, victim: &ObjectRef, is_inner: bool, subject: &Subject, draft: &mut Draft) {
    let Some(diagnosis) = graph.objects.get(victim) else { return };
    let reached = reach(graph, victim);
    for (_, diagnosis) in &reached {
        draft.take(diagnosis);
    }
    if is_inner {
        // It is told with what waits for it.
        return;
    }
    let each = reached.iter().flat_map(|(way, diagnosis)| diagnosis.causes.iter().map(|found| (way.as_slice(), found)));
    let found: Vec<(&[Step], &RootCause)> = each.collect();
    let is_before = matches!(subject, Subject::Before { .. });
    let unexplained = if diagnosis.terminating && !is_before { Verdict::CannotTell } else { Verdict::Clear };
    let worst = found.iter().map(|(_, found)| found.verdict).max().unwrap_or(unexplained);
    let is_blind = reached.iter().any(|(_, diagnosis)| diagnosis.is_blind());
    let held = Held {
        thing: victim.clone(),
        verdict: worst.max(if is_blind { Verdict::CannotTell } else { Verdict::Clear }),
        overdue_seconds: diagnosis.overdue,
        words: clean(&diagnosis.words, 400),
    };
    draft.verdict = draft.verdict.max(held.verdict);
    if found.is_empty() && (diagnosis.terminating || matches!(subject, Subject::Object { .. } | Subject::Before { .. }))
    {
        draft.unexplained.push(held);
        return;
    }
    for (way, found) in found {
        draft.add(graph, found, way, &held);
    }
}

/// Everything an object waits for, nearest first, each with the way that leads there. A circle ends
/// where it would begin again.
fn reach<'g>(graph: &'g Graph, from: &ObjectRef) -> Vec<(Vec<Step>, &'g Diagnosis)> {
    let mut reached = Vec::new();
    let mut known = BTreeSet::from([from]);
    let mut waiting = VecDeque::from([(from, Vec::new())]);
    while let Some((object, mut way)) = waiting.pop_front() {
        let Some((object, diagnosis)) = graph.objects.get_key_value(object) else { continue };
        way.push(Step::about(object, &diagnosis.words));
        for next in &diagnosis.waits_for {
            if known.insert(next) {
                waiting.push_back((next, way.clone()));
            }
        }
        reached.push((way, diagnosis));
    }
    reached
}

/// Victims that another victim waits for. Of victims that wait for each other, the first is told.
fn inner(graph: &Graph) -> BTreeSet<&ObjectRef> {
    let below: BTreeMap<&ObjectRef, BTreeSet<&ObjectRef>> =
        graph.victims.iter().map(|victim| (victim, below(graph, victim))).collect();
    let mut inner = BTreeSet::new();
    for (above, objects) in &below {
        for object in objects {
            let Some(back) = below.get(object).filter(|_| object != above) else { continue };
            if !back.contains(above) || above < object {
                inner.insert(*object);
            }
        }
    }
    inner
}

fn below<'g>(graph: &'g Graph, victim: &'g ObjectRef) -> BTreeSet<&'g ObjectRef> {
    let mut known = BTreeSet::new();
    let mut waiting = vec![victim];
    while let Some(at) = waiting.pop() {
        for next in graph.objects.get(at).into_iter().flat_map(|diagnosis| &diagnosis.waits_for) {
            if known.insert(next) {
                waiting.push(next);
            }
        }
    }
    known
}
