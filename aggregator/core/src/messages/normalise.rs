//! The same words about different objects.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use findings::clean;

use crate::resource::ObjectRef;

/// A longer rest is distinguished by its hash.
const MAX_CHARS: usize = 160;

/// What is said, without what differs from object to object: its name and namespace, numbers, ids and times. Two
/// objects of which the same is said may be held by the same thing; two of which different things are said are not.
pub fn normalised(said: &str, about: &ObjectRef) -> String {
    let is_own = |word: &str| word == about.name || about.namespace.as_deref() == Some(word);
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut normal = String::new();
    let mut rest = said;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_of_word(c) != is_of_word(first)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        let word = part.trim_end_matches('.');
        match () {
            () if !is_of_word(first) => normal.push_str(part),
            () if is_own(word) => normal.push_str("{}"),
            () if part.contains(|c: char| c.is_ascii_digit()) => normal.push('#'),
            () => normal.push_str(part),
        }
        rest = after;
    }
    let short = clean(&normal, MAX_CHARS);
    if short == normal {
        return short;
    }
    let mut hasher = DefaultHasher::new();
    normal.hash(&mut hasher);
    format!("{short}{:x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_from_object_to_object_is_left_out() {
        let of = |name: &str, said: &str| normalised(said, &ObjectRef::pod("team", name));
        let empty =
            |name: &str| format!("delete {name} failed: BucketNotEmpty, request 4f2a-{name}1, tried 7 times in team.");
        assert_eq!(of("a", &empty("a")), of("b", &empty("b")));
        assert_eq!(of("a", &empty("a")), "delete {} failed: BucketNotEmpty, request #, tried # times in {}");
        assert_ne!(of("a", "delete failed: AccessDenied"), of("a", "delete failed: BucketNotEmpty"));
        assert_eq!(of("a", "not renewed for 10m"), of("a", "not renewed for 2d4h"));
        // The end of a long one counts too.
        let long = |end: &str| of("a", &format!("{} {end}", "word ".repeat(60)));
        assert_ne!(long("one"), long("other"));
        assert_eq!(long("one"), long("one"));
    }
}
