//! What waits for what.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::diagnosis::{Diagnosis, Explained, RootCause};
use crate::report::NotScanned;
use crate::state::ObjectRef;
use foldhash::HashMap;

/// Everything that was looked into.
#[derive(Default)]
pub struct Graph {
    /// What the user asked about, or all that should be gone.
    pub victims: Vec<Node>,
    objects: Vec<Arc<Explained>>,
    numbers: HashMap<Named, Node>,
    /// What each waits for, of what was looked into.
    waits_for: Vec<Vec<Node>>,
    /// What could not be looked at and belongs to no object.
    pub about: Diagnosis,
    /// The kinds that were scanned for something that is being deleted.
    pub scanned: Vec<String>,
    pub not_scanned: Vec<NotScanned>,
    /// Whether there was more than could be looked into.
    pub cut: bool,
}

/// An object of a graph: names are compared once, when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(usize);

/// What is found by its name.
#[derive(Debug)]
pub(crate) struct Named(pub(crate) Arc<Explained>);

impl Borrow<ObjectRef> for Named {
    fn borrow(&self) -> &ObjectRef {
        &self.0.object
    }
}

impl Hash for Named {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.object.hash(state);
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.0.object == other.0.object
    }
}

impl Eq for Named {}

impl Graph {
    /// Of about so many objects.
    pub fn with_capacity(objects: usize) -> Self {
        Graph {
            objects: Vec::with_capacity(objects),
            numbers: HashMap::with_capacity_and_hasher(objects, Default::default()),
            waits_for: Vec::with_capacity(objects),
            ..Graph::default()
        }
    }

    /// How many objects were looked into.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Adds what is known of one.
    pub fn add(&mut self, explained: Arc<Explained>) -> Node {
        let node = Node(self.objects.len());
        self.numbers.insert(Named(Arc::clone(&explained)), node);
        self.objects.push(explained);
        self.waits_for.push(Vec::new());
        node
    }

    /// Where an object stands, if it was looked into.
    pub fn find(&self, object: &ObjectRef) -> Option<Node> {
        self.numbers.get(object).copied()
    }

    pub fn connect(&mut self, node: Node, waits_for: Vec<Node>) {
        self.waits_for[node.0] = waits_for;
    }

    /// All objects, in the order in which they were added.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.objects.len()).map(Node)
    }

    /// Those that were added after so many.
    pub fn nodes_from(&self, count: usize) -> impl Iterator<Item = Node> + use<> {
        (count..self.objects.len()).map(Node)
    }

    pub fn object(&self, node: Node) -> &ObjectRef {
        &self.objects[node.0].object
    }

    /// What is known of it.
    pub fn diagnosis(&self, node: Node) -> &Diagnosis {
        &self.objects[node.0].diagnosis
    }

    /// Both.
    pub fn explained(&self, node: Node) -> &Arc<Explained> {
        &self.objects[node.0]
    }

    /// One more cause was found at it: what others keep of it stays as it is.
    pub fn add_cause(&mut self, node: Node, cause: RootCause) {
        self.objects[node.0] = Arc::new(self.objects[node.0].with(cause));
    }

    pub fn waits_for(&self, node: Node) -> &[Node] {
        &self.waits_for[node.0]
    }

    /// What waits for each.
    pub fn above(&self) -> Marks<Vec<Node>> {
        let mut above: Marks<Vec<Node>> = self.marks(Vec::new());
        for node in self.nodes() {
            self.waits_for(node).iter().for_each(|next| above[*next].push(node));
        }
        above
    }

    /// The circles of waiting: each object is in one with all that it waits for, near or far, and that waits for it. They are
    /// counted so that an object waits only for those of the same or of an earlier one.
    pub fn circles(&self) -> Marks<usize> {
        let (mut found, above) = (self.marks(usize::MAX), self.above());
        let mut count = 0;
        // Kosaraju's algorithm, without recursion: a tenant may make a chain of thousands.
        for start in self.finished_last_first(&above) {
            if found[start] != usize::MAX {
                continue;
            }
            let mut waiting = vec![start];
            while let Some(node) = waiting.pop() {
                if std::mem::replace(&mut found[node], count) == usize::MAX {
                    waiting.extend(self.waits_for(node).iter().filter(|next| found[**next] == usize::MAX));
                }
            }
            count += 1;
        }
        found
    }

    /// All objects in the reverse of the order in which a depth-first search along `next` leaves them.
    fn finished_last_first(&self, next: &Marks<Vec<Node>>) -> Vec<Node> {
        let (mut known, mut finished) = (self.marks(false), Vec::with_capacity(self.len()));
        for start in self.nodes() {
            let mut stack = vec![(start, 0)];
            while let Some((node, at)) = stack.pop() {
                if at == 0 && std::mem::replace(&mut known[node], true) {
                    continue;
                }
                match next[node].get(at) {
                    Some(below) => stack.extend([(node, at + 1), (*below, 0)]),
                    None => finished.push(node),
                }
            }
        }
        finished.reverse();
        finished
    }

    /// Room for something of each object.
    pub fn marks<T: Clone>(&self, value: T) -> Marks<T> {
        Marks(vec![value; self.objects.len()])
    }
}

/// Something of each object of a graph.
#[derive(Clone, Debug, Default)]
pub struct Marks<T>(Vec<T>);

impl<T> std::ops::Index<Node> for Marks<T> {
    type Output = T;

    fn index(&self, node: Node) -> &T {
        &self.0[node.0]
    }
}

impl<T> std::ops::IndexMut<Node> for Marks<T> {
    fn index_mut(&mut self, node: Node) -> &mut T {
        &mut self.0[node.0]
    }
}
