//! From the graph to the answer: each root cause once, with all it holds.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use findings::{Unknown, Verdict};

use crate::graph::{Found, Graph, Standing, Step, build};
use crate::report::{ClusterReport, Held, Root, Victim};
use crate::state::{State, Thing};

/// More evidence for one root is not kept.
const MOST_EVIDENCE: usize = 24;

/// Judges a state that is complete.
pub fn judge(state: &State) -> ClusterReport {
    let (graph, questions) = build(state);
    let mut roots: Vec<Root> = Vec::new();
    let mut by_key: BTreeMap<String, usize> = BTreeMap::new();
    let mut unexplained = Vec::new();
    let mut unknown = graph.about.unknown.clone();
    let mut notes = graph.about.notes.clone();
    let inner = inner(&graph);
    let mut verdict = Verdict::Clear;
    for thing in &graph.victims {
        let Some(standing) = graph.things.get(thing) else { continue };
        let reached = reach(&graph, thing);
        for (_, standing) in &reached {
            unknown.extend(standing.unknown.iter().filter(|one| !unknown.contains(one)).cloned().collect::<Vec<_>>());
            notes.extend(standing.notes.iter().cloned());
        }
        if inner.contains(thing) {
            // It is told with what waits for it.
            continue;
        }
        let found: Vec<(&[Step], &Found)> = reached
            .iter()
            .flat_map(|(way, standing)| standing.found.iter().map(|found| (way.as_slice(), found)))
            .collect();
        let worst = found.iter().map(|(_, found)| found.verdict).max();
        let own = match worst {
            Some(worst) => worst,
            None if !standing.terminating => Verdict::Clear,
            None => Verdict::CannotTell,
        };
        verdict = verdict.max(own);
        let held = Held {
            thing: thing.clone(),
            verdict: own,
            overdue_seconds: standing.overdue,
            words: standing.words.clone(),
        };
        if found.is_empty() {
            unexplained.push(held.clone());
            continue;
        }
        for (way, found) in found {
            let finding = found.finding(way);
            let victim = Victim { held: held.clone(), chain: finding.chain.clone() };
            let behind = reached.iter().flat_map(|(_, standing)| standing.behind.iter().cloned());
            let index = *by_key.entry(found.root.clone()).or_insert_with(|| {
                roots.push(Root {
                    verdict: found.verdict,
                    finding,
                    victims: Vec::new(),
                    on_the_way: BTreeSet::new(),
                    behind: BTreeSet::new(),
                });
                roots.len() - 1
            });
            let root = &mut roots[index];
            for evidence in &found.evidence {
                if root.finding.evidence.len() < MOST_EVIDENCE && !root.finding.evidence.contains(evidence) {
                    root.finding.evidence.push(evidence.clone());
                }
            }
            root.victims.retain(|known| known.held.thing != victim.held.thing);
            root.victims.push(victim);
            root.behind.extend(behind);
            let between = way.iter().skip(1).filter_map(|step| step.thing.clone());
            root.on_the_way.extend(between.filter(|thing| graph.things.get(thing).is_some_and(|one| one.terminating)));
        }
    }
    if graph.cut {
        unknown.push(Unknown {
            source: "the cluster".to_owned(),
            why: "more objects wait for each other than are looked into at once".to_owned(),
            hides: "what the rest waits for; name one object to look at it alone".to_owned(),
        });
    }
    if verdict < Verdict::Stuck && (graph.about.open || !graph.about.unknown.is_empty() || !questions.is_empty()) {
        verdict = verdict.max(Verdict::CannotTell);
    }
    roots.sort_by_key(|root| std::cmp::Reverse((root.verdict, root.victims.len())));
    ClusterReport {
        schema: ClusterReport::SCHEMA,
        at: state.at.to_string(),
        subject: state.subject.clone(),
        verdict,
        roots,
        unexplained,
        unknown,
        notes,
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
    let waits = |above: &Thing, thing: &Thing| below.get(above).is_some_and(|below| below.contains(thing));
    let is_inner = |thing: &&Thing| {
        graph
            .victims
            .iter()
            .any(|above| above != *thing && waits(above, thing) && (!waits(thing, above) || above < *thing))
    };
    graph.victims.iter().filter(is_inner).collect()
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
