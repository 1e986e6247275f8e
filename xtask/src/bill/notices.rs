//! The licences of what is in a program, which these ask to be passed on with it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::components::Component;
use super::runtime::Runtime;
use crate::build::Program;

const LINE: &str = "================================================================================";
/// glibc's own, which asks that its text comes with the program.
const LGPL: &str = include_str!("LGPL-2.1.txt");
/// That of the runtime of mingw-w64, which asks the same.
const ZPL: &str = include_str!("ZPL-2.1.txt");
/// What MIT permits; the lines before it say whose the crate is.
const MIT: &str = include_str!("MIT.txt");

/// Terms that hundreds of notices repeat, between lines that differ.
struct Terms {
    begin: &'static str,
    end: &'static str,
    /// What stands in their place.
    reference: &'static str,
}

const OF_APACHE: Terms = Terms {
    begin: "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION",
    end: "END OF TERMS AND CONDITIONS",
    reference: "[TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION: those of the first text]",
};
const OF_MIT: Terms = Terms {
    begin: "Permission is hereby granted",
    end: "SOFTWARE.",
    reference: "[Permission is hereby granted: as the second text does]",
};

/// One text: our licence, which crate is under which, and each text once; the terms of Apache-2.0 and MIT once for all.
pub fn text(
    program: Program,
    own: &str,
    runtime: &Runtime,
    components: &[Component],
) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    writeln!(text, "{} is under Apache-2.0; its text comes first. It is linked with Rust's standard", program.name)?;
    writeln!(text, "library ({}, MIT OR Apache-2.0, taken under the latter) and with the crates below,", runtime.rust)?;
    writeln!(text, "each under its own licence.")?;
    if let Some(glibc) = &runtime.glibc {
        writeln!(
            text,
            "\nIt is linked statically with the GNU C Library ({glibc}), under LGPL-2.1-or-later, whose text"
        )?;
        writeln!(text, "comes last: whoever has the sources can link the program anew with another.")?;
    }
    if runtime.mingw {
        writeln!(
            text,
            "\nIt is linked statically with the runtime of mingw-w64, under ZPL-2.1, whose text comes last."
        )?;
    }
    writeln!(text)?;
    let mut by_text: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for component in components {
        let name = format!("{} {}", component.name, component.version);
        writeln!(text, "{name}: {}", component.license)?;
        for notice in &component.notices {
            let notice = OF_MIT.refer(&OF_APACHE.refer(notice, own), MIT);
            by_text.entry(notice).or_default().push(name.clone());
        }
    }
    writeln!(text, "\n{LINE}\nApache-2.0: {}\n\n{}", program.name, own.trim_matches('\n'))?;
    writeln!(text, "\n{LINE}\nMIT: what it permits\n\n{}", MIT.trim_matches('\n'))?;
    for (notice, names) in by_text {
        writeln!(text, "\n{LINE}\nOf {}\n\n{notice}", names.join(", "))?;
    }
    if runtime.glibc.is_some() {
        writeln!(text, "\n{LINE}\nLGPL-2.1: the GNU C Library\n\n{}", LGPL.trim_matches('\n'))?;
    }
    if runtime.mingw {
        writeln!(text, "\n{LINE}\nZPL-2.1: the runtime of mingw-w64\n\n{}", ZPL.trim_matches('\n'))?;
    }
    Ok(text)
}

impl Terms {
    /// A notice that refers to another text for its terms, if that has the same ones.
    fn refer(&self, notice: &str, other: &str) -> String {
        match (self.split(notice), self.split(other)) {
            (Some((before, theirs, after)), Some((_, same, _)))
                if theirs.split_whitespace().eq(same.split_whitespace()) =>
            {
                format!("{before}{}{after}", self.reference)
            }
            _ => notice.to_owned(),
        }
    }

    /// What stands before the terms, they, and what stands behind them.
    fn split<'a>(&self, text: &'a str) -> Option<(&'a str, &'a str, &'a str)> {
        let (before, rest) = text.split_once(self.begin)?;
        let (terms, after) = rest.split_once(self.end)?;
        Some((before, terms, after))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::build::{AGENT, PLUGIN};

    fn runtime(glibc: Option<&str>) -> Runtime {
        Runtime { rust: "rustc 1.95.0".to_owned(), glibc: glibc.map(str::to_owned), mingw: false }
    }

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
        let text = text(AGENT, "ours", &runtime(None), &all).unwrap();
        assert_eq!(text.matches("the same").count(), 1, "{text}");
        assert!(text.contains("Of a 1.0.0, b 1.0.0\n\nthe same") && text.contains("c 1.0.0: MIT"), "{text}");
        assert!(text.contains("ours") && text.contains("rustc 1.95.0"), "{text}");
    }

    #[test]
    fn the_same_terms_are_there_once_however_they_are_broken_into_lines() {
        let Terms { begin, end, reference } = OF_APACHE;
        let licence = |grant: &str, name: &str| format!("Apache License\n{begin}\n{grant}\n{end}\nCopyright {name}");
        let own = licence("1. You may.", "us");
        assert_eq!(
            OF_APACHE.refer(&licence("1. You\n     may.", "them"), &own),
            format!("Apache License\n{reference}\nCopyright them")
        );
        for other in [licence("1. You may not.", "them"), "Copyright them".to_owned()] {
            assert_eq!(OF_APACHE.refer(&other, &own), other);
        }
        for (terms, text, least) in [(OF_APACHE, include_str!("../../../LICENSE"), 9000), (OF_MIT, MIT, 900)] {
            let (_, found, after) = terms.split(text).unwrap();
            assert!(found.len() > least && !after.contains(terms.end), "{found}");
        }
    }

    #[test]
    fn the_text_of_the_lgpl_comes_with_what_holds_glibc_and_with_no_other() {
        let of = |glibc| text(AGENT, "ours", &runtime(glibc), &[]).unwrap();
        let text = of(Some("2.36"));
        assert!(text.contains("GNU C Library (2.36)") && text.contains("GNU LESSER GENERAL PUBLIC LICENSE"), "{text}");
        assert!(!of(None).contains("LESSER") && !of(None).contains("GNU C Library"));
    }

    #[test]
    fn the_notice_of_mingw_comes_with_what_holds_its_runtime_and_with_no_other() {
        let of = |mingw| text(PLUGIN, "ours", &Runtime { mingw, ..runtime(None) }, &[]).unwrap();
        assert!(of(true).contains("the mingw-w64 project") && of(true).contains("Redistributions in binary form"));
        assert!(!of(false).contains("mingw"));
    }
}
