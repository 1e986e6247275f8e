//! From the graph to the answer: each root cause once, with all it holds.

use std::collections::{BTreeMap, BTreeSet};

use findings::{Confidence, Evidence, FaultKind, Unknown, Verdict, clean};
use foldhash::{HashMap, HashSet};

use crate::diagnosis::{Diagnosis, Explained, Found, NotSeen, Way};
use crate::engine::{build, to_ask};
use crate::explanation_cache::ExplanationCache;
use crate::graph::{Graph, Marks, Node};
use crate::lister::Changes;
use crate::messages::Refusal;
use crate::report::{ClusterReport, Held, Root, Victim};
use crate::shares::Shares;
use crate::state::{Question, State, Subject};

/// More evidence for one root is not kept.
const MOST_EVIDENCE: usize = 24;
/// An answer is about as long at the most, shared out per namespace.
const MAX_BYTES: usize = 6 << 20;
/// Of a longer way from an object to its root the middle is left out.
const MAX_WAY: usize = 24;
/// More sources that could not be read are counted.
const MAX_UNKNOWN: usize = 100;
/// More notes are not kept: they only add to an answer.
const MAX_NOTES: usize = 200;

/// Judges a state; what it does not know yet makes the verdict "cannot tell".
pub fn judge(state: &State) -> ClusterReport {
    judge_again(state, &mut ExplanationCache::default(), &Changes::default()).0
}

/// Judges a state that was judged before, and says what to ask next.
pub fn judge_again(state: &State, kept: &mut ExplanationCache, changes: &Changes) -> (ClusterReport, Vec<Question>) {
    let (graph, questions) = build(state, kept, changes);
    (report(state, &graph, !questions.is_empty()), to_ask(questions))
}

fn report(state: &State, graph: &Graph, has_questions: bool) -> ClusterReport {
    let mut draft = Draft::default();
    draft.take(&graph.about);
    graph.nodes().for_each(|node| draft.take(graph.diagnosis(node)));
    let inner = inner(graph);
    // What is inner is told with what waits for it.
    let outer = || graph.victims.iter().copied().filter(|victim| !inner[*victim]);
    let mut shares = Shares::new(MAX_BYTES, outer().map(|victim| graph.object(victim)));
    let mut more = Vec::new();
    for victim in outer() {
        let told = tell(graph, victim, 0, &state.subject, &mut shares, &mut draft);
        more.extend(told.map(|told| (victim, told)));
    }
    shares.open();
    more.retain(|(victim, told)| tell(graph, *victim, *told, &state.subject, &mut shares, &mut draft).is_some());
    draft.leave_out(more.len(), "objects with more root causes than one answer holds", "what else holds them");
    draft.leave_out(draft.unknown_left_out, "more sources that could not be read", "what they hide");
    if graph.cut {
        draft.unknown.push(Unknown {
            kind: Some(FaultKind::TooLarge),
            source: "the cluster".to_owned(),
            why: "more objects wait for each other than are looked into at once".to_owned(),
            hides: "what the rest waits for; name one object to look at it alone".to_owned(),
        });
    }
    let is_blind = graph.cut || !more.is_empty() || graph.about.is_blind() || has_questions;
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
    unknown_left_out: usize,
    notes: BTreeSet<String>,
    forbidden: BTreeSet<(String, String)>,
    refusals: BTreeSet<Refusal>,
}

impl<'g> Draft<'g> {
    /// What could not be seen, and what is worth knowing.
    fn take(&mut self, diagnosis: &Diagnosis) {
        for unknown in diagnosis.unknown.iter().map(NotSeen::unknown) {
            match (self.unknown.contains(&unknown), self.unknown.len() < MAX_UNKNOWN) {
                (true, _) => {}
                (false, true) => self.unknown.push(unknown),
                (false, false) => self.unknown_left_out += 1,
            }
        }
        self.notes.extend(diagnosis.notes.iter().take(MAX_NOTES.saturating_sub(self.notes.len())).cloned());
        self.forbidden.extend(diagnosis.forbidden.iter().take(MAX_NOTES.saturating_sub(self.forbidden.len())).cloned());
        self.refusals.extend(diagnosis.refusals.iter().cloned());
    }

    /// Says that there is more of something.
    fn leave_out(&mut self, count: usize, what: &str, hides: &str) {
        if count > 0 {
            let (source, why) = ("the cluster".to_owned(), format!("{count} {what}"));
            self.unknown.push(Unknown { kind: Some(FaultKind::TooLarge), source, why, hides: hides.to_owned() });
        }
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

    /// One more object that a root holds. Returns about how many bytes of the answer that takes.
    fn add(&mut self, found: Found<'g, '_>, nodes: &[Node], held: &Held) -> usize {
        /// As measured.
        const ROOT_BYTES: usize = 4096;
        const LINK_BYTES: usize = 250;
        let Found { cause, way, .. } = found;
        let before = self.roots.len();
        let index = self.root(found);
        let is_new = self.roots.len() > before;
        let Some(root) = self.roots.get_mut(index) else { return 0 };
        // What one object proves is so, however little another shows of it; that one is merely young proves nothing.
        if cause.draft.confidence == Confidence::Proven && cause.verdict == root.verdict {
            root.finding.confidence = Confidence::Proven;
            root.finding.missing = None;
        }
        let known = &mut root.finding.evidence;
        for evidence in
            way.objects.iter().flat_map(|explained| &explained.diagnosis.evidence).chain(&cause.draft.evidence)
        {
            if known.len() >= MOST_EVIDENCE {
                break;
            }
            if self.offered.insert((index, std::ptr::from_ref(evidence))) && !known.contains(evidence) {
                known.push(evidence.clone());
            }
        }
        if nodes.first().is_some_and(|victim| self.known.insert((index, *victim))) {
            root.victims.push(Victim { held: held.clone(), chain: found.chain() });
        }
        for (node, Explained { object, diagnosis, .. }) in nodes.iter().zip(&way.objects) {
            let behind: Vec<String> =
                diagnosis.waiting.iter().filter(|one| !root.behind.contains(one)).cloned().collect();
            root.behind.extend(behind);
            if diagnosis.terminating && self.known.insert((index, *node)) {
                root.on_the_way.push(object.clone());
            }
        }
        // The victim has the chain, and a new root as well; what stands on the way is named once more.
        let links = nodes.len() + cause.steps.len() + 1;
        let root_bytes = if is_new { ROOT_BYTES + links * LINK_BYTES } else { 0 };
        root_bytes + 2 * links * LINK_BYTES
    }
}

/// Tells of one victim what there is room for. Returns how many of its causes were told before or now, where there are more.
fn tell<'g>(
    graph: &'g Graph,
    victim: Node,
    told: usize,
    subject: &Subject,
    shares: &mut Shares<'g>,
    draft: &mut Draft<'g>,
) -> Option<usize> {
    let diagnosis = graph.diagnosis(victim);
    let reach = Reach::new(graph, victim);
    let reached = reach.nodes.iter().map(|(node, _)| graph.diagnosis(*node));
    let causes = reach.nodes.iter().enumerate().flat_map(|(at, (node, _))| {
        graph.diagnosis(*node).causes.iter().enumerate().map(move |(index, cause)| (at, index, cause))
    });
    let is_before = matches!(subject, Subject::Before { .. });
    let unexplained = if diagnosis.terminating && !is_before { Verdict::CannotTell } else { Verdict::Clear };
    let worst = causes.clone().map(|(_, _, cause)| cause.verdict).max().unwrap_or(unexplained);
    let is_blind = reached.clone().any(Diagnosis::is_blind);
    let held = Held {
        thing: graph.object(victim).clone(),
        verdict: worst.max(if is_blind { Verdict::CannotTell } else { Verdict::Clear }),
        overdue_seconds: diagnosis.overdue,
        words: clean(&diagnosis.words, 400),
    };
    draft.verdict = draft.verdict.max(held.verdict);
    if causes.clone().next().is_none() {
        if diagnosis.terminating || matches!(subject, Subject::Object { .. } | Subject::Before { .. }) {
            draft.unexplained.push(held);
        }
        return None;
    }
    for (count, (at, index, cause)) in causes.enumerate().skip(told) {
        if !shares.has_room(graph.object(victim)) {
            return Some(count);
        }
        let (nodes, way) = reach.way(at);
        let bytes = draft.add(Found { cause, index, way: &way }, &nodes, &held);
        shares.charge(graph.object(victim), bytes);
    }
    None
}

/// Everything that an object waits for, nearest first, and how each was come to.
struct Reach<'g> {
    graph: &'g Graph,
    /// The object itself is the first. Where each was come from is a place in this list.
    nodes: Vec<(Node, Option<usize>)>,
}

impl<'g> Reach<'g> {
    /// A circle ends where it would begin again.
    fn new(graph: &'g Graph, from: Node) -> Self {
        let (mut nodes, mut known) = (vec![(from, None)], HashSet::from_iter([from]));
        let mut next = 0;
        while let Some((node, _)) = nodes.get(next).copied() {
            let below = graph.waits_for(node).iter().filter(|below| known.insert(**below));
            nodes.extend(below.map(|below| (*below, Some(next))));
            next += 1;
        }
        Reach { graph, nodes }
    }

    /// The way to one of them. Of a long one the middle is left out.
    fn way(&self, to: usize) -> (Vec<Node>, Way<'g>) {
        let come_from = |at: &usize| self.nodes[*at].1;
        let mut nodes: Vec<Node> = std::iter::successors(Some(to), come_from).map(|at| self.nodes[at].0).collect();
        nodes.reverse();
        let gap = nodes.len().checked_sub(MAX_WAY).filter(|left_out| *left_out > 0);
        let gap = gap.map(|left_out| (MAX_WAY / 2, left_out));
        if let Some((at, left_out)) = gap {
            nodes.drain(at..at + left_out);
        }
        let objects = nodes.iter().map(|node| self.graph.explained(*node).as_ref()).collect();
        (nodes, Way { objects, gap })
    }
}

/// Victims that another victim waits for. Of victims that wait for each other, the first is told.
fn inner(graph: &Graph) -> Marks<bool> {
    let circles = graph.circles();
    let mut nodes: Vec<Node> = graph.nodes().collect();
    nodes.sort_by_key(|node| std::cmp::Reverse(circles[*node]));
    let mut first_victim: Vec<Option<Node>> = vec![None; graph.len()];
    for victim in &graph.victims {
        let first = &mut first_victim[circles[*victim]];
        if first.is_none_or(|first| graph.object(*victim) < graph.object(first)) {
            *first = Some(*victim);
        }
    }
    // Whether a victim of another circle waits for those of a circle. Who waits comes before what it waits for.
    let mut has_above = vec![false; graph.len()];
    for node in nodes {
        let own = circles[node];
        for below in graph.waits_for(node).iter().map(|next| circles[*next]).filter(|below| *below != own) {
            has_above[below] |= has_above[own] || first_victim[own].is_some();
        }
    }
    let mut inner = graph.marks(false);
    for victim in &graph.victims {
        let own = circles[*victim];
        inner[*victim] = has_above[own] || first_victim[own] != Some(*victim);
    }
    inner
}
