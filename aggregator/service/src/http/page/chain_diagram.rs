//! What one root holds, as boxes in a column and arrows between them: what waits stands above what it waits for, the
//! root is last. Pure; [`super::svg`] draws it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aggregator_core::report::{Root, Victim};
use findings::{Entity, Gate, Link};

/// Boxes of one picture.
pub const MAX_BOXES: usize = 15;
/// Victims that have a box of their own.
const MAX_VICTIMS: usize = 4;
/// Boxes of one chain, from a namespace down to a process; the middle of a longer one is one box.
const MAX_CHAIN_BOXES: usize = 8;

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An object of the API.
    Object,
    /// Something on a node: a process, a mount.
    OnNode,
    /// More than fit.
    More,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub label: String,
    pub state: String,
    pub shape: Shape,
    /// Whether it is the root cause.
    pub is_root: bool,
}

/// An arrow from what waits to what it waits for, by number of block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrow {
    /// The upper block.
    pub from: usize,
    /// The lower one.
    pub to: usize,
    /// The lane beside the column; none between neighbours.
    pub lane: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagram {
    /// From the top.
    pub blocks: Vec<Block>,
    /// In the order of their upper ends.
    pub arrows: Vec<Arrow>,
}

/// Lays out what a root holds.
pub fn diagram(root: &Root) -> Diagram {
    // Hidden blocks look the same, and a very long chain takes the place of others.
    (1..=MAX_VICTIMS)
        .rev()
        .map(|victims| of(root, victims))
        .find(|picture| picture.blocks.len() <= MAX_BOXES)
        .unwrap_or_default()
}

fn of(root: &Root, most: usize) -> Diagram {
    let shown = choose(&root.victims, most);
    let mut layers = Layers::default();
    for victim in &shown {
        layers.add(&shortened(boxes(victim.chain.iter().map(Arc::as_ref), root.finding.gate)));
    }
    if shown.is_empty() {
        layers.add(&shortened(boxes(&root.finding.chain, root.finding.gate)));
    }
    let more = root.victims.len() - shown.len();
    let mut picture = layers.diagram();
    if more > 0 {
        let behind = picture.arrows.iter().map(|arrow| arrow.to).min().unwrap_or(0);
        let block =
            Block { label: format!("{more} more"), state: kinds(&root.victims), shape: Shape::More, is_root: false };
        picture.insert(behind, block);
    }
    picture.lanes();
    picture
}

/// Victims of as many kinds as there are, in their order.
fn choose(victims: &[Victim], most: usize) -> Vec<&Victim> {
    let mut kinds = BTreeSet::new();
    let (first, rest): (Vec<&Victim>, Vec<&Victim>) =
        victims.iter().partition(|victim| kinds.insert(victim.held.thing.kind.as_ref()));
    first.into_iter().chain(rest).take(most).collect()
}

/// `Pod 12, PersistentVolumeClaim 2 in all`
fn kinds(victims: &[Victim]) -> String {
    let mut counts = BTreeMap::<&str, usize>::new();
    for victim in victims {
        *counts.entry(victim.held.thing.kind.as_ref()).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    format!("{} in all", counts.join(", "))
}

/// A chain as boxes. Between the node and what is on it stands the gate at which its kubelet waits.
fn boxes<'c>(chain: impl IntoIterator<Item = &'c Link>, gate: Option<Gate>) -> Vec<Block> {
    let chain: Vec<&Link> = chain.into_iter().collect();
    let block = |link: &&Link| Block {
        label: link.subject.clone(),
        state: link.state.clone(),
        shape: if matches!(link.what, Some(Entity::Object { .. })) { Shape::Object } else { Shape::OnNode },
        is_root: link.root,
    };
    let mut boxes: Vec<Block> = chain.iter().map(block).collect();
    let is_node = |link: &&Link| matches!(&link.what, Some(Entity::Object { kind, .. }) if kind == "Node");
    let below = chain.iter().rposition(is_node).map(|node| node + 1).filter(|below| *below < chain.len());
    if let Some((gate, below)) = gate.zip(below) {
        let state = "the kubelet's first condition that is not met".to_owned();
        boxes.insert(below, Block { label: format!("gate {gate}"), state, shape: Shape::OnNode, is_root: false });
    }
    boxes
}

/// The same with its middle left out, if it is long.
fn shortened(mut chain: Vec<Block>) -> Vec<Block> {
    if chain.len() > MAX_CHAIN_BOXES {
        let (above, below) = (MAX_CHAIN_BOXES / 2, MAX_CHAIN_BOXES - 1 - MAX_CHAIN_BOXES / 2);
        let label = format!("{} steps", chain.len() - above - below);
        let middle = Block { label, state: String::new(), shape: Shape::More, is_root: false };
        chain.splice(above..chain.len() - below, [middle]);
    }
    chain
}

/// Blocks by how far they are from the root, and what waits for what.
#[derive(Default)]
struct Layers {
    blocks: Vec<Block>,
    height: Vec<usize>,
    waits: BTreeSet<(usize, usize)>,
}

impl Layers {
    fn add(&mut self, chain: &[Block]) {
        let mut below = None;
        for (height, block) in chain.iter().rev().enumerate() {
            // Whether two hidden ones are the same is unknown; at the same height they look the same.
            let same = |(known, at): (&Block, &usize)| {
                known.label == block.label
                    && known.shape == block.shape
                    && (known.shape != Shape::OnNode || *at == height)
            };
            let index = self.blocks.iter().zip(&self.height).position(same).unwrap_or_else(|| {
                self.blocks.push(block.clone());
                self.height.push(height);
                self.blocks.len() - 1
            });
            self.height[index] = self.height[index].max(height);
            if let Some(below) = below.filter(|below| *below != index && !self.waits.contains(&(*below, index))) {
                self.waits.insert((index, below));
            }
            below = Some(index);
        }
    }

    /// The highest on top; of one height in their order.
    fn diagram(self) -> Diagram {
        let mut order: Vec<usize> = (0..self.blocks.len()).collect();
        order.sort_by_key(|index| (std::cmp::Reverse(self.height[*index]), *index));
        let mut place = vec![0; order.len()];
        for (row, index) in order.iter().enumerate() {
            place[*index] = row;
        }
        let mut arrows: Vec<Arrow> = self
            .waits
            .iter()
            .map(|(from, to)| (place[*from], place[*to]))
            .filter(|(from, to)| from < to)
            .map(|(from, to)| Arrow { from, to, lane: None })
            .collect();
        arrows.sort();
        Diagram { blocks: order.into_iter().map(|index| self.blocks[index].clone()).collect(), arrows }
    }
}

impl Diagram {
    /// Puts a block before another, for which it waits.
    fn insert(&mut self, at: usize, block: Block) {
        for arrow in &mut self.arrows {
            arrow.from += usize::from(arrow.from >= at);
            arrow.to += usize::from(arrow.to >= at);
        }
        self.blocks.insert(at, block);
        if at + 1 < self.blocks.len() {
            self.arrows.push(Arrow { from: at, to: at + 1, lane: None });
        }
        self.arrows.sort();
    }

    /// Arrows that pass other blocks go beside them, each where no other is.
    fn lanes(&mut self) {
        let mut taken: Vec<usize> = Vec::new();
        for arrow in self.arrows.iter_mut().filter(|arrow| arrow.to > arrow.from + 1) {
            let free = taken.iter().position(|until| *until <= arrow.from);
            let lane = free.unwrap_or_else(|| {
                taken.push(0);
                taken.len() - 1
            });
            taken[lane] = arrow.to;
            arrow.lane = Some(lane);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use aggregator_core::report::Held;
    use aggregator_core::state::ObjectRef;
    use findings::{CauseRef, Confidence, Finding, Remedy, Values, Verdict, cause};
    use proptest::prelude::*;

    use super::*;

    pub fn link(subject: &str) -> Link {
        let what = subject.split_once(' ').filter(|(kind, _)| kind.chars().next().is_some_and(char::is_uppercase));
        let what = what.map(|(kind, name)| Entity::object(kind, "", name));
        Link { what, ..Link::new(subject.to_owned(), "Terminating") }
    }

    /// A root that holds what these chains begin with.
    pub fn root(chains: &[&[&str]]) -> Root {
        let cause = cause::all().next().unwrap();
        let chain = |subjects: &[&str]| {
            let mut links: Vec<Link> = subjects.iter().map(|subject| link(subject)).collect();
            links.last_mut().unwrap().root = true;
            links
        };
        let held = |subjects: &[&str]| Held {
            thing: ObjectRef::pod("shop", subjects[0]),
            verdict: Verdict::Stuck,
            overdue_seconds: Some(60),
            words: String::new(),
            keeps: None,
            reads: aggregator_core::access::Reads::default(),
        };
        let finding = Finding {
            cause: CauseRef(cause),
            gate: None,
            confidence: Confidence::Proven,
            missing: None,
            must_end_too: None,
            chain: chain(chains[0]),
            evidence: Vec::new(),
            remedy: Remedy::fill(cause, &Values::new()),
            values: Values::new(),
            root: "root".to_owned(),
        };
        Root {
            id: findings::RootId::new("root"),
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
            look_on: None,
            victims: chains
                .iter()
                .map(|one| {
                    let chain = chain(one).into_iter().map(Arc::new).collect();
                    Victim { held: held(one), cause: CauseRef(cause), gate: None, chain, nodes: Vec::new() }
                })
                .collect(),
            on_the_way: Vec::new(),
            behind: Vec::new(),
            reads: aggregator_core::access::Reads::default(),
        }
    }

    fn labels(picture: &Diagram) -> Vec<&str> {
        picture.blocks.iter().map(|block| block.label.as_str()).collect()
    }

    #[test]
    fn what_waits_stands_above_what_it_waits_for() {
        let chains: [&[&str]; 2] =
            [&["Namespace shop", "Pod a", "Node n", "mount /mnt"], &["Pod b", "Node n", "mount /mnt"]];
        let picture = diagram(&root(&chains));
        assert_eq!(labels(&picture), ["Namespace shop", "Pod a", "Pod b", "Node n", "mount /mnt"]);
        let arrows: Vec<(usize, usize)> = picture.arrows.iter().map(|arrow| (arrow.from, arrow.to)).collect();
        assert_eq!(arrows, [(0, 1), (1, 3), (2, 3), (3, 4)]);
        assert_eq!(picture.arrows[1].lane, Some(0), "it passes Pod b");
        assert!(picture.blocks[4].is_root);
    }

    #[test]
    fn the_gate_stands_between_the_node_and_what_is_on_it() {
        let gated = |chains: &[&[&str]]| {
            let mut root = root(chains);
            root.finding.gate = Some(Gate::VolumesUnmounted);
            diagram(&root)
        };
        let whole = gated(&[&["Namespace shop", "Pod a", "Node n", "container c", "pid 1", "mount /mnt", "pid 2"]]);
        let gate = "gate VolumesUnmounted";
        let expected = ["Namespace shop", "Pod a", "Node n", gate, "container c", "pid 1", "mount /mnt", "pid 2"];
        assert_eq!(labels(&whole), expected);
        assert_eq!(labels(&gated(&[&["Pod a", "Node n"]])), ["Pod a", "Node n"], "nothing on the node is known");
        let shared = gated(&[&["Pod a", "Node n", "mount /mnt"], &["Pod b", "Node n", "mount /mnt"]]);
        assert_eq!(labels(&shared), ["Pod a", "Pod b", "Node n", gate, "mount /mnt"]);
    }

    #[test]
    fn many_victims_are_a_count() {
        let names: Vec<String> = (0..2000).map(|n| format!("Pod {n}")).collect();
        let chains: Vec<[&str; 2]> = names.iter().map(|name| [name.as_str(), "Node n"]).collect();
        let chains: Vec<&[&str]> = chains.iter().map(<[&str; 2]>::as_slice).collect();
        let picture = diagram(&root(&chains));
        assert_eq!(labels(&picture), ["Pod 0", "Pod 1", "Pod 2", "Pod 3", "1996 more", "Node n"]);
        assert_eq!(picture.blocks[4].state, "Pod 2000 in all");
        assert!(picture.arrows.iter().any(|arrow| (arrow.from, arrow.to) == (4, 5)));
    }

    proptest! {
        #[test]
        fn every_picture_is_small_and_every_arrow_points_down(
            chains in prop::collection::vec(prop::collection::vec(0..12_u8, 1..14), 1..30)
        ) {
            let names: Vec<Vec<String>> =
                chains.iter().map(|chain| chain.iter().map(|n| format!("Pod {n}")).collect()).collect();
            let chains: Vec<Vec<&str>> =
                names.iter().map(|chain| chain.iter().map(String::as_str).collect()).collect();
            let chains: Vec<&[&str]> = chains.iter().map(Vec::as_slice).collect();
            let picture = diagram(&root(&chains));
            prop_assert!((1..=MAX_BOXES).contains(&picture.blocks.len()), "{picture:?}");
            for arrow in &picture.arrows {
                prop_assert!(arrow.from < arrow.to && arrow.to < picture.blocks.len());
                prop_assert_eq!(arrow.lane.is_some(), arrow.to > arrow.from + 1);
            }
            let lanes: Vec<&Arrow> = picture.arrows.iter().filter(|arrow| arrow.lane.is_some()).collect();
            for (index, one) in lanes.iter().enumerate() {
                for other in &lanes[index + 1..] {
                    let meet = one.from < other.to && other.from < one.to;
                    prop_assert!(!meet || one.lane != other.lane);
                }
            }
        }
    }
}
