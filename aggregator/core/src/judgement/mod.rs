//! From the graph to the answer: each root cause once, with all it holds, and what terminates normally.

mod gaps;
mod node_shell;
mod reach;
mod roots;
mod waiting;

use findings::{Verdict, clean};

use crate::at_risk::{AtRisk, MAX_AT_RISK};
use crate::diagnosis::{Found, RootCause, Step};
use crate::engine::{build, to_ask};
use crate::explanation_cache::ExplanationCache;
use crate::graph::{Graph, Marks, Node};
use crate::lister::{Changes, Lister};
use crate::report::{ClusterReport, Counts, Held, TerminatingNormally};
use crate::shares::Shares;
use crate::state::{Question, State, Subject};

use gaps::Gaps;
use reach::Reach;
use roots::Roots;
use waiting::Waiting;

/// An answer is about as long at the most, shared out per namespace.
const MAX_BYTES: usize = 6 << 20;

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
    let mut answer = Answer::new(graph, &state.subject);
    let outer = || graph.victims.iter().copied().filter(|victim| !answer.waiting.is_inner(*victim));
    let (normal, held): (Vec<Node>, Vec<Node>) = outer().partition(|victim| answer.is_normal(*victim));
    let mut shares = Shares::new(MAX_BYTES, normal.iter().chain(&held).map(|victim| graph.object(*victim)));
    let mut more = Vec::new();
    for victim in held {
        let reported = answer.add(victim, 0, &mut shares);
        more.extend(reported.map(|reported| (victim, reported)));
    }
    shares.open();
    more.retain(|(victim, reported)| answer.add(*victim, *reported, &mut shares).is_some());
    answer.add_normal(&mut shares);
    answer.gaps.leave_out(more.len(), "objects with more root causes than one answer holds", "what else holds them");
    if graph.cut {
        let why = "more objects wait for each other than are looked into at once".to_owned();
        answer.gaps.too_large(why, "what the rest waits for; name one object to check it alone");
    }
    let is_blind = graph.cut || !more.is_empty() || graph.about.is_blind() || has_questions;
    let verdict = answer.verdict.max(if is_blind { Verdict::CannotTell } else { Verdict::Clear });
    let mut at_risk = answer.at_risk();
    let more_at_risk = AtRisk::merge(&mut at_risk, MAX_AT_RISK);
    let is_before = answer.is_before();
    let (unknown, notes) = answer.gaps.finish();
    let refused = graph.about.missing.then(|| clean(&graph.about.words, 300));
    let missing = missing(graph, &state.subject);
    let mut report = ClusterReport {
        schema: ClusterReport::SCHEMA,
        at: state.at.to_string(),
        subject: state.subject.clone(),
        refused: refused.or_else(|| missing.clone()),
        is_missing: missing.is_some(),
        is_deleted_already: graph.victims.iter().any(|node| graph.diagnosis(*node).is_deleted_already),
        is_delete_refused: graph.victims.iter().any(|node| graph.diagnosis(*node).is_delete_refused),
        verdict,
        counts: Counts::default(),
        at_risk,
        more_at_risk,
        roots: answer.roots.finish(graph, is_before),
        terminating_normally: answer.normal,
        unexplained: answer.unexplained,
        looked_at: graph.scanned.iter().map(|kind| clean(kind, 127)).collect(),
        not_scanned: graph.not_scanned.clone(),
        complete: !is_blind && graph.not_scanned.is_empty() && unknown.is_empty(),
        unknown,
        notes,
    };
    let lister = Lister::new(state);
    report.roots.iter_mut().for_each(|root| root.add_way_to_node(&lister));
    report.count();
    report
}

/// That nothing of what was named exists.
fn missing(graph: &Graph, subject: &Subject) -> Option<String> {
    let missing = |node: &&Node| graph.diagnosis(**node).missing;
    if subject.named().is_empty() || graph.victims.is_empty() || !graph.victims.iter().all(|node| missing(&node)) {
        return None;
    }
    let words = |node: &Node| format!("{} {}", graph.object(*node), graph.diagnosis(*node).words);
    Some(graph.victims.iter().map(words).collect::<Vec<_>>().join("; "))
}

/// An answer in the making.
struct Answer<'g> {
    graph: &'g Graph,
    subject: &'g Subject,
    waiting: Waiting<'g>,
    above: Marks<Vec<Node>>,
    verdict: Verdict,
    roots: Roots,
    normal: Vec<TerminatingNormally>,
    unexplained: Vec<Held>,
    gaps: Gaps,
}

impl<'g> Answer<'g> {
    fn new(graph: &'g Graph, subject: &'g Subject) -> Self {
        let mut gaps = Gaps::default();
        gaps.add(&graph.about);
        graph.nodes().for_each(|node| gaps.add(graph.diagnosis(node)));
        let (waiting, verdict, roots) = (Waiting::new(graph), Verdict::default(), Roots::default());
        let above = graph.above();
        Answer { graph, subject, waiting, above, verdict, roots, normal: Vec::new(), unexplained: Vec::new(), gaps }
    }

    fn is_before(&self) -> bool {
        matches!(self.subject, Subject::Before { .. })
    }

    /// What the deletion would destroy, or what ends those that have no root yet.
    fn at_risk(&self) -> Vec<AtRisk> {
        let is_young = |node: &Node| self.is_normal(*node) && self.waiting.worst(*node).is_some_and(|one| one.is_young);
        let nodes = self.graph.nodes().filter(|node| self.is_before() || is_young(node));
        nodes.flat_map(|node| self.graph.diagnosis(node).at_risk.iter().cloned()).collect()
    }

    /// Whether it is being deleted, and what it waits for goes on by itself. Before a deletion nothing is.
    fn is_normal(&self, node: Node) -> bool {
        let goes_on = |cause: &RootCause| cause.verdict == Verdict::Progressing;
        !self.is_before() && self.graph.diagnosis(node).terminating && self.waiting.worst(node).is_some_and(goes_on)
    }

    /// Adds all that terminates normally, victims and what they wait for.
    fn add_normal(&mut self, shares: &mut Shares<'g>) {
        /// Beside its texts, as measured.
        const OBJECT_BYTES: usize = 300;
        let mut left_out = 0;
        for node in self.graph.nodes().filter(|node| self.is_normal(*node)).collect::<Vec<_>>() {
            let is_blind = self.waiting.is_blind(node);
            self.verdict = self.verdict.max(if is_blind { Verdict::CannotTell } else { Verdict::Progressing });
            let object = self.graph.object(node);
            let Some(cause) = self.waiting.worst(node).filter(|_| shares.has_room(object)) else {
                left_out += 1;
                continue;
            };
            let (own, last): (Vec<&Step>, Vec<&Step>) =
                cause.steps.last().into_iter().partition(|step| step.object.as_ref() == Some(object));
            let waits_for = last.first().map(|last| last.link(false));
            let mut held = self.held(node, Verdict::Progressing);
            if let Some(own) = own.first() {
                held.words.clone_from(&own.words);
            }
            shares.charge(
                object,
                OBJECT_BYTES + held.words.len() + waits_for.as_ref().map_or(0, |link| link.state.len()),
            );
            let (cause, is_young) = (findings::CauseRef(cause.draft.cause), cause.is_young);
            self.normal.push(TerminatingNormally { held, cause, waits_for, is_young });
        }
        self.gaps.leave_out(left_out, "more objects that terminate normally", "which they are");
    }

    fn held(&self, node: Node, verdict: Verdict) -> Held {
        let (thing, diagnosis) = (self.graph.object(node).clone(), self.graph.diagnosis(node));
        let (words, reads) = (clean(&diagnosis.words, 400), self.waiting.reads(node).clone());
        Held { thing, verdict, overdue_seconds: diagnosis.overdue, words, keeps: diagnosis.keeps, reads }
    }

    /// Adds what holds one victim, as far as there is room. Returns how many of its causes were added before or now, where
    /// there are more.
    fn add(&mut self, victim: Node, reported: usize, shares: &mut Shares<'g>) -> Option<usize> {
        let graph = self.graph;
        let diagnosis = graph.diagnosis(victim);
        let reach = Reach::new(graph, victim);
        // Beside what is stuck nothing is said of what goes on by itself.
        let is_stuck = diagnosis.terminating && !self.is_before();
        let counts = |cause: &RootCause| !is_stuck || cause.verdict != Verdict::Progressing;
        let causes = reach.nodes.iter().enumerate().flat_map(|(at, (node, _))| {
            let causes = graph.diagnosis(*node).causes.iter().enumerate();
            causes.filter(|(_, cause)| counts(cause)).map(move |(index, cause)| (at, index, cause))
        });
        let unexplained = if is_stuck { Verdict::CannotTell } else { Verdict::Clear };
        let worst = match diagnosis.is_only_named && !self.is_before() {
            true => Verdict::Clear,
            false => self.waiting.worst(victim).map_or(unexplained, |cause| cause.verdict),
        };
        let is_blind = self.waiting.is_blind(victim);
        let held = self.held(victim, worst.max(if is_blind { Verdict::CannotTell } else { Verdict::Clear }));
        self.verdict = self.verdict.max(held.verdict);
        if causes.clone().next().is_none() {
            if diagnosis.terminating || !self.subject.named().is_empty() {
                self.unexplained.push(held);
            }
            return None;
        }
        for (count, (at, index, cause)) in causes.enumerate().skip(reported) {
            if !shares.has_room(graph.object(victim)) {
                return Some(count);
            }
            let (nodes, way) = reach.way(at);
            let mut bytes = self.roots.add(Found { cause, index, way: &way }, &nodes, &held);
            // Of a longer way only its ends are kept.
            if way.gap.is_none() {
                let others = reach.waiting_for(at, &self.above).into_iter();
                let others = others.filter(|node| graph.diagnosis(*node).terminating);
                bytes += self.roots.add_on_the_way(cause, others.map(|node| (node, graph.object(node))));
            }
            shares.charge(graph.object(victim), bytes);
        }
        None
    }
}
