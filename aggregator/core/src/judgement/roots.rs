//! The root causes of an answer: each once, with its explanations and all it holds.

use findings::{
    CauseRef, Circumstance, ClusterArea, Confidence, Evidence, Finding, Placeholder, RootId, Verdict, Words,
};
use foldhash::{HashMap, HashSet};

use crate::at_risk::{AtRisk, MAX_AT_RISK};
use crate::diagnosis::{Claim, Explained, Found, Identity, RootCause};
use crate::graph::{Graph, Node};
use crate::report::{Held, Root, Victim};
use crate::state::ObjectRef;

/// More evidence for one explanation is not kept.
const MAX_EVIDENCE: usize = 24;
/// More explanations of one root are not kept beside the first.
const MAX_OTHER_EXPLANATIONS: usize = 4;

/// More claims about one root are not kept.
const MAX_CLAIMS: usize = 4;

/// Of one link of a chain, or one object, as measured.
const LINK_BYTES: usize = 250;

/// Roots in the making.
#[derive(Default)]
pub(super) struct Roots {
    drafts: Vec<Draft>,
    by_identity: HashMap<String, usize>,
    /// Each cause is met again for every object that waits for it.
    by_cause: HashMap<*const RootCause, usize>,
    /// What each root already has.
    known: HashSet<(usize, Node)>,
    /// What was offered to each root as evidence, by its address: most is that of something that many wait for, and to find
    /// by its text that it has been offered already costs more than all else.
    offered: HashSet<(usize, *const Evidence)>,
}

struct Draft {
    root: Root,
    /// How many steps the shown finding has of its own.
    steps: usize,
    /// Whether it quotes a reason.
    is_told: bool,
    /// Its explanations, those included that find no room.
    explanations: HashSet<String>,
}

impl Roots {
    /// One more object that a root holds. Returns about how many bytes of the answer that takes.
    pub(super) fn add(&mut self, found: Found, nodes: &[Node], held: &Held) -> usize {
        /// As measured.
        const ROOT_BYTES: usize = 4096;
        let Found { cause, way, .. } = found;
        let before = self.drafts.len();
        let index = self.index(cause);
        match self.drafts.get_mut(index) {
            Some(draft) => draft.explain(found),
            None => self.drafts.push(Draft::new(found, held)),
        }
        let is_new = self.drafts.len() > before;
        let Some(Draft { root, .. }) = self.drafts.get_mut(index) else { return 0 };
        let text_bytes = if is_new { text_bytes(&root.finding) } else { 0 };
        root.reads.add(&held.reads);
        let verdict = root.verdict;
        if let Some(finding) = root.explanations_mut().find(|finding| finding.root == cause.draft.root) {
            // What one object proves is so, however little another shows of it; that one is merely young proves nothing.
            if cause.draft.confidence == Confidence::Proven && cause.verdict == verdict {
                finding.confidence = Confidence::Proven;
                finding.missing = None;
            }
            let of_way = way.objects.iter().flat_map(|explained| &explained.diagnosis.evidence);
            for evidence in of_way.chain(&cause.draft.evidence) {
                if finding.evidence.len() >= MAX_EVIDENCE {
                    break;
                }
                if self.offered.insert((index, std::ptr::from_ref(evidence))) && !finding.evidence.contains(evidence) {
                    finding.evidence.push(evidence.clone());
                }
            }
        }
        if nodes.first().is_some_and(|victim| self.known.insert((index, *victim))) {
            let gate = cause.agent.as_ref().and_then(|agent| agent.gate);
            let (held, cause) = (held.clone(), CauseRef(cause.draft.cause));
            let nodes = way.objects.iter().flat_map(|explained| &explained.diagnosis.nodes).cloned().collect();
            root.victims.push(Victim { held, cause, gate, chain: found.chain(), nodes });
        }
        for (node, Explained { object, diagnosis, .. }) in nodes.iter().zip(&way.objects) {
            let behind: Vec<String> =
                diagnosis.waiting.iter().filter(|one| !root.behind.contains(one)).cloned().collect();
            root.behind.extend(behind);
            let has_room = |root: &Root| root.claims.len() < MAX_CLAIMS;
            for claim in diagnosis.claims.iter().filter_map(Claim::quoted) {
                if has_room(root) && !root.claims.iter().any(|known| known.finding.root == claim.finding.root) {
                    root.claims.push(claim);
                }
            }
            if diagnosis.terminating && self.known.insert((index, *node)) {
                root.on_the_way.push(object.clone());
            }
        }
        // The victim has the chain, and a new root as well; what stands on the way is named once more.
        let links = nodes.len() + cause.steps.len() + 1;
        let root_bytes = if is_new { ROOT_BYTES.max(text_bytes) + links * LINK_BYTES } else { 0 };
        root_bytes + 2 * links * LINK_BYTES
    }

    /// Before a deletion the whole answer says what is at risk, and not each root.
    pub(super) fn finish(mut self, graph: &Graph, is_before: bool) -> Vec<Root> {
        if !is_before {
            for (index, node) in &self.known {
                let Some(Draft { root, .. }) = self.drafts.get_mut(*index) else { continue };
                root.at_risk.extend(graph.diagnosis(*node).at_risk.iter().cloned());
            }
        }
        let mut roots: Vec<Root> = self.drafts.into_iter().map(Draft::finish).collect();
        Root::sort(&mut roots);
        roots
    }

    /// Adds more objects that wait for a root by other ways. Returns about how many bytes of the answer that takes.
    pub(super) fn add_on_the_way<'o>(
        &mut self,
        cause: &RootCause,
        objects: impl Iterator<Item = (Node, &'o ObjectRef)>,
    ) -> usize {
        let index = self.index(cause);
        let Some(Draft { root, .. }) = self.drafts.get_mut(index) else { return 0 };
        let before = root.on_the_way.len();
        let new = objects.filter(|(node, _)| self.known.insert((index, *node)));
        root.on_the_way.extend(new.map(|(_, object)| object.clone()));
        (root.on_the_way.len() - before) * LINK_BYTES
    }

    fn index(&mut self, cause: &RootCause) -> usize {
        let next = self.drafts.len();
        let by_identity = &mut self.by_identity;
        let find = || *by_identity.entry(cause.identity().key).or_insert(next);
        *self.by_cause.entry(std::ptr::from_ref(cause)).or_insert_with(find)
    }
}

impl Draft {
    fn new(found: Found, held: &Held) -> Self {
        let Found { cause, .. } = found;
        let Identity { kind, namespace, key } = cause.identity();
        let root = Root {
            id: RootId::new(&key),
            finalizer: cause
                .value(Placeholder::Finalizer)
                .filter(|_| kind == ClusterArea::Finalizer.as_str())
                .map(str::to_owned),
            kind,
            namespace,
            verdict: cause.verdict,
            at_risk: Vec::new(),
            more_at_risk: 0,
            finding: found.finding(),
            also: Vec::new(),
            claims: Vec::new(),
            more_explanations: 0,
            told_by: told_by(cause),
            look_on: cause.look_on(),
            victims: Vec::new(),
            on_the_way: Vec::new(),
            behind: Vec::new(),
            reads: held.reads.clone(),
        };
        let explanations = HashSet::from_iter([explanation(cause)]);
        Draft { root, steps: cause.steps.len(), is_told: is_told(cause), explanations }
    }

    fn finish(mut self) -> Root {
        // What was only named is not stuck, whatever is wrong with it.
        if self.root.victims.iter().all(|victim| victim.held.verdict == Verdict::Clear) {
            self.root.verdict = Verdict::Clear;
        }
        self.root.more_at_risk = AtRisk::merge(&mut self.root.at_risk, MAX_AT_RISK);
        self.root.more_explanations = self.explanations.len().saturating_sub(1 + self.root.also.len());
        self.root
    }

    /// Of the explanations the worst is shown, that a node is lost before others, what an agent found before what the API
    /// shows, what quotes a reason before what quotes none, and what only its node knows last; of one explanation the chain
    /// that shows most.
    fn explain(&mut self, found: Found) {
        let (Found { cause, .. }, Draft { root, steps, is_told: was_told, explanations }) = (found, &mut *self);
        let is_new = explanations.insert(explanation(cause));
        let is_same = root.finding.root == cause.draft.root;
        let is_better = match is_same {
            true => (cause.verdict, cause.steps.len()) > (root.verdict, *steps),
            false => {
                let (is_lost, is_agents) = (cause.draft.cause.node_is_lost, cause.agent.is_some());
                let of_root = (root.verdict, root.finding.cause.node_is_lost, root.look_on.is_none());
                (cause.verdict, is_lost, cause.look_on().is_none(), is_agents, is_told(cause))
                    > (of_root.0, of_root.1, of_root.2, root.told_by.is_some(), *was_told)
            }
        };
        if !is_better {
            if is_new && root.also.len() < MAX_OTHER_EXPLANATIONS {
                root.also.push(found.finding());
            }
            return;
        }
        let before = std::mem::replace(&mut root.finding, found.finding());
        match is_same {
            true => {
                let new = before.evidence.into_iter().filter(|one| !cause.draft.evidence.contains(one));
                root.finding.evidence.extend(new);
            }
            false => {
                root.also.retain(|one| one.root != cause.draft.root);
                root.also.insert(0, before);
                root.also.truncate(MAX_OTHER_EXPLANATIONS);
            }
        }
        (root.verdict, root.told_by, root.look_on) = (cause.verdict, told_by(cause), cause.look_on());
        *was_told = is_told(cause);
        *steps = cause.steps.len();
    }
}

/// How long the evidence and the steps of a finding are as JSON, about.
fn text_bytes(finding: &Finding) -> usize {
    /// Names, quotes, and what is escaped in a command.
    const OVERHEAD: usize = 120;
    let evidence = finding.evidence.iter().map(|one| one.source.len() + one.says.len() + OVERHEAD);
    let steps = finding.remedy.steps.iter();
    let steps = steps.map(|step| step.text.len() + step.command.as_ref().map_or(0, String::len) + OVERHEAD);
    let remedy = &finding.remedy;
    let warnings = remedy.note.as_ref().map_or(0, String::len) + remedy.dont.len() + remedy.breaks.len();
    evidence.chain(steps).sum::<usize>() + warnings
}

/// What makes an explanation another one. Of what only the node knows each pod has a key of its own, and one cause.
fn explanation(cause: &RootCause) -> String {
    if cause.look_on().is_some() { cause.draft.cause.id.to_owned() } else { cause.draft.root.clone() }
}

/// Whether it quotes a reason of the object's own words.
fn is_told(cause: &RootCause) -> bool {
    !cause.draft.facts.has(Circumstance::Words(Words::None))
}

fn told_by(cause: &RootCause) -> Option<crate::diagnosis::ToldBy> {
    cause.agent.as_ref().map(|agent| agent.by.clone())
}

impl Root {
    fn explanations_mut(&mut self) -> impl Iterator<Item = &mut Finding> {
        std::iter::once(&mut self.finding).chain(&mut self.also)
    }
}
