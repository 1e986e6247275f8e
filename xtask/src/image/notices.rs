//! The licences of what is in the image, which these ask to be passed on with it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Program;
use super::components::Component;

const LINE: &str = "================================================================================";

/// One text for the image: our licence, which crate is under which, and each text once.
pub fn text(program: Program, own: &str, libc: &str, components: &[Component]) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    writeln!(text, "{} is under Apache-2.0; its text comes first. It is linked with the crates", program.name)?;
    writeln!(text, "below, each under its own licence, and statically with {libc}, the GNU C library,")?;
    writeln!(text, "under LGPL-2.1-or-later (https://www.gnu.org/licenses/old-licenses/lgpl-2.1.html):")?;
    writeln!(text, "whoever has the sources can link the program anew with another.\n")?;
    let mut by_text: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for component in components {
        let name = format!("{} {}", component.name, component.version);
        writeln!(text, "{name}: {}", component.license)?;
        for notice in &component.notices {
            by_text.entry(notice).or_default().push(name.clone());
        }
    }
    writeln!(text, "\n{LINE}\nApache-2.0: {}\n\n{}", program.name, own.trim_matches('\n'))?;
    for (notice, names) in by_text {
        writeln!(text, "\n{LINE}\nOf {}\n\n{notice}", names.join(", "))?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::program::AGENT;
    use super::*;

    #[test]
    fn each_text_is_there_once_with_all_that_it_is_of() {
        let component = |name: &str, notice: &str| Component {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: "MIT".to_owned(),
            checksum: String::new(),
            notices: BTreeSet::from([notice.to_owned()]),
        };
        let all = [component("a", "the same"), component("b", "the same"), component("c", "another")];
        let text = text(AGENT, "ours", "glibc 2.36", &all).unwrap();
        assert_eq!(text.matches("the same").count(), 1, "{text}");
        assert!(text.contains("Of a 1.0.0, b 1.0.0\n\nthe same") && text.contains("c 1.0.0: MIT"), "{text}");
        assert!(text.contains("ours") && text.contains("glibc 2.36"), "{text}");
    }
}
