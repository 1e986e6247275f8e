//! Lines that say the same of several objects, as one line.

use findings::some;

/// Objects that one line names.
const MAX_NAMED: usize = 3;

/// Lines that say the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Of what, in the order they came.
    pub subjects: Vec<String>,
    /// What is said of each; the own name of each is `…`.
    pub words: String,
}

/// Merges lines that differ in their subject only. A subject is `Kind namespace/name`, `Kind name` or a path.
pub fn merged<'l>(lines: impl IntoIterator<Item = (&'l str, &'l str)>) -> Vec<Merged> {
    let mut all: Vec<(String, Merged)> = Vec::new();
    for (subject, words) in lines {
        let (kind, name) = split(subject);
        let key = if name.is_empty() { words.to_owned() } else { words.replace(name, "…") };
        let same = |(of, one): &(String, Merged)| of == &key && split(&one.subjects[0]).0 == kind;
        match all.iter().position(same) {
            Some(index) => all[index].1.subjects.push(subject.to_owned()),
            None => all.push((key, Merged { subjects: vec![subject.to_owned()], words: words.to_owned() })),
        }
    }
    let several =
        |(key, one): (String, Merged)| if one.subjects.len() > 1 { Merged { words: key, ..one } } else { one };
    all.into_iter().map(several).collect()
}

impl Merged {
    /// `8 namespaces`, or the one.
    pub fn counted(&self) -> String {
        match self.subjects.as_slice() {
            [one] => one.clone(),
            all => match split(&all[0]).0 {
                "" => format!("{} sources", all.len()),
                kind => format!("{} {}", all.len(), plural(kind)),
            },
        }
    }

    /// `a, b, c and 5 more`; nothing for one, which is named already.
    pub fn named(&self) -> Option<String> {
        if self.subjects.len() < 2 {
            return None;
        }
        let names: Vec<&str> = self.subjects.iter().map(|one| split(one).1).collect();
        Some(some(&names, MAX_NAMED))
    }
}

/// Kind and name; no kind where the subject is not an object.
fn split(subject: &str) -> (&str, &str) {
    let both = subject.split_once(' ').filter(|(kind, name)| {
        let is_kind = kind.starts_with(|c: char| c.is_ascii_uppercase()) && kind.chars().all(char::is_alphanumeric);
        is_kind && !name.contains(' ')
    });
    both.unwrap_or(("", subject))
}

/// As Kubernetes makes the plural of a kind without asking.
fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    match kind.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if kind.ends_with(['s', 'x']) || kind.ends_with("ch") => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_by_its_subject_only_is_one_line() {
        let words = "NamespaceDeletionDiscoveryFailure: Discovery failed for some groups";
        let names: Vec<String> = (0..8).map(|n| format!("Namespace team-{n}")).collect();
        let lines =
            names.iter().map(|name| (name.as_str(), words)).chain([("Pod team-1/a", words), ("/proc/1/wchan", "x")]);
        let all = merged(lines);
        let shown: Vec<(String, Option<String>)> = all.iter().map(|one| (one.counted(), one.named())).collect();
        assert_eq!(shown[0], ("8 namespaces".to_owned(), Some("team-0, team-1, team-2 and 5 more".to_owned())));
        assert_eq!(shown[1..], [("Pod team-1/a".to_owned(), None), ("/proc/1/wchan".to_owned(), None)]);
        assert_eq!(all[0].words, words);
    }

    #[test]
    fn the_own_name_is_no_difference() {
        let all =
            merged([("Ingress a/web", "a/web has 1"), ("Ingress b/web", "b/web has 1"), ("Ingress c/web", "other")]);
        assert_eq!((all[0].counted().as_str(), all[0].words.as_str(), all.len()), ("2 ingresses", "… has 1", 2));
    }
}
