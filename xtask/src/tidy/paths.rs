//! The Rust paths that a source file names, with `use` trees taken apart.

/// Every path in the code (`std::fs::read`, and each leaf of `use std::{fs, io}`), with the line
/// it begins in. Comments are left out; single words count only inside a `use`.
pub fn named(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut use_tree: Option<(usize, String)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let code = without_comment(line);
        if let Some((_, tree)) = &mut use_tree {
            tree.push_str(code);
        } else if let Some(tree) = after_use(code) {
            use_tree = Some((number, tree.to_owned()));
        } else {
            found.extend(words(code).filter(|path| path.contains("::")).map(|path| (number, path.to_owned())));
        }
        if let Some((first, tree)) = use_tree.take_if(|(_, tree)| tree.contains(';')) {
            let (tree, rest) = tree.split_once(';').unwrap_or((&tree, ""));
            found.extend(leaves(tree).into_iter().map(|path| (first, path)));
            found.extend(words(rest).filter(|path| path.contains("::")).map(|path| (number, path.to_owned())));
        }
    }
    found
}

/// Whether `path` is `prefix` or lies below it.
pub fn is_below(path: &str, prefix: &str) -> bool {
    let path = path.trim_start_matches("::");
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn without_comment(line: &str) -> &str {
    // `://` is an address inside a string.
    let comment = line.match_indices("//").find(|(at, _)| !line[..*at].ends_with(':'));
    comment.map_or(line, |(at, _)| &line[..at])
}

fn after_use(code: &str) -> Option<&str> {
    let mut code = code.trim_start();
    if let Some(rest) = code.strip_prefix("pub") {
        let rest = rest.trim_start();
        code = if rest.starts_with('(') { rest.split_once(')')?.1.trim_start() } else { rest };
    }
    code.strip_prefix("use ")
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
        .map(|word| word.trim_end_matches(':'))
        .filter(|word| !word.is_empty())
}

fn leaves(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((prefix, inner)) = tree.split_once('{') else {
        let path = tree.split_whitespace().next().unwrap_or_default();
        return vec![path.trim_end_matches("::self").to_owned()];
    };
    let inner = inner.trim_end().strip_suffix('}').unwrap_or(inner);
    let mut found = Vec::new();
    for branch in branches(inner) {
        found.extend(leaves(branch).into_iter().map(|leaf| match leaf.as_str() {
            "self" => prefix.trim_end_matches("::").to_owned(),
            leaf => format!("{prefix}{leaf}"),
        }));
    }
    found
}

/// Cuts at the commas that are not inside braces.
fn branches(inner: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0usize, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&inner[start..]);
    found.retain(|branch| !branch.trim().is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        named(text).into_iter().map(|(_, path)| path).collect()
    }

    #[test]
    fn takes_use_trees_apart() {
        assert_eq!(paths("use std::{fs::{self, File}, io};"), ["std::fs", "std::fs::File", "std::io"]);
        assert_eq!(
            paths("pub(crate) use crate::{\n    host,\n    parse::Stat as S,\n};"),
            ["crate::host", "crate::parse::Stat"]
        );
        assert_eq!(paths("use kube;"), ["kube"]);
    }

    #[test]
    fn finds_paths_in_code_and_not_in_comments() {
        assert_eq!(paths("let x = std::fs::read(p)?; // std::net"), ["std::fs::read"]);
        assert_eq!(paths("//! kube::Client"), Vec::<String>::new());
        assert_eq!(paths("let kube = nix;"), Vec::<String>::new());
    }

    #[test]
    fn knows_what_lies_below() {
        assert!(is_below("std::fs::File", "std::fs"));
        assert!(is_below("::std::fs", "std::fs"));
        assert!(!is_below("kubelet::Version", "kube"));
    }
}
