//! Each fuzz target says which files it is for, so that CI knows when to run it.

use super::Source;

const TARGETS: &str = "tests/fuzz/targets";
const LINE: &str = "// Fuzzes: ";

pub fn check(sources: &[Source]) -> Vec<String> {
    let mut broken = Vec::new();
    for target in sources.iter().filter(|source| source.is_in(TARGETS)) {
        let Some(files) = target.text.lines().find_map(|line| line.strip_prefix(LINE)) else {
            broken.push(format!("{}: no line {LINE:?}", target.path));
            continue;
        };
        let missing = files.split(' ').filter(|file| !sources.iter().any(|source| source.is_in(file)));
        broken.extend(missing.map(|file| format!("{}: there is no {file}", target.path)));
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_have_moved_are_missed() {
        let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
        let broken = |text: &str| {
            check(&[
                source("tests/fuzz/targets/stat.rs", text),
                source("parse/stat.rs", ""),
                source("event/name.rs", ""),
            ])
        };
        assert_eq!(broken("// Fuzzes: parse/stat.rs event\n"), [""; 0]);
        assert_eq!(broken("// Fuzzes: parse/stat.rs parse/status.rs\n").len(), 1);
        assert_eq!(broken("#![no_main]\n").len(), 1);
    }
}
