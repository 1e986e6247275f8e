//! The name of an Event says what it is about, so that a restarted agent goes on with its own.

use sha2::{Digest, Sha256};

use crate::{Finding, PodUid};

/// A longer node name is shortened to this many bytes; names have at most 253.
const MAX_NODE: usize = 200;
/// Bytes of the hash that are shown, in hexadecimal twice as many characters.
const HASH_BYTES: usize = 8;
/// Of a salt as many.
const SALT_BYTES: usize = 4;

/// Whom a finding holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subjects<'a> {
    Pod(&'a PodUid),
    /// All pods of the node with the same root, or the node itself.
    Node,
}

/// `metadata.name` of the Warning that reports a finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventName(String);

impl EventName {
    /// The node and a hash of everything that the immutable part of the Event says: the Node's uid,
    /// the pod, the gate, the cause and its root. Two volumes of one pod, held by two processes,
    /// are two Events; a Node made anew under its old name gets Events of its own.
    pub fn new(node: &str, node_uid: &str, subjects: Subjects, finding: &Finding) -> Self {
        let pod = match subjects {
            Subjects::Pod(uid) => uid.as_str(),
            Subjects::Node => "",
        };
        let gate = finding.gate.map_or("", |gate| gate.as_str());
        let mut hash = Sha256::new();
        for part in [node, node_uid, pod, gate, finding.cause.id, &finding.root] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        EventName(format!("{}.{}", short(node), hex(&hash.finalize()[..HASH_BYTES])))
    }

    /// Another name for the same Event, for when another program has taken the first. Without `secret` this one cannot be
    /// predicted, whatever salts were seen before.
    pub fn salted(&self, secret: u64, attempt: u32) -> EventName {
        let mut hash = Sha256::new();
        hash.update(secret.to_le_bytes());
        hash.update(attempt.to_le_bytes());
        hash.update(self.0.as_bytes());
        EventName(format!("{}-{}", self.0, hex(&hash.finalize()[..SALT_BYTES])))
    }

    /// Whether `other` is this name, or this name salted.
    pub fn is_base_of(&self, other: &EventName) -> bool {
        let is_salt = |salt: &str| salt.len() == 2 * SALT_BYTES && salt.bytes().all(|byte| byte.is_ascii_hexdigit());
        other.0.strip_prefix(&self.0).is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(is_salt))
    }

    /// The name of an Event that was read from the API server.
    pub fn read(name: &str) -> Self {
        EventName(name.to_owned())
    }

    /// The name of the Normal event that ends it. It contains since when it held, because the same finding may come back,
    /// and a second note cannot replace the first.
    pub fn end_name(&self, since_s: i64) -> EventName {
        EventName(format!("{}.{since_s:x}", self.0))
    }

    /// As in `metadata.name`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for EventName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Node names are DNS subdomains; what is not is made one, because an invalid name would lose the
/// Event.
fn short(node: &str) -> String {
    let safe = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c) { c } else { '-' };
    let mut name: String = node.to_ascii_lowercase().chars().take(MAX_NODE).map(safe).collect();
    let is_edge = |c: char| !c.is_ascii_alphanumeric();
    name = name.trim_matches(is_edge).to_owned();
    if name.is_empty() { "node".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::note::tests::sample;

    const UID: &str = "96fb425e-919e-44f9-8b42-b1254a602ba1";

    #[test]
    fn it_is_the_same_for_the_same_finding_and_another_for_another() {
        let uid = PodUid::parse(UID).unwrap();
        let finding = sample();
        let name = |node_uid: &str, subjects, finding: &Finding| EventName::new("node-7", node_uid, subjects, finding);
        let one = name("u", Subjects::Pod(&uid), &finding);
        assert_eq!(one, name("u", Subjects::Pod(&uid), &finding.clone()));
        assert_ne!(one, name("v", Subjects::Pod(&uid), &finding));
        assert_ne!(one, name("u", Subjects::Node, &finding));
        let other = Finding { root: "x".to_owned(), ..finding };
        assert_ne!(one, name("u", Subjects::Pod(&uid), &other));
    }

    #[test]
    fn a_salt_is_known_for_one_and_tells_nothing_of_the_next() {
        let name = EventName::new("node-7", "u", Subjects::Node, &sample());
        let salted = name.salted(7, 1);
        assert!(name.is_base_of(&name) && name.is_base_of(&salted) && !salted.is_base_of(&name));
        assert!(name.end_name(1).is_base_of(&name.end_name(1).salted(7, 1)) && !name.is_base_of(&name.end_name(1)));
        assert!([name.salted(8, 1), name.salted(7, 2)].iter().all(|other| *other != salted));
        assert!(!name.is_base_of(&EventName::read(&format!("{name}-mine"))));
    }

    #[test]
    fn it_is_a_dns_subdomain() {
        for node in ["node-7", "Node_7", "", &"n".repeat(253), "-.x.-"] {
            let name =
                EventName::new(node, "u", Subjects::Node, &sample()).salted(7, 1).end_name(i64::MAX).salted(7, 1);
            let text = name.as_str();
            assert!(text.len() <= 253, "{text}");
            let labels = text.split('.').all(|label| {
                let ends = [label.chars().next(), label.chars().last()];
                ends.iter().all(|c| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit()))
            });
            assert!(labels, "{text}");
        }
    }
}
