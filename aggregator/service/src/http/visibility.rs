//! What of a report a caller may see. What is hidden keeps its place in a chain, so that the shape stays.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::incidents::Incident;
use aggregator_core::report::{ClusterReport, Counts, Held, Root, TerminatingNormally, Victim};
use aggregator_core::state::{ApiResource, ObjectRef, known};
use findings::event::NAMESPACE;
use findings::{Confidence, Entity, Finding, Link, Placeholder, Remedy, RootId, Values, Verdict};

use super::review::{Access, NotReviewed, Reviews, User};

/// In place of what somebody may not see.
const HIDDEN: &str = "something you may not see";

/// What somebody may do, as far as it was asked.
pub struct Rights(HashMap<Access, bool>);

/// The right to see an object: its namespace's objects of that kind.
fn object_access(object: &ObjectRef) -> Access {
    Access::Get {
        group: object.resource.group.clone(),
        plural: object.resource.plural.clone(),
        namespace: object.namespace.clone(),
    }
}

/// The right to see what agents tell.
fn agent_access() -> Access {
    let (group, plural) = (known::AGENT_EVENTS.group.into(), known::AGENT_EVENTS.plural.into());
    Access::List { group, plural, namespace: Some(NAMESPACE.to_owned()) }
}

/// The right to see whatever is: it is asked for what names no object.
fn full_access() -> Access {
    Access::List { group: "*".into(), plural: "*".into(), namespace: None }
}

fn known_kind(kind: &str) -> Option<&'static ApiResource> {
    known::ALL.iter().find(|known| known.kind == kind)
}

/// Which right it takes to see a link of a chain.
fn link_access(link: &Link, objects: &ByName) -> Access {
    let Some(Entity::Object { kind, namespace, name }) = &link.what else { return agent_access() };
    if let Some(object) = objects.get(&(kind.as_str(), namespace.as_deref(), name.as_str())) {
        return object_access(object);
    }
    match known_kind(kind) {
        Some(known) => {
            Access::Get { group: known.group.into(), plural: known.plural.into(), namespace: namespace.clone() }
        }
        None => full_access(),
    }
}

/// By kind, namespace and name.
type ByName<'r> = HashMap<(&'r str, Option<&'r str>, &'r str), &'r ObjectRef>;

/// Objects of a report by what a link calls them.
fn objects(report: &ClusterReport) -> ByName<'_> {
    let victims = report.roots.iter().flat_map(|root| root.victims.iter().map(|victim| &victim.held.thing));
    let between = report.roots.iter().flat_map(|root| &root.on_the_way);
    let rest = report.unexplained.iter().map(|held| &held.thing);
    let normal = report.terminating_normally.iter().map(|one| &one.held.thing);
    let all = victims.chain(between).chain(rest).chain(normal);
    all.map(|object| ((object.kind.as_ref(), object.namespace.as_deref(), object.name.as_str()), object)).collect()
}

impl Rights {
    /// Asks for all rights that a report and these incidents take. What they are does not depend on who asks.
    pub async fn ask(
        reviews: &Reviews,
        user: &User,
        report: &ClusterReport,
        incidents: &[Arc<Incident>],
    ) -> Result<Rights, NotReviewed> {
        let known = objects(report);
        let mut needed = HashSet::from([agent_access(), full_access()]);
        needed.extend(known.values().map(|object| object_access(object)));
        let normal = report.terminating_normally.iter().filter_map(|one| one.waits_for.as_ref());
        let links = report.roots.iter().flat_map(Root::links).chain(normal);
        needed.extend(links.map(|link| link_access(link, &known)));
        needed.extend(incidents.iter().map(|incident| object_access(&incident.object)));
        let links = incidents.iter().flat_map(|incident| incident.holds.iter().flat_map(|hold| &hold.chain));
        needed.extend(links.map(|link| link_access(link, &known)));
        Ok(Rights(reviews.allowed(user, needed.into_iter().collect()).await?))
    }

    fn has(&self, access: &Access) -> bool {
        self.0.get(access).copied().unwrap_or(false)
    }

    /// Whether an object may be seen.
    pub fn may_see(&self, object: &ObjectRef) -> bool {
        self.has(&object_access(object))
    }

    /// Whether everything may be seen.
    pub fn may_see_all(&self) -> bool {
        self.has(&full_access())
    }

    /// Whether what agents tell may be seen.
    pub fn may_see_nodes(&self) -> bool {
        self.has(&agent_access())
    }

    /// What of the report may be seen.
    pub fn report(&self, report: &ClusterReport) -> ClusterReport {
        let known = objects(report);
        let roots: Vec<Root> = report.roots.iter().filter_map(|root| self.root(root, &known)).collect();
        let unexplained: Vec<Held> =
            report.unexplained.iter().filter(|held| self.may_see(&held.thing)).cloned().collect();
        let terminating_normally: Vec<TerminatingNormally> =
            report.terminating_normally.iter().filter_map(|one| self.normal(one, &known)).collect();
        let all = self.may_see_all();
        let held = unexplained.iter().chain(terminating_normally.iter().map(|one| &one.held));
        let verdicts = roots.iter().map(|root| root.verdict).chain(held.map(|held| held.verdict));
        let mut seen = ClusterReport {
            schema: report.schema,
            at: report.at.clone(),
            subject: report.subject.clone(),
            looked_at: report.looked_at.clone(),
            refused: report.refused.clone().filter(|_| all),
            verdict: if all { report.verdict } else { verdicts.max().unwrap_or(Verdict::Clear) },
            counts: Counts::default(),
            roots,
            terminating_normally,
            unexplained,
            // Both name whatever they are about.
            unknown: if all { report.unknown.clone() } else { Vec::new() },
            notes: if all { report.notes.clone() } else { Default::default() },
        };
        seen.count();
        seen
    }

    fn normal(&self, one: &TerminatingNormally, known: &ByName) -> Option<TerminatingNormally> {
        let mut seen = self.may_see(&one.held.thing).then(|| one.clone())?;
        if seen.waits_for.as_ref().is_some_and(|link| !self.has(&link_access(link, known))) {
            seen.waits_for = None;
            seen.held.words.clear();
        }
        Some(seen)
    }

    fn root(&self, root: &Root, known: &ByName) -> Option<Root> {
        let mut seen = root.clone();
        seen.victims.retain(|victim| self.may_see(&victim.held.thing));
        seen.on_the_way.retain(|object| self.may_see(object));
        if seen.victims.is_empty() && seen.on_the_way.is_empty() {
            return None;
        }
        let mut hidden = 0;
        for victim in &mut seen.victims {
            hidden += self.chain(&mut victim.chain, known);
        }
        let is_part = seen.objects() < root.objects();
        let is_seen = |chain: &[Link]| chain.iter().all(|link| self.has(&link_access(link, known)));
        if !is_seen(&seen.finding.chain) {
            // The finding is that of the first object, which the caller may not see.
            let own = seen.victims.first().map(|victim| of_victim(&seen, victim));
            seen.finding = own.unwrap_or_else(|| unnamed(seen.finding));
        }
        if is_part {
            // It quotes other objects on the way.
            seen.finding.evidence.clear();
            seen.also.clear();
            seen.more_explanations = 0;
        }
        let mut chain: Vec<Arc<Link>> = seen.finding.chain.into_iter().map(Arc::new).collect();
        hidden += self.chain(&mut chain, known);
        seen.finding.chain = chain.into_iter().map(Arc::unwrap_or_clone).collect();
        seen.also.retain(|other| is_seen(&other.chain));
        if hidden > 0 || (root.told_by.is_some() && !self.may_see_nodes()) {
            seen.finding = unnamed(seen.finding);
            // Of what is hidden not even a hash is told; two such roots are told apart by what the caller sees.
            let first = seen.victims.first().map(|victim| &victim.held.thing).or(seen.on_the_way.first());
            let first = first.map(ToString::to_string).unwrap_or_default();
            seen.finding.root = format!("{}:{HIDDEN}, {first}", seen.finding.cause.id);
            seen.id = RootId::new(&seen.finding.root);
            seen.also.clear();
            seen.more_explanations = 0;
            seen.told_by = None;
            seen.look_on = None;
            for victim in &mut seen.victims {
                victim.held.words.clear();
            }
        }
        seen.behind.retain(|_| self.may_see_all());
        Some(seen)
    }

    /// Hides links; returns how many.
    fn chain(&self, chain: &mut [Arc<Link>], known: &ByName) -> usize {
        // Below what may not be seen nothing is told, whatever it is: that would say what is above it.
        let seen = chain.iter().take_while(|link| self.has(&link_access(link, known))).count();
        let hidden = chain.len() - seen;
        // How the last one stands that may be seen tells what holds it.
        if let Some(last) = chain[..seen].last_mut().filter(|_| hidden > 0) {
            Arc::make_mut(last).state.clear();
        }
        for link in &mut chain[seen..] {
            *link = Arc::new(Link { root: link.root, ..Link::new(HIDDEN.to_owned(), "") });
        }
        hidden
    }

    /// What of incidents may be seen, without those of which the object may not.
    pub fn incidents<'a>(
        &self,
        incidents: impl IntoIterator<Item = &'a Incident>,
        report: &ClusterReport,
    ) -> Vec<Incident> {
        let known = objects(report);
        let seen = incidents.into_iter().filter(|incident| self.may_see(&incident.object));
        seen.map(|incident| self.incident(incident.clone(), &known)).collect()
    }

    fn incident(&self, mut seen: Incident, known: &ByName) -> Incident {
        for hold in &mut seen.holds {
            let hidden = self.chain(&mut hold.chain, known);
            if hidden > 0 || (hold.told_by.is_some() && !self.may_see_nodes()) {
                hold.root = HIDDEN.to_owned();
                hold.told_by = None;
            }
        }
        if !self.may_see_nodes() {
            for left in seen.end.iter_mut().flat_map(|end| &mut end.left_behind) {
                left.node = HIDDEN.to_owned();
                left.root = Link::new(HIDDEN.to_owned(), "");
            }
        }
        seen
    }
}

/// What holds one victim, where the finding of its root is about another one. Where only the node knows more, the steps
/// are filled for this victim; else they could name another one.
fn of_victim(root: &Root, victim: &Victim) -> Finding {
    let Victim { held, cause, gate, chain } = victim;
    let finding = root.finding.clone();
    let pods = chain.iter().rev().filter_map(|link| match &link.what {
        Some(Entity::Object { kind, namespace: Some(namespace), name }) if kind == "Pod" => {
            Some(format!("{namespace}/{name}"))
        }
        _ => None,
    });
    let remedy = match (&root.look_on, pods.take(1).next()) {
        (Some(node), Some(pod)) => {
            let mut values = Values::new();
            values.set(Placeholder::AgentPod, &pod);
            values.set(Placeholder::Pod, pod);
            values.set(Placeholder::Node, node);
            Remedy::fill(cause.0, &values)
        }
        _ => Remedy { steps: Vec::new(), ..Remedy::fill(cause.0, &Values::new()) },
    };
    Finding {
        cause: *cause,
        gate: *gate,
        chain: chain.iter().map(|link| Link::clone(link)).collect(),
        root: format!("{}:{}", cause.id, held.thing),
        confidence: Confidence::Probable,
        remedy,
        ..unnamed(finding)
    }
}

/// The finding without its words, keys and commands, which name what the links named. Each field is listed, so that a
/// new one is thought of here.
fn unnamed(finding: Finding) -> Finding {
    let Finding {
        cause,
        gate,
        confidence,
        missing: _,
        chain,
        evidence: _,
        remedy,
        values: _,
        root: _,
        must_end_too: _,
    } = finding;
    Finding {
        cause,
        gate,
        confidence,
        missing: None,
        chain,
        evidence: Vec::new(),
        remedy: Remedy { steps: Vec::new(), ..remedy },
        values: Values::new(),
        root: HIDDEN.to_owned(),
        must_end_too: None,
    }
}

#[cfg(test)]
mod tests {
    use findings::{CauseRef, cause};

    use super::*;

    fn link(object: &ObjectRef) -> Link {
        let what = Entity::object(&object.kind, object.namespace.as_deref().unwrap_or_default(), &object.name);
        Link { what: Some(what), ..Link::new(object.to_string(), "") }
    }

    /// A pod that a node holds, of which only the node itself knows why.
    fn root() -> Root {
        let (pod, node) = (ObjectRef::pod("shop", "db-0"), ObjectRef::node("node-b"));
        let cause = cause::all().next().unwrap();
        let finding = Finding {
            cause: CauseRef(cause),
            gate: None,
            confidence: Confidence::Probable,
            missing: Some("whether node-b still runs it".to_owned()),
            must_end_too: Some(vec!["pid 1 of node-b".to_owned()]),
            chain: vec![link(&pod), link(&node)],
            evidence: Vec::new(),
            remedy: Remedy::fill(cause, &Values::new()),
            values: Values::new(),
            root: "of node-b".to_owned(),
        };
        let held = Held { thing: pod, verdict: Verdict::Stuck, overdue_seconds: Some(60), words: String::new() };
        let victims = vec![Victim {
            held,
            cause: finding.cause,
            gate: None,
            chain: finding.chain.iter().cloned().map(Arc::new).collect(),
        }];
        let (on_the_way, behind) = (Vec::new(), Vec::new());
        Root {
            id: RootId::new("node-b"),
            verdict: Verdict::Stuck,
            finding,
            also: Vec::new(),
            more_explanations: 0,
            told_by: None,
            look_on: Some("node-b".to_owned()),
            victims,
            on_the_way,
            behind,
        }
    }

    /// One node holds pods of two tenants: each reads of their own, and what they may do there.
    #[test]
    fn of_a_root_with_pods_of_two_tenants_each_sees_their_own() {
        let mut both = root();
        let mine = ObjectRef::pod("pay", "p");
        let other = cause::all().find(|one| one.id == "PodCleanupNotFinished").unwrap();
        both.victims.push(Victim {
            held: Held {
                thing: mine.clone(),
                verdict: Verdict::Stuck,
                overdue_seconds: Some(5),
                words: "mine".to_owned(),
            },
            cause: CauseRef(other),
            gate: None,
            chain: vec![Arc::new(link(&mine))],
        });
        both.finding.evidence = vec![findings::Evidence::new("Pod shop/db-0", "secret words")];
        let rights = Rights([(object_access(&mine), true)].into());
        let seen = rights.root(&both, &ByName::new()).unwrap();
        let text = serde_json::to_string(&seen).unwrap();
        assert!(!text.contains("shop") && !text.contains("secret") && !text.contains(HIDDEN), "{text}");
        assert_eq!((seen.finding.cause.id, seen.id), (other.id, both.id));
        assert!(text.contains("check --pod pay/p"), "{text}");
    }

    #[test]
    fn the_node_to_look_on_is_named_to_those_who_may_see_it() {
        let seen_with = |rights: &[Access]| {
            let rights = Rights(rights.iter().map(|right| (right.clone(), true)).collect());
            rights.root(&root(), &ByName::new()).unwrap()
        };
        let (pods, nodes) = (object_access(&ObjectRef::pod("shop", "db-0")), object_access(&ObjectRef::node("node-b")));
        assert_eq!(seen_with(&[pods.clone(), nodes]).look_on.as_deref(), Some("node-b"));
        let hidden = seen_with(&[pods]);
        assert_ne!(hidden.id, root().id, "not even a hash of what is hidden");
        let hidden = serde_json::to_string(&hidden).unwrap();
        assert!(hidden.contains(HIDDEN) && !hidden.contains("node-b"), "{hidden}");
    }
}
