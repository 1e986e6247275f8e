//! Parts of answers that would have no bound: what pods' authors write, and what a false runtime sends.

use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, check_wire_type, decode_varint, message, skip_field, string};
use prost::{DecodeError, Message};

/// The keys of `staging/src/k8s.io/kubelet/pkg/types/labels.go` and `kuberuntime/labels.go` that are used, and where a
/// runtime puts the pid.
pub mod key {
    /// Label: the pod's uid.
    pub const POD_UID: &str = "io.kubernetes.pod.uid";
    /// Label: the pod's namespace.
    pub const POD_NAMESPACE: &str = "io.kubernetes.pod.namespace";
    /// Label: the pod's name.
    pub const POD_NAME: &str = "io.kubernetes.pod.name";
    /// Label: the container's name in the pod.
    pub const CONTAINER_NAME: &str = "io.kubernetes.container.name";
    /// Annotation of containers: the grace period in seconds.
    pub const GRACE_PERIOD: &str = "io.kubernetes.pod.terminationGracePeriod";
    /// Annotation of containers that have a preStop hook.
    pub const PRE_STOP: &str = "io.kubernetes.container.preStopHandler";
    /// Annotation of sandboxes: `api`, `file` or `http`.
    pub const CONFIG_SOURCE: &str = "kubernetes.io/config.source";
    /// Of a verbose answer: JSON that holds the pid.
    pub const INFO: &str = "info";

    pub(super) const ALL: &[&str] =
        &[POD_UID, POD_NAMESPACE, POD_NAME, CONTAINER_NAME, GRACE_PERIOD, PRE_STOP, CONFIG_SOURCE, INFO];
}

/// The pairs of a map whose keys are used; any other is passed over. Encoded, all pairs are one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    pairs: Vec<(&'static str, String)>,
    is_key_used: bool,
}

impl Pairs {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().rfind(|(own, _)| *own == key).map(|(_, value)| value.as_str())
    }
}

impl<'a> FromIterator<(&'a str, String)> for Pairs {
    fn from_iter<I: IntoIterator<Item = (&'a str, String)>>(pairs: I) -> Self {
        let used = |(key, value)| Some((*key::ALL.iter().find(|used| **used == key)?, value));
        Pairs { pairs: pairs.into_iter().filter_map(used).collect(), is_key_used: false }
    }
}

impl Message for Pairs {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        for (key, value) in &self.pairs {
            string::encode(1, &(*key).to_owned(), buf);
            string::encode(2, value, buf);
        }
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        match (tag, self.pairs.last_mut()) {
            (1, _) => {
                let mut key = String::new();
                string::merge(wire_type, &mut key, buf, ctx)?;
                let used = key::ALL.iter().find(|used| **used == key);
                self.is_key_used = used.is_some();
                self.pairs.extend(used.map(|key| (*key, String::new())));
                Ok(())
            }
            (2, Some((_, value))) if self.is_key_used => string::merge(wire_type, value, buf, ctx),
            _ => skip_field(wire_type, tag, buf, ctx),
        }
    }

    fn encoded_len(&self) -> usize {
        let lengths =
            |(key, value): &(&str, String)| string::encoded_len(1, &(*key).to_owned()) + string::encoded_len(2, value);
        self.pairs.iter().map(lengths).sum()
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

/// All that is kept of a list; a thousand containers need one of these.
const MAX_LIST_BYTES: usize = 4 << 20;

/// An item has the annotations of one pod, of which the API server allows a quarter of this.
const MAX_ITEM_BYTES: usize = 1 << 20;

#[expect(deprecated, reason = "no other way to make one is public")]
fn error(why: String) -> DecodeError {
    DecodeError::new(why)
}

/// The items of a list, which is refused when they need too many bytes: an item of two bytes becomes one of hundreds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List<T> {
    /// In no particular order.
    pub items: Vec<T>,
    bytes: usize,
}

impl<T: Message + Default> Message for List<T> {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        message::encode_repeated(1, &self.items, buf);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        if tag != 1 {
            return skip_field(wire_type, tag, buf, ctx);
        }
        check_wire_type(WireType::LengthDelimited, wire_type)?;
        let bytes = usize::try_from(decode_varint(buf)?).unwrap_or(usize::MAX);
        if bytes > MAX_ITEM_BYTES.min(buf.remaining()) {
            return Err(error(format!("an item has more than {MAX_ITEM_BYTES} bytes, or fewer than it should")));
        }
        let item = T::decode(Buf::take(buf, bytes))?;
        self.bytes += size_of::<T>() + item.encoded_len();
        if self.bytes > MAX_LIST_BYTES {
            return Err(error(format!("the list needs more than {MAX_LIST_BYTES} bytes")));
        }
        self.items.push(item);
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        message::encoded_len_repeated(1, &self.items)
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Container, PodSandbox};

    fn field(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag << 3 | 2];
        prost::encode_length_delimiter(content.len(), &mut bytes).unwrap();
        [bytes.as_slice(), content].concat()
    }

    #[test]
    fn of_a_map_what_is_used_is_kept() {
        let entry = |key: &str, value: &str| [field(1, key.as_bytes()), field(2, value.as_bytes())].concat();
        let many = (0..1000).map(|key| field(8, &entry(&key.to_string(), "x"))).collect::<Vec<_>>().concat();
        let entries = [field(8, &entry("io.kubernetes.pod.uid", "u")), many, field(9, &field(1, b"other"))].concat();
        let pre_stop = field(9, &field(1, key::PRE_STOP.as_bytes()));
        let container = Container::decode([entries, pre_stop].concat().as_slice()).unwrap();
        assert_eq!(container.labels, Pairs::from_iter([(key::POD_UID, "u".to_owned())]));
        assert_eq!((container.annotations.get(key::PRE_STOP), container.annotations.pairs.len()), (Some(""), 1));
        let container = Container::decode(container.encode_to_vec().as_slice()).unwrap();
        assert_eq!(container.labels.get(key::POD_UID), Some("u"), "it passes through the broker");
    }

    #[test]
    fn a_list_has_a_bound() {
        let empty = field(1, b"");
        assert_eq!(List::<Container>::decode(empty.repeat(1000).as_slice()).unwrap().items.len(), 1000);
        assert!(List::<Container>::decode(empty.repeat(100_000).as_slice()).is_err());
        let long = |bytes: usize| field(1, &field(1, "x".repeat(bytes).as_bytes()));
        let sandboxes = |bytes: &[u8]| List::<PodSandbox>::decode(bytes).map(|list| list.items.len()).ok();
        assert_eq!(sandboxes(&long(MAX_ITEM_BYTES / 2).repeat(2)), Some(2));
        assert_eq!(sandboxes(&long(MAX_ITEM_BYTES / 2).repeat(10)), None);
        assert_eq!(sandboxes(&long(MAX_ITEM_BYTES)), None);
        assert_eq!(sandboxes(&[0x0a, 3, 0]), None, "it is cut");
    }
}
