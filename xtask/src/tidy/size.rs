//! No Rust file is longer than one can read in one go.

use super::Source;

const LONGEST: usize = 600;

pub fn check(sources: &[Source]) -> Vec<String> {
    sources
        .iter()
        .filter(|source| source.is_rust())
        .map(|source| (&source.path, source.text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST)
        .map(|(path, lines)| format!("{path}: {lines} lines, more than {LONGEST}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_one_line_too_many() {
        let source = |lines: usize| Source { path: "a.rs".to_owned(), text: "x\n".repeat(lines) };
        assert!(check(&[source(LONGEST)]).is_empty());
        assert_eq!(check(&[source(LONGEST + 1)]).len(), 1);
    }
}
