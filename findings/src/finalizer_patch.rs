//! The one change of an object that a step may ask for: it takes one finalizer off, and nothing else.
//!
//! The API server refuses it if another object has the name by now, or another finalizer that place in the list. A
//! `resourceVersion` would guard it too, and objects that are written all the time outrun that.

use serde::{Deserialize, Serialize};

/// What a finalizer may consist of, and a uid: both stand between quotes.
const OTHERS: &str = "-._/:";
const MAX_BYTES: usize = 400;

#[derive(Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Operation {
    op: String,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    value: Option<String>,
}

const OF_METADATA: &str = "/metadata/finalizers/";
const OF_SPEC: &str = "/spec/finalizers/";

/// The JSON patch that takes the finalizer at this place off the object with this uid.
pub fn finalizer_patch(uid: &str, index: usize, finalizer: &str) -> String {
    removal(OF_METADATA, uid, index, finalizer)
}

/// The same of an entry of a namespace's `spec.finalizers`.
pub fn spec_finalizer_patch(uid: &str, index: usize, finalizer: &str) -> String {
    removal(OF_SPEC, uid, index, finalizer)
}

fn removal(list: &str, uid: &str, index: usize, finalizer: &str) -> String {
    let at = format!("{list}{index}");
    let one = |op: &str, path: &str, value: Option<&str>| Operation {
        op: op.to_owned(),
        path: path.to_owned(),
        value: value.map(str::to_owned),
    };
    let all = [one("test", "/metadata/uid", Some(uid)), one("test", &at, Some(finalizer)), one("remove", &at, None)];
    serde_json::to_string(&all).unwrap_or_default()
}

pub(crate) fn is_finalizer_patch(value: &str) -> bool {
    is_removal(OF_METADATA, value)
}

pub(crate) fn is_spec_finalizer_patch(value: &str) -> bool {
    is_removal(OF_SPEC, value)
}

fn is_removal(list: &str, value: &str) -> bool {
    let Ok([uid, finalizer, removal]) = serde_json::from_str::<[Operation; 3]>(value) else { return false };
    let (Some(uid), Some(name)) = (uid.value, finalizer.value) else { return false };
    let index = removal.path.strip_prefix(list).and_then(|index| index.parse().ok());
    let is_word = |word: &str| {
        !word.is_empty()
            && word.len() <= MAX_BYTES
            && word.chars().all(|c| c.is_ascii_alphanumeric() || OTHERS.contains(c))
    };
    is_word(&uid) && is_word(&name) && index.is_some_and(|index| self::removal(list, &uid, index, &name) == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_takes_one_finalizer_off_is_one() {
        let patch = finalizer_patch("96fb425e-919e", 1, "example.com/hold");
        assert_eq!(
            patch,
            r#"[{"op":"test","path":"/metadata/uid","value":"96fb425e-919e"},"#.to_owned()
                + r#"{"op":"test","path":"/metadata/finalizers/1","value":"example.com/hold"},"#
                + r#"{"op":"remove","path":"/metadata/finalizers/1"}]"#
        );
        assert!(is_finalizer_patch(&patch) && !is_spec_finalizer_patch(&patch));
        assert!(is_spec_finalizer_patch(&spec_finalizer_patch("96fb425e-919e", 1, "openshift.io/origin")));
        for other in [
            "[]",
            r#"[{"op":"remove","path":"/metadata/finalizers"}]"#,
            &patch.replace("\"test\"", "\"add\""),
            &patch.replace("/finalizers/1\"}", "/finalizers/0\"}"),
            &patch.replace("/metadata/finalizers", "/spec/finalizers"),
            &finalizer_patch("", 0, "a/b"),
            &finalizer_patch("96fb", 0, "a'; kubectl delete"),
        ] {
            assert!(!is_finalizer_patch(other), "{other}");
        }
    }
}
