//! Names of objects in a sentence.

use std::sync::LazyLock;

use regex::Regex;

use super::{Message, pattern};

/// What must be gone or done first, in the words of any controller.
static FIRST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i-u)\b(?:wait\w*|delet\w*|remov\w*|exist\w*|depend\w*|remain\w*|still|first|in use|used by|bound|attached)\b",
    )
});

impl Message {
    /// Whether it holds this name, as a word of its own.
    pub fn names(&self, name: &str) -> bool {
        self.places(name).next().is_some()
    }

    /// Whether it says that an object of this name must be gone first. A name that may be an ordinary word counts between
    /// quotes or brackets.
    pub fn waits_for(&self, name: &str) -> bool {
        let is_telling = name.contains(|c: char| c == '-' || c.is_ascii_digit());
        let is_quoted = |before: char| matches!(before, '"' | '\'' | '[' | '`' | '/');
        FIRST.is_match(&self.0) && self.places(name).any(|before| is_telling || before.is_some_and(is_quoted))
    }

    /// Whether it says that something must be gone or done first.
    pub fn is_of_first(&self) -> bool {
        FIRST.is_match(&self.0)
    }

    /// Whether it speaks of objects of this kind, as people write it: `ServiceBinding`, `service bindings`, `bindings`.
    pub fn is_of_kind(&self, kind: &str) -> bool {
        let words = self.0.to_ascii_lowercase();
        let joined: String = words.chars().filter(|c| !matches!(c, ' ' | '-' | '_')).collect();
        let last = kind.rfind(|c: char| c.is_ascii_uppercase()).map_or(kind, |at| &kind[at..]).to_ascii_lowercase();
        let is_last = |word: &str| word.strip_prefix(&last).is_some_and(|end| matches!(end, "" | "s" | "es"));
        joined.contains(&kind.to_ascii_lowercase())
            || words.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| last.len() > 3 && is_last(word))
    }

    /// What stands before the name, each time that it is a word of its own.
    fn places<'m>(&'m self, name: &'m str) -> impl Iterator<Item = Option<char>> + use<'m> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let found = self.0.match_indices(name).filter(|_| !name.is_empty());
        found.filter_map(move |(at, _)| {
            let before = self.0[..at].chars().next_back();
            let mut after = self.0[at + name.len()..].chars();
            let next = after.next();
            // A full stop ends a sentence, not a name.
            let goes_on = match next {
                Some('.') => after.next().is_some_and(is_of_name),
                next => next.is_some_and(is_of_name),
            };
            (!goes_on && !before.is_some_and(|c| is_of_name(c) || c == '.')).then_some(before)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_word_of_its_own() {
        // flink-kubernetes-operator, sap-btp-service-operator, devworkspace-operator.
        let first = Message::from("The session jobs [job-a] should be deleted first");
        assert!(first.waits_for("job-a") && !first.waits_for("job") && !first.waits_for("session"));
        assert!(Message::from("binding \"main\" still exists").waits_for("main"));
        assert!(!Message::from("the main binding still exists").waits_for("main"));
        assert!(!Message::from("Connection refused: job-a").waits_for("job-a"), "nothing is waited for");
        let job = Message::from("failed to clean up: see logs for job cleanup-4a1b.");
        assert!(job.names("cleanup-4a1b") && !job.names("cleanup") && !job.names(""));
        assert!(!Message::from("https://job-a.example.com").names("job-a"));
    }

    #[test]
    fn a_kind_as_people_write_it() {
        for words in ["2 ServiceBindings exist", "there are service bindings", "the instance has bindings", "binding/x"]
        {
            assert!(Message::from(words).is_of_kind("ServiceBinding"), "{words}");
        }
        for words in ["service is in use", "rebinding", "bound"] {
            assert!(!Message::from(words).is_of_kind("ServiceBinding"), "{words}");
        }
    }
}
