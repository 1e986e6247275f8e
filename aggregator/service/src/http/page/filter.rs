//! Which roots the filter of the page finds: every word must match. `ns:`, `node:` and `kind:` narrow where a word is searched.

use aggregator_core::report::{Held, Root};
use aggregator_core::state::ObjectRef;
use findings::Entity;

use super::root_card::card_words;

/// A longer filter is cut.
const MAX_FILTER_CHARS: usize = 200;

/// What one word is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Text,
    Namespace,
    Node,
    Kind,
}

/// The words that were typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter(Vec<(Field, String)>);

impl Filter {
    pub fn new(typed: &str) -> Filter {
        let typed: String = typed.to_lowercase().chars().take(MAX_FILTER_CHARS).collect();
        let field = |word: &str| {
            let fields = [("ns:", Field::Namespace), ("node:", Field::Node), ("kind:", Field::Kind)];
            let narrow = fields.iter().find_map(|(prefix, field)| Some((*field, word.strip_prefix(prefix)?)));
            let (field, rest) = narrow.unwrap_or((Field::Text, word));
            (field, rest.to_owned())
        };
        Filter(typed.split_whitespace().map(field).filter(|(_, word)| !word.is_empty()).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a root matches by itself, by its chains or by what it holds.
    pub fn finds_root(&self, root: &Root) -> bool {
        self.0.iter().all(|(field, word)| finds_in_root(*field, word, root))
    }

    /// Whether an object without a root matches.
    pub fn finds_held(&self, held: &Held) -> bool {
        let is_said = |field: Field, word: &str| field == Field::Text && held.words.to_lowercase().contains(word);
        self.0.iter().all(|(field, word)| finds_in_object(*field, word, &held.thing) || is_said(*field, word))
    }
}

fn finds_in_root(field: Field, word: &str, root: &Root) -> bool {
    let cause = root.finding.cause;
    let has = |text: &str| text.to_lowercase().contains(word);
    let by_itself = match field {
        Field::Text => has(cause.id) || has(&root.id.to_string()) || card_words(root).iter().any(|words| has(words)),
        Field::Node => {
            let nodes = root.victims.iter().flat_map(|victim| &victim.nodes);
            nodes.map(AsRef::as_ref).chain(root.node()).any(has)
        }
        Field::Namespace | Field::Kind => false,
    };
    let victims = root.victims.iter().map(|victim| &victim.held.thing);
    by_itself
        || victims.chain(&root.on_the_way).any(|object| finds_in_object(field, word, object))
        || root.links().any(|link| match field {
            Field::Text => has(&link.subject),
            _ => link.what.as_ref().is_some_and(|entity| finds_in_entity(field, word, entity)),
        })
}

fn finds_in_object(field: Field, word: &str, object: &ObjectRef) -> bool {
    let has = |text: &str| text.to_lowercase().contains(word);
    match field {
        Field::Text => has(&object.to_string()),
        Field::Kind => has(&object.kind) || has(&object.resource.plural),
        _ => finds_place(field, word, &object.kind, object.namespace.as_deref(), &object.name),
    }
}

fn finds_in_entity(field: Field, word: &str, entity: &Entity) -> bool {
    match entity {
        Entity::Object { kind, .. } if field == Field::Kind => kind.to_lowercase().contains(word),
        Entity::Object { kind, namespace, name } => finds_place(field, word, kind, namespace.as_deref(), name),
        _ => false,
    }
}

/// A Namespace is in itself, a Node on itself.
fn finds_place(field: Field, word: &str, kind: &str, namespace: Option<&str>, name: &str) -> bool {
    let place = match (field, kind) {
        (Field::Namespace, "Namespace") | (Field::Node, "Node") => Some(name),
        (Field::Namespace, _) => namespace,
        _ => None,
    };
    place.is_some_and(|place| place.to_lowercase().contains(word))
}

#[cfg(test)]
mod tests {
    use super::super::chain_diagram::tests::root;
    use super::*;

    #[test]
    fn a_pod_is_found_by_its_node() {
        let mut root = root(&[&["PersistentVolumeClaim data", "Pod a"]]);
        assert!(!Filter::new("node:worker").finds_root(&root));
        root.victims[0].nodes.push("Worker-7".into());
        assert!(Filter::new("node:worker").finds_root(&root) && !Filter::new("node:other").finds_root(&root));
    }

    #[test]
    fn what_stands_on_the_card_is_found() {
        let mut root = root(&[&["ConfigMap shop/cfg-17"]]);
        root.finalizer = Some("op17.example.com/cleanup".to_owned());
        root.finding.confidence = findings::Confidence::Probable;
        for typed in ["op17", "cfg-17 · op17.example.com/cleanup", "probable", "stuck", root.finding.cause.title] {
            assert!(Filter::new(typed).finds_root(&root), "{typed}");
        }
    }

    #[test]
    fn each_word_narrows() {
        let root = root(&[&["Pod a", "Node worker-7"]]);
        let finds = |typed: &str| Filter::new(typed).finds_root(&root);
        for typed in ["", "  ", "WORKER", "worker-7 a", "node:worker", "kind:pod", "kind:pods", "ns:shop", "ns: a"] {
            assert!(finds(typed), "{typed}");
        }
        for typed in ["other", "worker other", "node:shop", "ns:worker", "kind:claim", "ns:shop node:other"] {
            assert!(!finds(typed), "{typed}");
        }
    }
}
