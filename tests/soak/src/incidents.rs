//! Whether every finding was opened and closed exactly once, judged by the Events that the API server kept.

use std::collections::{BTreeMap, BTreeSet};

use findings::event::{ANNOTATION, FindingAnnotation, Phase};
use serde_json::Value;

/// One pod that was made stuck in one way, once.
#[derive(Clone, Debug)]
pub struct Incident {
    /// The pod's uid, which no other incident has.
    pub pod: String,
    /// The cause's id.
    pub cause: &'static str,
    /// Whether it lasted until it was reported. One that was resolved before may have been reported or not.
    pub waited_for: bool,
}

/// What an Event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The pod's uid; none when it is about the node.
    pub pod: Option<String>,
    /// The cause's id.
    pub cause: String,
    /// What distinguishes this finding from others of the pod.
    pub root: String,
    /// Whether it is a Normal event.
    pub over: bool,
    /// Since when it holds, or held.
    pub since: String,
    /// When it was last seen, or when its end was.
    pub seen: String,
}

impl Told {
    /// Reads an Event of the agent.
    pub fn read(event: &Value) -> anyhow::Result<Self> {
        let annotation = event["metadata"]["annotations"][ANNOTATION].as_str();
        let annotation = anyhow::Context::context(annotation, "an Event carries no finding")?;
        let carried = FindingAnnotation::parse(annotation)?;
        let over = carried.phase == Phase::Over;
        let is_normal = event["type"] == "Normal";
        anyhow::ensure!(over == is_normal, "type and phase do not agree: {event:#}");
        Ok(Self {
            pod: event["related"]["uid"].as_str().map(str::to_owned),
            cause: carried.finding.cause.id.to_owned(),
            root: carried.finding.root,
            over,
            since: carried.since,
            seen: carried.seen,
        })
    }
}

/// All that is wrong, a line each. What is wrong with the node, and with the pods of which `changes` says so, may come
/// back; any other pod is made stuck once.
pub fn faults(told: &[Told], incidents: &[Incident], changes: fn(&str) -> bool) -> Vec<String> {
    let mut faults: Vec<String> = incidents.iter().filter_map(|incident| fault_of(told, incident)).collect();
    let mut findings: BTreeMap<(&Option<String>, &str), Vec<&Told>> = BTreeMap::new();
    for one in told {
        findings.entry((&one.pod, &one.root)).or_default().push(one);
    }
    for ((pod, root), told) in findings {
        let (ends, opened): (Vec<&Told>, Vec<&Told>) = told.into_iter().partition(|one| one.over);
        let whose = pod.as_deref().map_or_else(|| "the node".to_owned(), |uid| format!("pod {uid}"));
        let [opened] = opened[..] else {
            faults.push(format!("{whose}: {root} was opened by {} Events and closed by {}", opened.len(), ends.len()));
            continue;
        };
        // One that comes back has the same Warning, and each end a Normal event of its own.
        let is_once = pod.as_deref().is_some_and(|uid| !changes(uid));
        if is_once && ends.len() != 1 {
            faults.push(format!("{whose}: {root} was closed by {} Events", ends.len()));
        } else if let times = ends.iter().filter(|end| end.since == opened.since).count()
            && times != 1
        {
            let began = &opened.since;
            faults.push(format!(
                "{whose}: {root}, which began {began}, was closed {times} times, of {} ends",
                ends.len()
            ));
        } else if let Some(end) = overlapping(&ends) {
            faults.push(format!("{whose}: {root} began again {}, before it was over", end.since));
        }
    }
    faults
}

fn fault_of(told: &[Told], incident: &Incident) -> Option<String> {
    let of_it = |over| {
        let is_of = |one: &&Told| one.pod.as_ref() == Some(&incident.pod) && one.cause == incident.cause;
        told.iter().filter(is_of).filter(|one| one.over == over).count()
    };
    let (opened, closed) = (of_it(false), of_it(true));
    let is_right = (opened, closed) == (1, 1) || !incident.waited_for && (opened, closed) == (0, 0);
    let Incident { pod, cause, .. } = incident;
    (!is_right).then(|| format!("pod {pod}: {cause} was opened {opened} times and closed {closed} times"))
}

/// An end whose beginning lies before the end of an earlier one, or is that of another.
fn overlapping<'a>(ends: &[&'a Told]) -> Option<&'a Told> {
    let mut ordered = ends.to_vec();
    ordered.sort_by_key(|end| &end.since);
    ordered.windows(2).find(|pair| pair[1].since < pair[0].seen || pair[1].since == pair[0].since).map(|pair| pair[1])
}

/// The causes that were reported of a pod or of the node without having been staged.
pub fn others<'a>(told: &'a [Told], incidents: &[Incident]) -> BTreeSet<&'a str> {
    let is_staged = |one: &&Told| {
        incidents.iter().any(|incident| one.pod.as_ref() == Some(&incident.pod) && one.cause == incident.cause)
    };
    told.iter().filter(|one| !is_staged(one)).map(|one| one.cause.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incident(pod: &str, waited_for: bool) -> Incident {
        Incident { pod: pod.to_owned(), cause: "VolumeHeldByProcess", waited_for }
    }

    fn told(pod: Option<&str>, over: bool, since: u32, seen: u32) -> Told {
        Told {
            pod: pod.map(str::to_owned),
            cause: "VolumeHeldByProcess".to_owned(),
            root: "VolumeHeldByProcess 17".to_owned(),
            over,
            since: format!("2026-08-01T10:00:{since:02}Z"),
            seen: format!("2026-08-01T10:00:{seen:02}Z"),
        }
    }

    fn faults(told: &[Told], incidents: &[Incident]) -> Vec<String> {
        super::faults(told, incidents, |pod| pod == "changing")
    }

    fn pair(pod: &str) -> [Told; 2] {
        [told(Some(pod), false, 1, 5), told(Some(pod), true, 1, 9)]
    }

    #[test]
    fn one_warning_and_one_end_for_each_is_right() {
        let all = [pair("a"), pair("b")].concat();
        assert_eq!(faults(&all, &[incident("a", true), incident("b", true)]), [""; 0]);
        assert!(others(&all, &[incident("a", true), incident("b", true)]).is_empty());
    }

    #[test]
    fn what_was_waited_for_and_not_told_is_a_fault() {
        assert_eq!(faults(&[], &[incident("a", true)]).len(), 1);
        assert_eq!(faults(&[], &[incident("a", false)]), [""; 0]);
    }

    #[test]
    fn an_end_is_neither_missing_nor_told_twice() {
        let [open, over] = pair("a");
        for incidents in [vec![], vec![incident("a", false)], vec![incident("a", true)]] {
            assert!(!faults(std::slice::from_ref(&open), &incidents).is_empty());
            assert!(!faults(std::slice::from_ref(&over), &incidents).is_empty());
            let again = Told { since: "2026-08-01T10:00:20Z".to_owned(), ..over.clone() };
            assert!(!faults(&[open.clone(), over.clone(), again], &incidents).is_empty());
            assert!(!faults(&[open.clone(), open.clone(), over.clone()], &incidents).is_empty());
        }
    }

    #[test]
    fn an_end_of_another_beginning_closes_nothing() {
        let [open, over] = pair("a");
        let other = Told { since: "2026-08-01T10:00:02Z".to_owned(), ..over };
        assert_eq!(faults(&[open, other], &[incident("a", true)]).len(), 1);
    }

    #[test]
    fn two_roots_of_one_cause_are_two_openings() {
        let other = pair("a").map(|one| Told { root: "VolumeHeldByProcess 18".to_owned(), ..one });
        let all = [pair("a"), other].concat();
        assert_eq!(faults(&all, &[incident("a", true)]).len(), 1);
    }

    #[test]
    fn the_nodes_trouble_may_come_back() {
        let first = told(None, true, 1, 5);
        let opened = told(None, false, 7, 8);
        let second = told(None, true, 7, 9);
        assert_eq!(faults(&[first.clone(), opened.clone(), second.clone()], &[]), [""; 0]);
        assert_eq!(faults(&[first.clone(), opened.clone()], &[]).len(), 1, "its last end is missing");
        assert_eq!(faults(&[first.clone(), second.clone()], &[]).len(), 1, "it was never opened");
        let before = told(None, true, 4, 6);
        assert_eq!(faults(&[first, opened, second, before], &[]).len(), 1, "two hold at once");
    }

    #[test]
    fn so_may_that_of_a_pod_that_changes() {
        let twice = |pod| {
            [(true, 1, 5), (false, 7, 8), (true, 7, 9)].map(|(over, since, seen)| told(Some(pod), over, since, seen))
        };
        assert_eq!(faults(&twice("changing"), &[]), [""; 0]);
        assert_eq!(faults(&twice("a"), &[]).len(), 1);
    }

    #[test]
    fn what_nobody_staged_is_named() {
        let all = [pair("a"), pair("b")].concat();
        assert_eq!(others(&all, &[incident("a", true)]), BTreeSet::from(["VolumeHeldByProcess"]));
    }
}
