//! From the graph to the answer: each root cause once, with all it holds.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use findings::{Confidence, Unknown, Verdict, clean};

use crate::graph::{Found, Graph, Standing, Step, build};
use crate::report::{ClusterReport, Held, Root, Victim};
use crate::state::{State, Subject, Thing};

/// More evidence for one root is not kept.
const MOST_EVIDENCE: usize = 24;

/// Judges a state; what it does not know yet makes the verdict "cannot tell".
pub fn judge(state: &State) -> ClusterReport {
    let (graph, questions) = build(state);
    let mut told = Told::default();
    told.take(&graph.about);
    let inner = inner(&graph);
    for victim in &graph.victims {
        tell(&graph, victim, inner.contains(victim), &state.subject, &mut told);
    }
    if graph.cut {
        told.unknown.push(Unknown {
            kind: None,
            source: "the cluster".to_owned(),
            why: "more objects wait for each other than are looked into at once".to_owned(),
            hides: "what the rest waits for; name one object to look at it alone".to_owned(),
        });
    }
    let is_blind = graph.cut || graph.about.is_blind() || !questions.is_empty();
    let verdict = told.verdict.max(if is_blind { Verdict::CannotTell } else { Verdict::Clear });
    told.roots.sort_by_key(|root| std::cmp::Reverse((root.verdict, root.victims.len())));
    ClusterReport {
        schema: ClusterReport::SCHEMA,
        at: state.at.to_string(),
        subject: state.subject.clone(),
        refused: refused(&graph, &state.subject),
        verdict,
        roots: told.roots,
        unexplained: told.unexplained,
        unknown: told.unknown,
        notes: told.notes,
    }
}

/// What was asked about does not exist.
fn refused(graph: &Graph, subject: &Subject) -> Option<String> {
    if graph.about.missing {
        return Some(clean(&graph.about.words, 300));
    }
    let [only] = graph.victims.as_slice() else { return None };
    let is_asked_for = matches!(subject, Subject::Object { .. });
    let standing = graph.things.get(only).filter(|standing| is_asked_for && standing.missing)?;
    Some(format!("{only} {}", standing.words))
}

/// A report in the making.
#[derive(Default)]
struct Told {
    verdict: Verdict,
    roots: Vec<Root>,
    by_key: BTreeMap<String, usize>,
    /// What each root already has.
    known: BTreeSet<(usize, Thing)>,
    unexplained: Vec<Held>,
    unknown: Vec<Unknown>,
    notes: BTreeSet<String>,
}

impl Told {
    /// What could not be seen, and what is worth knowing.
    fn take(&mut self, standing: &Standing) {
        for unknown in &standing.unknown {
            if !self.unknown.contains(unknown) {
                self.unknown.push(unknown.clone());
            }
        }
        self.notes.extend(standing.notes.iter().cloned());
    }

    /// The root of `found`, made from it when it is new.
    fn root(&mut self, found: &Found, way: &[Step]) -> usize {
        let roots = &mut self.roots;
        *self.by_key.entry(found.root.clone()).or_insert_with(|| {
            let finding = found.finding(way);
            let told_by = found.told.as_ref().map(|told| told.by.clone());
            let (verdict, victims) = (found.verdict, Vec::new());
            roots.push(Root { verdict, finding, told_by, victims, on_the_way: vec![], behind: vec![] });
            roots.len() - 1
        })
    }

    /// One more thing that a root holds.
    fn add(&mut self, graph: &Graph, found: &Found, way: &[Step], held: &Held) {
        let index = self.root(found, way);
        let Some(root) = self.roots.get_mut(index) else { return };
        // What one thing proves is so, however little another shows of it.
        if found.confidence == Confidence::Proven {
            root.finding.confidence = Confidence::Proven;
        }
        let on_the_way = way.iter().filter_map(|step| graph.things.get(step.thing.as_ref()?));
        for evidence in on_the_way.flat_map(|standing| &standing.evidence).chain(&found.evidence) {
            if root.finding.evidence.len() < MOST_EVIDENCE && !root.finding.evidence.contains(evidence) {
                root.finding.evidence.push(evidence.clone());
            }
        }
        if self.known.insert((index, held.thing.clone())) {
            root.victims.push(Victim { held: held.clone(), chain: found.finding(way).chain });
        }
        for thing in way.iter().filter_map(|step| step.thing.as_ref()) {
            let Some(standing) = graph.things.get(thing) else { continue };
            let behind: Vec<String> =
                standing.behind.iter().filter(|one| !root.behind.contains(one)).cloned().collect();
            root.behind.extend(behind);
            if standing.terminating && self.known.insert((index, thing.clone())) {
                root.on_the_way.push(thing.clone());
            }
        }
    }
}

fn tell(graph: &Graph, victim: &Thing, is_inner: bool, subject: &Subject, told: &mut Told) {
    let Some(standing) = graph.things.get(victim) else { return };
    let reached = reach(graph, victim);
    for (_, standing) in &reached {
        told.take(standing);
    }
    if is_inner {
        // It is told with what waits for it.
        return;
    }
    let each = reached.iter().flat_map(|(way, standing)| standing.found.iter().map(|found| (way.as_slice(), found)));
    let found: Vec<(&[Step], &Found)> = each.collect();
    let unexplained = if standing.terminating { Verdict::CannotTell } else { Verdict::Clear };
    let worst = found.iter().map(|(_, found)| found.verdict).max().unwrap_or(unexplained);
    let is_blind = reached.iter().any(|(_, standing)| standing.is_blind());
    let held = Held {
        thing: victim.clone(),
        verdict: worst.max(if is_blind { Verdict::CannotTell } else { Verdict::Clear }),
        overdue_seconds: standing.overdue,
        words: clean(&standing.words, 400),
    };
    told.verdict = told.verdict.max(held.verdict);
    if found.is_empty() && (standing.terminating || matches!(subject, Subject::Object { .. })) {
        told.unexplained.push(held);
        return;
    }
    for (way, found) in found {
        told.add(graph, found, way, &held);
    }
}

/// Everything a thing waits for, nearest first, each with the way that leads there. A circle ends
/// where it would begin again.
fn reach<'g>(graph: &'g Graph, from: &Thing) -> Vec<(Vec<Step>, &'g Standing)> {
    let mut reached = Vec::new();
    let mut known = BTreeSet::from([from]);
    let mut waiting = VecDeque::from([(from, Vec::new())]);
    while let Some((thing, mut way)) = waiting.pop_front() {
        let Some((thing, standing)) = graph.things.get_key_value(thing) else { continue };
        way.push(Step::about(thing, &standing.words));
        for next in &standing.waits_for {
            if known.insert(next) {
                waiting.push_back((next, way.clone()));
            }
        }
        reached.push((way, standing));
    }
    reached
}

/// Victims that another victim waits for. Of victims that wait for each other, the first is told.
fn inner(graph: &Graph) -> BTreeSet<&Thing> {
    let below: BTreeMap<&Thing, BTreeSet<&Thing>> =
        graph.victims.iter().map(|victim| (victim, below(graph, victim))).collect();
    let mut inner = BTreeSet::new();
    for (above, things) in &below {
        for thing in things {
            let Some(back) = below.get(thing).filter(|_| thing != above) else { continue };
            if !back.contains(above) || above < thing {
                inner.insert(*thing);
            }
        }
    }
    inner
}

fn below<'g>(graph: &'g Graph, victim: &'g Thing) -> BTreeSet<&'g Thing> {
    let mut known = BTreeSet::new();
    let mut waiting = vec![victim];
    while let Some(at) = waiting.pop() {
        for next in graph.things.get(at).into_iter().flat_map(|standing| &standing.waits_for) {
            if known.insert(next) {
                waiting.push(next);
            }
        }
    }
    known
}
