//! The registry at a terminal: all causes, or the page of one.

use super::{Page, Style};
use crate::cause::{self, DO_NOT};
use crate::{Cause, clean, near_name, some};

/// As wide as the pages of the answers.
const WIDTH: usize = 100;

/// More ids that have a word in them are counted.
const MAX_NEAR: usize = 3;

/// No entry has this id.
#[derive(Debug, thiserror::Error)]
#[error("no cause is called {typed:?}{}; without a name, all of them are listed", .near.as_ref().map(|id| format!(" (did you mean {id}?)")).unwrap_or_default())]
pub struct NoSuchCause {
    typed: String,
    near: Option<String>,
}

/// All causes, one a line, or all that the entry of this id says.
pub fn causes(id: Option<&str>) -> Result<String, NoSuchCause> {
    let Some(id) = id else {
        return Ok(cause::all().map(|cause| format!("{:<32} {}\n", cause.id, cause.title)).collect());
    };
    let known = cause::all().find(|cause| cause.id.eq_ignore_ascii_case(id));
    known.map(explain).ok_or_else(|| NoSuchCause { typed: clean(id, 60), near: near(id) })
}

/// The id that is most alike, else the first that have the word in them.
fn near(typed: &str) -> Option<String> {
    let ids = || cause::all().map(|cause| cause.id);
    let word = typed.to_lowercase();
    let within: Vec<&str> = ids().filter(|id| !word.is_empty() && id.to_lowercase().contains(&word)).collect();
    let like = near_name(typed, ids()).map(str::to_owned);
    like.filter(|_| within.is_empty()).or_else(|| (!within.is_empty()).then(|| some(&within, MAX_NEAR)))
}

fn explain(cause: &Cause) -> String {
    let mut page = Page::new(WIDTH, Style::Plain);
    page.line(&format!("{}: {}", cause.id, cause.title));
    page.filled("  Means    ", cause.meaning);
    page.filled("  Proof    ", cause.proof);
    for (index, advice) in cause.safe.iter().enumerate() {
        let untested = if advice.is_tested() { "" } else { " (untested)" };
        let head = if index == 0 { "  Do       " } else { "           " };
        let when = advice.condition().map_or(String::new(), |when| format!(" [when {when}]"));
        page.filled(head, &format!("{}. {}{when}{untested}", index + 1, advice.text));
        for (index, command) in advice.shown_commands().enumerate() {
            let head = if index == 0 { "                " } else { "            or  " };
            page.line(&format!("{head}{command}"));
        }
    }
    page.filled(
        "  Do not   ",
        &format!(
            "{}: {}",
            cause.danger.action.trim_start_matches(DO_NOT),
            cause.danger.breaks_and_when(cause.danger.breaks)
        ),
    );
    page.filled("  Seen in  ", &cause.sources.join("; "));
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_listed_and_found_however_it_is_typed() {
        let list = causes(None).unwrap();
        for cause in cause::all() {
            assert!(list.contains(&format!("{} ", cause.id)), "{}", cause.id);
            let page = causes(Some(&cause.id.to_lowercase())).unwrap();
            assert!(page.starts_with(&format!("{}: {}\n", cause.id, cause.title)), "{page}");
        }
        assert_eq!(causes(Some("x\u{1b}")).unwrap_err().typed, "x\\u{1b}");
    }

    #[test]
    fn a_name_that_is_mistyped_is_offered() {
        let error = |typed| causes(Some(typed)).unwrap_err().to_string();
        for typed in ["NodeUnreachabel", "nodeunreachable1", "NodeUnrechable"] {
            assert!(error(typed).contains("did you mean NodeUnreachable?"), "{}", error(typed));
        }
        assert!(error("pvc").contains("did you mean PvcUsedByPod, PvcProtectionNotReleased?"), "{}", error("pvc"));
        assert!(!error("web-0").contains("did you mean"), "{}", error("web-0"));
    }
}
