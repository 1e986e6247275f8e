//! What of a report a caller may see: what follows from what they have permission to read, and nothing else. Each object and
//! root of a report has what was read to know of it ([`Reads`]), which the lister has noted.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::incidents::{Hold, Incident};
use aggregator_core::access::{Access, Reads, Verb};
use aggregator_core::report::{ClusterReport, Counts, Held, NotScanned, Root, TerminatingNormally, Victim};
use aggregator_core::state::{ObjectRef, Scope, known};
use findings::event::NAMESPACE;
use findings::{Confidence, Entity, Finding, Link, Placeholder, Remedy, Values, Verdict, some};

use super::review::{NotReviewed, Reviews, User};

/// How an object stands whose explanation rests on something that the caller has no permission to read, or that has none.
pub const HIDDEN: &str = "no permission to read all that its explanation rests on";

/// What a caller has permission to read, as far as it was asked.
pub struct Rights(HashMap<Access, bool>);

/// The right to see what agents report.
fn agent_access() -> Access {
    Access::list(&known::AGENT_EVENTS.into(), &Scope::Namespace(NAMESPACE.to_owned()))
}

/// Some of what the ClusterRole for people grants: who lacks one of these has not that role.
fn role_accesses() -> impl Iterator<Item = Access> {
    let kinds = [known::PODS, known::NODES, known::DEPLOYMENTS, known::CLUSTER_ROLES];
    kinds.into_iter().map(|kind| Access::list(&kind.into(), &Scope::All))
}

/// The permissions named in one sentence.
const MAX_NAMED_PERMISSIONS: usize = 5;

fn objects(report: &ClusterReport) -> impl Iterator<Item = &ObjectRef> {
    let held = report.unexplained.iter().chain(report.terminating_normally.iter().map(|one| &one.held));
    let roots = report.roots.iter();
    let of_roots = roots.flat_map(|root| root.victims.iter().map(|victim| &victim.held.thing).chain(&root.on_the_way));
    of_roots.chain(held.map(|held| &held.thing))
}

/// Each object of a report with what was read for it, and each root.
fn reads(report: &ClusterReport) -> impl Iterator<Item = (&ObjectRef, &Reads)> {
    let victims = report.roots.iter().flat_map(|root| {
        let held = root.victims.iter().map(|victim| &victim.held);
        held.flat_map(|held| [(&held.thing, &held.reads), (&held.thing, &root.reads)])
    });
    let held = report.unexplained.iter().chain(report.terminating_normally.iter().map(|one| &one.held));
    let at_risk = report.roots.iter().flat_map(|root| root.at_risk.iter().map(|one| (&one.with, &one.reads)));
    victims.chain(at_risk).chain(held.map(|held| (&held.thing, &held.reads)))
}

impl Rights {
    /// Asks for all rights that a report and these incidents take: first to see objects, then to see what those rest on.
    pub async fn ask(
        reviews: &Reviews,
        user: &User,
        report: &ClusterReport,
        incidents: &[Arc<Incident>],
    ) -> Result<Rights, NotReviewed> {
        let mut rights = Rights(HashMap::new());
        let at_risk = report.roots.iter().flat_map(|root| &root.at_risk);
        let at_risk = at_risk.flat_map(|one| one.released_by.iter().chain([&one.with]));
        let objects = objects(report).chain(at_risk).chain(incidents.iter().map(|incident| &incident.object));
        let always = role_accesses().chain([agent_access(), Access::everything()]);
        rights.learn(reviews, user, objects.map(Access::get_object).chain(always).collect()).await?;
        let of_incidents = incidents.iter().flat_map(|one| one.holds.iter().map(|hold| (&one.object, &hold.reads)));
        let all = reads(report).chain(of_incidents).filter(|(object, _)| rights.may_see(object));
        // Thousands of objects share a few.
        let each: HashSet<&Reads> = all.map(|(_, reads)| reads).collect();
        let needed = each.into_iter().filter_map(Reads::all).flatten().cloned().collect();
        rights.learn(reviews, user, needed).await?;
        Ok(rights)
    }

    /// Who may list a kind in the whole cluster is not asked for each namespace.
    async fn learn(&mut self, reviews: &Reviews, user: &User, needed: HashSet<Access>) -> Result<(), NotReviewed> {
        let wide: HashSet<Access> = needed.iter().map(|access| access.wider().0).collect();
        self.0.extend(reviews.allowed(user, wide.into_iter().collect()).await?);
        let narrow = needed.into_iter().filter(|access| !self.has(access)).collect();
        self.0.extend(reviews.allowed(user, narrow).await?);
        Ok(())
    }

    fn has(&self, access: &Access) -> bool {
        let (wide, within) = access.wider();
        [&wide, &within, access].into_iter().any(|access| self.0.get(access).copied().unwrap_or(false))
    }

    /// Whether all that was read for something may be read.
    fn have(&self, reads: &Reads) -> bool {
        reads.all().map_or(self.may_see_all(), |all| all.iter().all(|access| self.has(access)))
    }

    /// Whether an object may be seen.
    pub fn may_see(&self, object: &ObjectRef) -> bool {
        self.has(&Access::get_object(object))
    }

    /// Whether everything may be seen.
    pub fn may_see_all(&self) -> bool {
        self.has(&Access::everything())
    }

    /// What of the report may be seen.
    pub fn report(&self, report: &ClusterReport) -> ClusterReport {
        let mut roots: Vec<Root> = report.roots.iter().filter_map(|root| self.root(root)).collect();
        // By what is seen of them: their place shows nothing of what is hidden.
        Root::sort(&mut roots);
        let normal = report.terminating_normally.iter().filter(|one| self.have(&one.held.reads));
        let terminating_normally: Vec<TerminatingNormally> = normal.cloned().collect();
        let explained = report.unexplained.iter().filter(|held| self.have(&held.reads));
        let mut unexplained: Vec<Held> = explained.cloned().collect();
        let shown =
            roots.iter().flat_map(|root| root.victims.iter().map(|one| &one.held.thing).chain(&root.on_the_way));
        let shown = shown.chain(terminating_normally.iter().map(|one| &one.held.thing));
        let mut shown: HashSet<&ObjectRef> = shown.chain(unexplained.iter().map(|held| &held.thing)).collect();
        let hidden = objects(report).filter(|object| self.may_see(object) && shown.insert(object));
        let hidden: HashSet<&ObjectRef> = hidden.collect();
        let mut needed: HashMap<&ObjectRef, Vec<&Reads>> = HashMap::new();
        for (object, reads) in reads(report).filter(|(object, _)| hidden.contains(object)) {
            needed.entry(object).or_default().push(reads);
        }
        let asked = |object: &ObjectRef| self.ask_for(needed.get(object).into_iter().flatten().copied());
        let mut hidden: Vec<Held> = hidden.into_iter().map(|object| neutral(object, &asked(object))).collect();
        hidden.sort_by(|one, other| one.thing.cmp(&other.thing));
        unexplained.extend(hidden);
        let all = self.may_see_all();
        let held = unexplained.iter().chain(terminating_normally.iter().map(|one| &one.held));
        let verdicts = roots.iter().map(|root| root.verdict).chain(held.map(|held| held.verdict));
        let mut seen = ClusterReport {
            schema: report.schema,
            at: report.at.clone(),
            subject: report.subject.clone(),
            looked_at: report.looked_at.clone(),
            not_scanned: match all {
                true => report.not_scanned.clone(),
                false => report.not_scanned.iter().map(NotScanned::uncounted).collect(),
            },
            complete: report.complete && all,
            refused: report.refused.clone().filter(|_| all),
            is_missing: report.is_missing,
            is_deleted_already: report.is_deleted_already,
            is_delete_refused: report.is_delete_refused,
            verdict: if all { report.verdict } else { verdicts.max().unwrap_or(Verdict::Clear) },
            counts: Counts::default(),
            at_risk: Vec::new(),
            more_at_risk: 0,
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

    /// What to ask an administrator for, to see what rests on these. Without the role it is the role, whatever they are, so
    /// that the answer does not depend on what is hidden. With it, it is the kinds that the role lacks.
    fn ask_for<'r>(&self, reads: impl IntoIterator<Item = &'r Reads>) -> String {
        if !role_accesses().all(|access| self.has(&access)) {
            return "ClusterRole why-terminating-plugin".to_owned();
        }
        let all: Option<Vec<_>> = reads.into_iter().map(Reads::all).collect();
        let missing = all.into_iter().flatten().flatten().filter(|access| !self.has(access));
        let missing: BTreeSet<String> = missing.map(permission).collect();
        if missing.is_empty() {
            return permission(&Access::everything());
        }
        some(&Vec::from_iter(missing), MAX_NAMED_PERMISSIONS)
    }

    /// What to ask for to see all of a root; none where the caller sees all of it.
    pub fn ask_for_root(&self, root: &Root) -> Option<String> {
        (!self.have(&root.reads)).then(|| self.ask_for([&root.reads]))
    }

    /// A root as it would be if it held only what the caller may see.
    fn root(&self, root: &Root) -> Option<Root> {
        if self.have(&root.reads) {
            let mut seen = root.clone();
            seen.behind.retain(|_| self.may_see_all());
            self.hide_at_risk(&mut seen);
            return Some(seen);
        }
        let victims: Vec<Victim> = root.victims.iter().filter(|one| self.have(&one.held.reads)).cloned().collect();
        let finding = of_victim(root, victims.first()?);
        let is_linked = |object: &&ObjectRef| victims.iter().any(|victim| leads_through(victim, object));
        let on_the_way = root.on_the_way.iter().filter(|object| self.may_see(object)).filter(is_linked).cloned();
        let mut seen = Root {
            id: root.id,
            kind: root.kind.clone(),
            namespace: root.namespace.clone(),
            finalizer: None,
            at_risk: root.at_risk.clone(),
            more_at_risk: root.more_at_risk,
            verdict: victims.iter().map(|victim| victim.held.verdict).max()?,
            finding,
            also: Vec::new(),
            claims: Vec::new(),
            more_explanations: 0,
            told_by: None,
            look_on: root.look_on.clone(),
            on_the_way: on_the_way.collect(),
            victims,
            behind: Vec::new(),
            reads: Reads::default(),
        };
        seen.at_risk.retain(|one| seen.victims.iter().any(|victim| leads_through(victim, &one.with)));
        self.hide_at_risk(&mut seen);
        Some(seen)
    }

    /// How many there are shows what is hidden.
    fn hide_at_risk(&self, seen: &mut Root) {
        seen.at_risk.retain(|one| self.may_see(&one.with) && self.have(&one.reads));
        for one in &mut seen.at_risk {
            one.released_by.take_if(|by| !self.may_see(by));
        }
        if !self.may_see_all() {
            seen.more_at_risk = 0;
        }
    }

    /// What of incidents may be seen, without those of which the object may not.
    pub fn incidents<'a>(&self, incidents: impl IntoIterator<Item = &'a Incident>) -> Vec<Incident> {
        let seen = incidents.into_iter().filter(|incident| self.may_see(&incident.object));
        seen.map(|incident| self.incident(incident.clone())).collect()
    }

    fn incident(&self, mut seen: Incident) -> Incident {
        let all = seen.holds.len();
        seen.holds.retain(|hold| self.have(&hold.reads));
        seen.has_more_holds |= seen.holds.len() < all;
        let nameless = |hold: &mut Hold| hold.reads = Reads::default();
        seen.holds.iter_mut().for_each(nameless);
        if !self.has(&agent_access()) {
            seen.end.iter_mut().for_each(|end| end.left_behind.clear());
        }
        seen
    }
}

/// An object of which the caller may see that it is being deleted, and no more.
fn neutral(object: &ObjectRef, ask_for: &str) -> Held {
    let (thing, words) = (object.clone(), format!("{HIDDEN}; ask for: {ask_for}"));
    Held { thing, verdict: Verdict::CannotTell, overdue_seconds: None, words, keeps: None, reads: Reads::default() }
}

/// `get gadgets.nc.example.com`
fn permission(access: &Access) -> String {
    let verb = match access.verb {
        Verb::Get => "get",
        Verb::List => "list",
    };
    let dot = if access.group.is_empty() { "" } else { "." };
    format!("{verb} {}{dot}{}", access.plural, access.group)
}

/// Whether the chain of a victim names this object.
fn leads_through(victim: &Victim, object: &ObjectRef) -> bool {
    let is_it = |link: &Arc<Link>| match &link.what {
        Some(Entity::Object { kind, namespace, name }) => {
            *kind == object.kind && *namespace == object.namespace && *name == object.name
        }
        _ => false,
    };
    victim.chain.iter().any(is_it)
}

/// What holds one victim, where the finding of its root is about another one. Where only the node knows more, the steps
/// are filled for this victim; else they could name another one.
fn of_victim(root: &Root, victim: &Victim) -> Finding {
    let Victim { held, cause, gate, chain, .. } = victim;
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
            // Not on a node where no agent can run.
            if root.finding.remedy.steps.iter().any(|step| step.is_agents_check()) {
                values.set(Placeholder::AgentlessNode, node);
                values.set(Placeholder::AgentImage, findings::agent_image());
            }
            values.set(Placeholder::Pod, pod);
            values.set(Placeholder::Node, node);
            Remedy::fill(cause.0, &values)
        }
        _ => Remedy { steps: Vec::new(), ..Remedy::fill(cause.0, &Values::new()) },
    };
    Finding {
        cause: *cause,
        gate: *gate,
        confidence: Confidence::Probable,
        missing: None,
        chain: chain.iter().map(|link| Link::clone(link)).collect(),
        evidence: Vec::new(),
        remedy,
        values: Values::new(),
        root: format!("{}:{}", cause.id, held.thing),
        must_end_too: None,
    }
}

#[cfg(test)]
mod tests {
    use aggregator_core::report::{AtRisk, AtRiskKind};
    use aggregator_core::state::Subject;
    use findings::{CauseRef, Evidence, RootId, cause};

    use super::*;

    fn link(object: &ObjectRef) -> Link {
        let what = Entity::object(&object.kind, object.namespace.as_deref().unwrap_or_default(), &object.name);
        Link { what: Some(what), ..Link::new(object.to_string(), "") }
    }

    fn rights(all: &[Access]) -> Rights {
        Rights(all.iter().map(|right| (right.clone(), true)).collect())
    }

    /// What was read to know that a node holds this pod.
    fn reads(pod: &ObjectRef) -> Reads {
        let all = [pod, &ObjectRef::node("node-b")].map(Access::get_object);
        serde_json::from_value(serde_json::json!(all)).unwrap()
    }

    fn victim(pod: &ObjectRef, cause: &'static findings::Cause) -> Victim {
        let (verdict, words, reads) = (Verdict::Stuck, String::new(), reads(pod));
        Victim {
            held: Held { thing: pod.clone(), verdict, overdue_seconds: Some(60), words, keeps: None, reads },
            cause: CauseRef(cause),
            gate: None,
            chain: [link(pod), link(&ObjectRef::node("node-b"))].map(Arc::new).into(),
            nodes: Vec::new(),
        }
    }

    /// A node that holds pods of two tenants.
    fn root() -> Root {
        let (theirs, own) = (ObjectRef::pod("shop", "db-0"), ObjectRef::pod("pay", "p"));
        let first = cause::all().next().unwrap();
        let other = cause::all().find(|one| one.id == "PodCleanupNotFinished").unwrap();
        let victims = vec![victim(&theirs, first), victim(&own, other)];
        let all: Vec<&Access> = victims.iter().flat_map(|one| one.held.reads.all().unwrap()).collect();
        let finding = Finding {
            evidence: vec![Evidence::new("Pod shop/db-0", "secret words")],
            missing: Some("secret words".to_owned()),
            must_end_too: Some(vec!["secret words".to_owned()]),
            ..of_victim(&Root { victims: Vec::new(), ..empty(first) }, &victims[0])
        };
        let reads = serde_json::from_value(serde_json::json!(all)).unwrap();
        Root { finding, victims, reads, ..empty(first) }
    }

    fn empty(cause: &'static findings::Cause) -> Root {
        let finding = Finding {
            cause: CauseRef(cause),
            gate: None,
            confidence: Confidence::Proven,
            missing: None,
            must_end_too: None,
            chain: Vec::new(),
            evidence: Vec::new(),
            remedy: Remedy::fill(cause, &Values::new()),
            values: Values::new(),
            root: String::new(),
        };
        Root {
            id: RootId::new("node-b"),
            kind: String::new(),
            namespace: None,
            finalizer: None,
            at_risk: Vec::new(),
            more_at_risk: 0,
            verdict: Verdict::Stuck,
            finding,
            also: Vec::new(),
            claims: Vec::new(),
            more_explanations: 0,
            told_by: None,
            look_on: Some("node-b".to_owned()),
            victims: Vec::new(),
            on_the_way: Vec::new(),
            behind: Vec::new(),
            reads: Reads::default(),
        }
    }

    fn nothing() -> ClusterReport {
        ClusterReport {
            schema: ClusterReport::SCHEMA,
            at: String::new(),
            subject: Subject::Everything { namespace: None, all_kinds: false },
            refused: None,
            is_missing: false,
            is_deleted_already: false,
            is_delete_refused: false,
            verdict: Verdict::Stuck,
            counts: Counts::default(),
            at_risk: Vec::new(),
            more_at_risk: 0,
            roots: Vec::new(),
            terminating_normally: Vec::new(),
            unexplained: Vec::new(),
            looked_at: Vec::new(),
            not_scanned: Vec::new(),
            complete: true,
            unknown: Vec::new(),
            notes: Default::default(),
        }
    }

    #[test]
    fn of_a_root_with_pods_of_two_tenants_each_sees_their_own() {
        let (both, own) = (root(), ObjectRef::pod("pay", "p"));
        let seen =
            rights(&[Access::get_object(&own), Access::get_object(&ObjectRef::node("node-b"))]).root(&both).unwrap();
        let text = serde_json::to_string(&seen).unwrap();
        assert!(!text.contains("shop") && !text.contains("secret"), "{text}");
        assert_eq!((seen.finding.cause.id, seen.id), ("PodCleanupNotFinished", both.id));
        let checks = |node: bool| {
            let mut both = both.clone();
            let names = Values::new().with(Placeholder::Node, "node-b").with(Placeholder::AgentPod, "shop/p");
            let names = names.with(Placeholder::AgentlessNode, if node { "node-b" } else { "" });
            let names = names.with(Placeholder::AgentImage, findings::agent_image());
            both.finding.remedy = Remedy::fill(cause::find("PodCleanupNotFinished").unwrap(), &names);
            let rights = rights(&[Access::get_object(&own), Access::get_object(&ObjectRef::node("node-b"))]);
            let steps = rights.root(&both).unwrap().finding.remedy.steps;
            steps
                .iter()
                .filter_map(|step| step.command.as_deref())
                .any(|command| command.ends_with("check --pod pay/p"))
        };
        assert!(checks(true) && !checks(false), "where none can run there is nothing to check");
    }

    /// The disk of another tenant, or of a volume that the caller has no permission to see, has no name here.
    #[test]
    fn what_is_at_risk_is_for_those_who_may_read_the_claim_and_the_volume() {
        let (claim, volume) = (ObjectRef::claim("pay", "data"), ObjectRef::cluster_wide(known::VOLUMES, "pv-1"));
        let mut root = root();
        root.reads = reads(&ObjectRef::pod("pay", "p"));
        root.more_at_risk = 3;
        root.at_risk = vec![AtRisk {
            reads: serde_json::from_value(serde_json::json!([Access::get_object(&volume)])).unwrap(),
            released_by: Some(ObjectRef::pod("shop", "db-0")),
            ..AtRisk::new(AtRiskKind::Disk, "vol-1", &claim, Evidence::new("PersistentVolume pv-1", ""))
        }];
        let own = [ObjectRef::pod("pay", "p"), ObjectRef::node("node-b")].map(|object| Access::get_object(&object));
        let seen = |more: &[&ObjectRef]| {
            let more = more.iter().map(|object| Access::get_object(object));
            let seen = rights(&own.iter().cloned().chain(more).collect::<Vec<_>>()).root(&root).unwrap();
            (seen.at_risk.into_iter().map(|one| (one.name, one.released_by)).collect::<Vec<_>>(), seen.more_at_risk)
        };
        assert_eq!(seen(&[&claim]), (vec![], 0));
        assert_eq!(seen(&[&volume]), (vec![], 0));
        assert_eq!(seen(&[&claim, &volume]), (vec![("vol-1".to_owned(), None)], 0));
    }

    /// The older pod of the first root is hidden.
    #[test]
    fn roots_stand_in_the_order_of_what_is_seen() {
        let (mut first, mut second) = (root(), root());
        first.victims[0].held.overdue_seconds = Some(6000);
        second.victims.remove(0);
        second.victims[0].held.overdue_seconds = Some(100);
        second.id = RootId::new("younger");
        let report = ClusterReport { roots: vec![first.clone(), second.clone()], ..nothing() };
        let own = [ObjectRef::pod("pay", "p"), ObjectRef::node("node-b")].map(|object| Access::get_object(&object));
        let seen: Vec<RootId> = rights(&own).report(&report).roots.iter().map(|root| root.id).collect();
        assert_eq!(seen, [second.id, first.id]);
    }

    /// Not even a hash of what is hidden, nor its cause: only that the pod is being deleted.
    #[test]
    fn who_lacks_one_right_sees_no_more_than_the_object() {
        let own = ObjectRef::pod("pay", "p");
        let report = ClusterReport { roots: vec![root()], ..nothing() };
        let seen = rights(&[Access::get_object(&own)]).report(&report);
        assert!(
            seen.roots.is_empty() && seen.unexplained == [neutral(&own, "ClusterRole why-terminating-plugin")],
            "{seen:#?}"
        );
        let none = rights(&[]).report(&report);
        assert_eq!((none.verdict, objects(&none).count()), (Verdict::Clear, 0));
    }

    /// Two clusters that differ in what is hidden give the same words to those without the role.
    #[test]
    fn with_the_role_the_missing_kinds_are_named() {
        let own = ObjectRef::pod("pay", "p");
        let gadgets =
            Access { verb: Verb::Get, group: "nc.example.com".into(), plural: "gadgets".into(), namespace: None };
        let mut hidden = root();
        hidden.reads = serde_json::from_value(serde_json::json!([gadgets])).unwrap();
        hidden.victims.retain(|victim| victim.held.thing == own);
        hidden.victims.iter_mut().for_each(|victim| victim.held.reads = hidden.reads.clone());
        let report = ClusterReport { roots: vec![hidden], ..nothing() };
        let words = |rights: Rights| rights.report(&report).unexplained[0].words.clone();
        let with_role: Vec<Access> = role_accesses().collect();
        assert!(
            words(rights(&with_role)).ends_with("ask for: get gadgets.nc.example.com"),
            "{}",
            words(rights(&with_role))
        );
        assert!(!words(rights(&[Access::get_object(&own)])).contains("gadgets"));
    }

    #[test]
    fn what_rests_on_nobody_knows_what_is_for_those_who_may_read_everything() {
        let unknown = Root { reads: Reads::default(), victims: Vec::new(), ..root() };
        let nodes_and_pods = [known::PODS, known::NODES].map(|kind| Access::list(&kind.into(), &Scope::All));
        assert!(rights(&nodes_and_pods).root(&unknown).is_none());
        assert!(rights(&[Access::everything()]).root(&unknown).is_some());
        assert!(rights(&nodes_and_pods).root(&root()).unwrap().finding.missing.is_some(), "all of it");
    }
}
