//! The manual pages, written from the same flags that the programs read.

use anyhow::{Context, Result};
use clap::{Command, CommandFactory as _};

use super::Page;

/// Where they lie; nothing else does.
pub const FOLDER: &str = "docs/man";

pub fn pages() -> Result<Vec<Page>> {
    let mut pages = of(plugin::cli::Args::command().name("kubectl-why_terminating"))?;
    pages.extend(of(agent::cli::Args::command().name("why-terminating-agent"))?);
    Ok(pages)
}

/// The page of a program, and one for each of its subcommands.
fn of(program: Command) -> Result<Vec<Page>> {
    let name = program.get_name().to_owned();
    let whole = program.disable_help_subcommand(true);
    // How it is typed: kubectl finds its plugin by another name.
    let typed = whole.get_bin_name().unwrap_or(&name).to_owned();
    let mut pages = vec![page(&name, whole.clone().bin_name(typed.clone()))?];
    for subcommand in whole.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        let word = subcommand.get_name();
        pages.push(page(&format!("{name}-{word}"), subcommand.clone().bin_name(format!("{typed} {word}")))?);
    }
    Ok(pages)
}

fn page(name: &str, command: Command) -> Result<Page> {
    // No date: the same flags give the same page.
    let named = command.display_name(name.to_owned()).version(env!("CARGO_PKG_VERSION"));
    let manual = clap_mangen::Man::new(named).source(concat!("why-terminating ", env!("CARGO_PKG_VERSION")));
    let mut bytes = Vec::new();
    manual.render(&mut bytes).with_context(|| format!("rendering the manual of {name}"))?;
    Ok(Page::new(format!("{FOLDER}/{name}.1"), String::from_utf8(bytes)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_its_page() {
        let pages = pages().unwrap();
        let has = |name: &str| pages.iter().any(|page| page.path == format!("docs/man/{name}.1"));
        assert!(has("kubectl-why_terminating") && has("kubectl-why_terminating-wait"));
        assert!(has("why-terminating-agent") && has("why-terminating-agent-check"));
        assert!(pages[0].text.contains("\\-\\-explain"), "{}", pages[0].text);
        let wait = pages.iter().find(|page| page.path.ends_with("_terminating-wait.1")).unwrap();
        assert!(wait.text.contains("\n\\fBkubectl why\\-terminating wait\\fR "), "{}", wait.text);
    }
}
