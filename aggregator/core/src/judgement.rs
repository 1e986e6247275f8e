//! From the graph to the answer: each root cause once, with all it holds.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use findings::{Confidence, Evidence, FaultKind, Unknown, Verdict, clean};
use foldhash::{HashMap, HashSet, HashSetExt as _};

use crate::diagnosis::{Diagnosis, Explained, Found, NotSeen, RootCause};
use crate::engine::{build, to_ask};
use crate::explanation_cache::Kept;
use crate::graph::{Graph, Marks, Node};
use crate::lister::Changes;
use crate::messages::Refusal;
use crate::report::{ClusterReport, Held, Root, Victim};
use crate::state::{Question, State, Subject};

/// More evidence for one root is not kept.
const MOST_EVIDENCE: usize = 24;

/// Judges a state; what it does not know yet makes the verdict "cannot tell".
pub fn judge(state: &State) -> ClusterReport {
    judge_again(state, &mut Kept::default(), &Changes::default()).0
}

/// Judges a state that was judged before, and says what to ask next.
pub fn judge_again(state: &State, kept: &mut Kept, changes: &Changes) -> (ClusterReport, Vec<Question>) {
    let (graph, questions) = build(state, kept, changes);
    (report(state, &graph, !questions.is_empty()), to_ask(questions))
}

fn report(state: &State, graph: &Graph, has_questions: bool) -> ClusterReport {
    let mut draft = Draft { taken: graph.marks(false), ..Draft::default() };
    draft.take(&graph.about);
    let inner = inner(graph);
    for victim in &graph.victims {
        tell(graph, *victim, inner[*victim], &state.subject, &mut draft);
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
    let diagnosis = graph.diagnosis(*only);
    (is_asked_for && diagnosis.missing).then(|| format!("{} {}", graph.object(*only), diagnosis.words))
}

/// A report in the making.
#[derive(Default)]
struct Draft<'g> {
    /// Objects of which all has been said that belongs to no root.
    taken: Marks<bool>,
    verdict: Verdict,
    roots: Vec<Root>,
    by_key: HashMap<&'g str, usize>,
    /// How many steps the shown finding of each root has of its own.
    steps: BTreeMap<usize, usize>,
    /// What each root already has.
    known: HashSet<(usize, Node)>,
    /// What was offered to each root as evidence, by where it stands: most is that of something that many wait for, and to
    /// tell by its text that it has been offered already costs more than all else.
    offered: HashSet<(usize, *const Evidence)>,
    unexplained: Vec<Held>,
    unknown: Vec<Unknown>,
    notes: BTreeSet<String>,
    forbidden: BTreeSet<(String, String)>,
    refusals: BTreeSet<Refusal>,
}

impl<'g> Draft<'g> {
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
    fn root(&mut self, found: Found<'g, '_>) -> usize {
        let Found { cause, .. } = found;
        let next = self.roots.len();
        let index = *self.by_key.entry(&cause.draft.root).or_insert(next);
        let told_by = || cause.agent.as_ref().map(|agent| agent.by.clone());
        match self.roots.get_mut(index) {
            None => {
                let (verdict, finding, look_on) = (cause.verdict, found.finding(), cause.look_on());
                let (victims, on_the_way, behind) = (Vec::new(), Vec::new(), Vec::new());
                self.roots.push(Root { verdict, finding, told_by: told_by(), look_on, victims, on_the_way, behind });
                self.steps.insert(index, cause.steps.len());
            }
            Some(root)
                if (cause.verdict, cause.steps.len())
                    > (root.verdict, self.steps.get(&index).copied().unwrap_or(0)) =>
            {
                let before = std::mem::replace(&mut root.finding, found.finding()).evidence;
                let new = before.into_iter().filter(|one| !cause.draft.evidence.contains(one));
                root.finding.evidence.extend(new);
                (root.verdict, root.told_by) = (cause.verdict, told_by());
                self.steps.insert(index, cause.steps.len());
            }
            Some(_) => {}
        }
        index
    }

    /// One more object that a root holds.
    fn add(&mut self, found: Found<'g, '_>, nodes: &[Node], held: Cow<Held>) {
        let Found { cause, way, .. } = found;
        let index = self.root(found);
        let Some(root) = self.roots.get_mut(index) else { return };
        // What one object proves is so, however little another shows of it; that one is merely young proves nothing.
        if cause.draft.confidence == Confidence::Proven && cause.verdict == root.verdict {
            root.finding.confidence = Confidence::Proven;
            root.finding.missing = None;
        }
        let known = &mut root.finding.evidence;
        for evidence in way.iter().flat_map(|explained| &explained.diagnosis.evidence).chain(&cause.draft.evidence) {
            if known.len() >= MOST_EVIDENCE {
                break;
            }
            if self.offered.insert((index, std::ptr::from_ref(evidence))) && !known.contains(evidence) {
                known.push(evidence.clone());
            }
        }
        if nodes.first().is_some_and(|victim| self.known.insert((index, *victim))) {
            root.victims.push(Victim { held: held.into_owned(), chain: found.chain() });
        }
        for (node, Explained { object, diagnosis, .. }) in nodes.iter().zip(way) {
            let behind: Vec<String> =
                diagnosis.waiting.iter().filter(|one| !root.behind.contains(one)).cloned().collect();
            root.behind.extend(behind);
            if diagnosis.terminating && self.known.insert((index, *node)) {
                root.on_the_way.push(object.clone());
            }
        }
    }
}

fn tell<'g>(graph: &'g Graph, victim: Node, is_inner: bool, subject: &Subject, draft: &mut Draft<'g>) {
    let diagnosis = graph.diagnosis(victim);
    let ways = reach(graph, victim);
    let reached = ways.iter().filter_map(|way| Some((way.as_slice(), *way.last()?)));
    for (_, node) in reached.clone() {
        if !std::mem::replace(&mut draft.taken[node], true) {
            draft.take(graph.diagnosis(node));
        }
    }
    if is_inner {
        // It is told with what waits for it.
        return;
    }
    let causes_at = |node| graph.diagnosis(node).causes.iter().enumerate();
    let found = reached.clone().flat_map(|(way, node)| causes_at(node).map(move |found| (way, found)));
    let found: Vec<(&[Node], (usize, &'g RootCause))> = found.collect();
    let is_before = matches!(subject, Subject::Before { .. });
    let unexplained = if diagnosis.terminating && !is_before { Verdict::CannotTell } else { Verdict::Clear };
    let worst = found.iter().map(|(_, (_, cause))| cause.verdict).max().unwrap_or(unexplained);
    let is_blind = reached.map(|(_, node)| graph.diagnosis(node)).any(Diagnosis::is_blind);
    let held = Held {
        thing: graph.object(victim).clone(),
        verdict: worst.max(if is_blind { Verdict::CannotTell } else { Verdict::Clear }),
        overdue_seconds: diagnosis.overdue,
        words: clean(&diagnosis.words, 400),
    };
    draft.verdict = draft.verdict.max(held.verdict);
    let Some((last, others)) = found.split_last() else {
        if diagnosis.terminating || matches!(subject, Subject::Object { .. } | Subject::Before { .. }) {
            draft.unexplained.push(held);
        }
        return;
    };
    for (nodes, (index, cause)) in others {
        draft.add(Found { cause, index: *index, way: &graph.way(nodes) }, nodes, Cow::Borrowed(&held));
    }
    let (nodes, (index, cause)) = last;
    draft.add(Found { cause, index: *index, way: &graph.way(nodes) }, nodes, Cow::Owned(held));
}

/// The way to everything that an object waits for, nearest first. A circle ends where it would begin again.
fn reach(graph: &Graph, from: Node) -> Vec<Vec<Node>> {
    let mut reached = Vec::new();
    let mut known = vec![from];
    let mut waiting = VecDeque::from([(from, Vec::new())]);
    while let Some((node, mut way)) = waiting.pop_front() {
        way.push(node);
        for next in graph.waits_for(node) {
            if !known.contains(next) {
                known.push(*next);
                waiting.push_back((*next, way.clone()));
            }
        }
        reached.push(way);
    }
    reached
}

/// Victims that another victim waits for. Of victims that wait for each other, the first is told.
fn inner(graph: &Graph) -> Marks<bool> {
    let (mut inner, mut is_victim) = (graph.marks(false), graph.marks(false));
    graph.victims.iter().for_each(|victim| is_victim[*victim] = true);
    let above = graph.above();
    for victim in &graph.victims {
        if above[*victim].is_empty() {
            continue;
        }
        let waited_for = reached(*victim, |node| graph.waits_for(node));
        let waits = reached(*victim, |node| &above[node]);
        inner[*victim] = waits
            .iter()
            .filter(|other| is_victim[**other] && *other != victim)
            .any(|other| !waited_for.contains(other) || graph.object(*other) < graph.object(*victim));
    }
    inner
}

/// What is reached from an object, itself only if it is in a circle.
fn reached<'g>(from: Node, next: impl Fn(Node) -> &'g [Node]) -> HashSet<Node> {
    let mut known = HashSet::new();
    let mut waiting = vec![from];
    while let Some(at) = waiting.pop() {
        waiting.extend(next(at).iter().filter(|next| known.insert(**next)));
    }
    known
}
