//! No trace of the machine the project was written on: its paths, its package registry.

use super::Source;

/// Written in two parts, or this file would break its own rule.
const WORKSHOP: &str = concat!("/", "work");

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What names another registry in a configuration of cargo, pip, npm or Go.
const OTHER_REGISTRY: &[&str] = &[
    concat!("replace", "-with"),
    concat!("[regis", "tries"),
    concat!("sparse", "+http"),
    concat!("index", "-url"),
    concat!("GO", "PROXY="),
    concat!("npm_config_", "registry"),
];

pub fn check(sources: &[Source]) -> Vec<String> {
    sources.iter().flat_map(broken_in).collect()
}

fn broken_in(source: &Source) -> Vec<String> {
    let Source { path, text } = source;
    let mut broken = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if names_the_workshop(line) {
            broken.push(format!("{path}:{number}: a path of the machine it was written on"));
        }
        if path.ends_with("Cargo.lock") && line.starts_with("source = ") && !line.contains(CRATES_IO) {
            broken.push(format!("{path}:{number}: a package that does not come from crates.io"));
        }
        if OTHER_REGISTRY.iter().any(|mark| line.contains(mark)) {
            broken.push(format!("{path}:{number}: names another package registry"));
        }
    }
    broken
}

/// An absolute path: the name stands alone, neither below another directory nor longer.
fn names_the_workshop(line: &str) -> bool {
    line.match_indices(WORKSHOP).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + WORKSHOP.len()..].chars().next();
        let inside = |c: char| c.is_alphanumeric() || "_-.}>)*".contains(c);
        !before.is_some_and(inside) && !after.is_some_and(|c| c.is_alphanumeric() || "_-".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_a_path_of_the_machine() {
        assert!(names_the_workshop(&format!("cd {WORKSHOP}/main")));
        assert!(names_the_workshop(&format!("\"{WORKSHOP}\"")));
        assert!(!names_the_workshop("/workspace/x"));
        assert!(!names_the_workshop("<bundle>/work -> /var/lib"));
        assert!(!names_the_workshop("tests/work"));
    }

    #[test]
    fn every_package_comes_from_crates_io() {
        let lock = |source: &str| Source { path: "Cargo.lock".to_owned(), text: format!("source = \"{source}\"") };
        assert!(broken_in(&lock(CRATES_IO)).is_empty());
        assert_eq!(broken_in(&lock("registry+https://registry.example/index")).len(), 1);
    }
}
