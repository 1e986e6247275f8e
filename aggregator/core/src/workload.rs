//! A Machine whose node is in another cluster, the workload cluster: what keeps that node from being drained goes on where the
//! chain of the Machine ends.

use std::sync::Arc;

use findings::{Entity, Link, RootId, Step, Unknown, Verdict, clean};

use crate::judgement::judge;
use crate::lister::Lister;
use crate::report::{ClusterReport, Root, Victim};
use crate::rules::{is_node_of, is_of_node};
use crate::state::{Answer, Node, Object, ObjectRef, State, Subject, known};

/// More Machines of one answer are not followed.
const MAX_MACHINES: usize = 8;

/// A Machine or a NodeClaim that is being deleted, and its node.
pub struct Machine {
    object: ObjectRef,
    found: Object,
}

/// Those of an answer whose node is not in the same cluster.
pub fn machines(state: &State, report: &mut ClusterReport) -> Vec<Machine> {
    let lister = Lister::new(state);
    let objects = report.objects();
    let all = objects.iter().map(|counted| counted.object).filter(|object| is_of_node(&object.resource));
    let found = all.filter_map(|object| {
        let found = lister.with_status(&object.resource, object.namespace.as_deref(), &object.name).seen()?;
        let here = lister.get::<Node>(known::NODES, None, &found.status.node_name).seen();
        let is_elsewhere = !found.status.node_name.is_empty() && !here.is_some_and(|node| is_node_of(found, node));
        is_elsewhere.then(|| Machine { object: object.clone(), found: found.clone() })
    });
    let mut machines: Vec<Machine> = found.collect();
    if machines.len() > MAX_MACHINES {
        report.notes.insert(format!(
            "{} more Machines were not followed into the workload cluster: name one",
            machines.len() - MAX_MACHINES
        ));
        machines.truncate(MAX_MACHINES);
    }
    machines
}

impl Machine {
    /// What to ask the workload cluster about.
    pub fn subject(&self) -> Subject {
        let name = self.found.status.node_name.clone();
        Subject::Object { word: "node".to_owned(), namespace: String::new(), name }
    }

    /// Whether Cluster API drains its node, which passes over pods that others stop at.
    pub fn is_of_cluster_api(&self) -> bool {
        self.object.resource.group == "cluster.x-k8s.io"
    }

    /// Adds the answer of the workload cluster. Commands for it get this flag.
    pub fn join(&self, report: &mut ClusterReport, workload: &State, kubeconfig: &str) {
        let node = &self.found.status.node_name;
        let answer = judge(workload);
        let seen = Lister::new(workload).get::<Node>(known::NODES, None, node);
        let why = match &seen {
            Answer::Seen(seen) if is_node_of(&self.found, seen) => None,
            Answer::Seen(_) => Some("is another one than its node"),
            Answer::Missing => Some("does not exist"),
            Answer::Unasked | Answer::Failed(_) => Some("could not be read"),
        };
        report.unknown.extend(
            answer
                .unknown
                .into_iter()
                .map(|one| Unknown { source: format!("workload cluster: {}", one.source), ..one }),
        );
        report.complete &= report.unknown.is_empty();
        if let Some(why) = why {
            let (node, file) = (clean(node, 253), clean(kubeconfig, 200));
            report
                .notes
                .insert(format!("Workload cluster: Node {node} of {} {why}: is {file} for its cluster?", self.object));
            return;
        }
        report.notes.extend(answer.notes.iter().map(|note| format!("Workload cluster: {note}")));
        if answer.roots.is_empty() {
            let words = answer.unexplained.first().map_or("", |held| held.words.as_str());
            report
                .notes
                .insert(format!("Workload cluster: nothing was found that keeps pods on Node {node} ({words})"));
            return;
        }
        let (victims, before) = self.take_victims(report);
        let verdict = before.iter().map(|root| root.verdict).max().unwrap_or(Verdict::CannotTell);
        for (index, found) in answer.roots.into_iter().enumerate() {
            let mut root = found;
            let below: Vec<Link> = root.finding.chain.iter().map(in_workload).collect();
            let goes_on = |victim: &Victim| {
                let above = victim.chain.iter().map(|link| Link { root: false, ..Link::clone(link) });
                above.chain(below.clone()).collect::<Vec<Link>>()
            };
            root.victims = victims.clone();
            for victim in &mut root.victims {
                victim.chain = goes_on(victim).into_iter().map(Arc::new).collect();
                victim.cause = root.finding.cause;
            }
            root.finding.chain = victims.first().map_or(below.clone(), goes_on);
            let claimed = root.claims.iter_mut().map(|claim| &mut claim.finding);
            for finding in std::iter::once(&mut root.finding).chain(&mut root.also).chain(claimed) {
                finding.remedy.steps.iter_mut().for_each(|step| for_workload(step, kubeconfig));
            }
            // What this cluster shows of the same Machine.
            if index == 0 {
                root.also.extend(before.iter().map(|root| root.finding.clone()));
                root.on_the_way = before.iter().flat_map(|root| root.on_the_way.clone()).collect();
            }
            root.verdict = verdict;
            root.id = RootId::new(&format!("workload of {}: {}", self.object, root.id));
            report.roots.push(root);
        }
        Root::sort(&mut report.roots);
        report.verdict = report.verdict.max(verdict);
        report.count();
    }

    /// Takes what waits for this Machine from its roots, with its chain down to the Machine, and the roots that hold nothing
    /// else.
    fn take_victims(&self, report: &mut ClusterReport) -> (Vec<Victim>, Vec<Root>) {
        let mut taken = Vec::new();
        let mut left = Vec::new();
        let mut before = Vec::new();
        for mut root in std::mem::take(&mut report.roots) {
            for mut victim in std::mem::take(&mut root.victims) {
                match victim.chain.iter().position(|link| self.is_at(link)) {
                    Some(at) => {
                        victim.chain.truncate(at + 1);
                        taken.push(victim);
                    }
                    None => root.victims.push(victim),
                }
            }
            if root.victims.is_empty() { before.push(root) } else { left.push(root) }
        }
        report.roots = left;
        taken.dedup_by(|one, other| one.held.thing == other.held.thing);
        (taken, before)
    }

    fn is_at(&self, link: &Link) -> bool {
        let Some(Entity::Object { kind, namespace, name }) = &link.what else { return false };
        *kind == *self.object.kind && *namespace == self.object.namespace && *name == self.object.name
    }
}

fn in_workload(link: &Link) -> Link {
    Link { subject: format!("{} (workload cluster)", link.subject), ..link.clone() }
}

/// A plugin takes its flags after its name.
fn for_workload(step: &mut Step, kubeconfig: &str) {
    const KUBECTL: &str = "kubectl ";
    const PLUGIN: &str = "kubectl why-terminating ";
    let Some(command) = &mut step.command else { return };
    let flag = format!("--kubeconfig {kubeconfig} ");
    let mut rest = std::mem::take(command);
    while let Some(at) = rest.find(KUBECTL) {
        let is_word = rest[..at].chars().next_back().is_none_or(|before| " (|&;".contains(before));
        let name = if rest[at..].starts_with(PLUGIN) { PLUGIN } else { KUBECTL };
        let after = rest.split_off(at + name.len());
        command.push_str(&rest);
        command.push_str(if is_word { &flag } else { "" });
        rest = after;
    }
    command.push_str(&rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_names_the_cluster() {
        for (command, expected) in [
            ("kubectl describe node n", "kubectl --kubeconfig w.conf describe node n"),
            ("kubectl why-terminating pod/p --live", "kubectl why-terminating --kubeconfig w.conf pod/p --live"),
            (
                "kubectl get a | kubectl apply -f -",
                "kubectl --kubeconfig w.conf get a | kubectl --kubeconfig w.conf apply -f -",
            ),
            ("journalctl -u kubelet", "journalctl -u kubelet"),
            ("my-kubectl get", "my-kubectl get"),
        ] {
            let mut step = Step {
                text: String::new(),
                command: Some(command.to_owned()),
                on_the_node: false,
                is_check: true,
                tested: true,
            };
            for_workload(&mut step, "w.conf");
            assert_eq!(step.command.as_deref(), Some(expected));
        }
    }
}
