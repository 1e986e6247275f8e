//! What waits for what.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnosis::Diagnosis;
use crate::state::ObjectRef;

/// Everything that was looked into.
#[derive(Default)]
pub struct Graph {
    /// What the user asked about, or all that should be gone.
    pub victims: Vec<Node>,
    /// What is known of each object.
    objects: Vec<(ObjectRef, Arc<Diagnosis>)>,
    numbers: HashMap<ObjectRef, Node>,
    /// What each waits for, of what was looked into.
    waits_for: Vec<Vec<Node>>,
    /// What could not be looked at and belongs to no object.
    pub about: Diagnosis,
    /// The kinds that were looked at for something that is being deleted.
    pub looked_at: Vec<String>,
    /// Whether there was more than could be looked into.
    pub cut: bool,
}

/// An object of a graph: names are compared once, when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(usize);

impl Graph {
    /// How many objects were looked into.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Adds what is known of one.
    pub fn add(&mut self, object: ObjectRef, diagnosis: Arc<Diagnosis>) -> Node {
        let node = Node(self.objects.len());
        self.numbers.insert(object.clone(), node);
        self.objects.push((object, diagnosis));
        node
    }

    /// Where an object stands, if it was looked into.
    pub fn find(&self, object: &ObjectRef) -> Option<Node> {
        self.numbers.get(object).copied()
    }

    /// When all are there: who waits for whom.
    pub fn connect(&mut self) {
        let nodes_of = |diagnosis: &Diagnosis| diagnosis.waits_for.iter().filter_map(|next| self.find(next)).collect();
        self.waits_for = self.objects.iter().map(|(_, diagnosis)| nodes_of(diagnosis)).collect();
    }

    /// All objects.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.objects.len()).map(Node)
    }

    /// Its name.
    pub fn object(&self, node: Node) -> &ObjectRef {
        &self.objects[node.0].0
    }

    /// What is known of it.
    pub fn diagnosis(&self, node: Node) -> &Diagnosis {
        &self.objects[node.0].1
    }

    /// The same, to be changed: what others keep of it stays as it is.
    pub fn diagnosis_mut(&mut self, node: Node) -> &mut Diagnosis {
        Arc::make_mut(&mut self.objects[node.0].1)
    }

    /// What it waits for.
    pub fn waits_for(&self, node: Node) -> &[Node] {
        &self.waits_for[node.0]
    }

    /// The same objects, with what is known of them.
    pub fn way(&self, nodes: &[Node]) -> Vec<(&ObjectRef, &Diagnosis)> {
        nodes.iter().map(|node| (self.object(*node), self.diagnosis(*node))).collect()
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
