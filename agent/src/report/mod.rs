//! Findings as words.

mod tree;

pub use tree::tree;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{gates, observation::sample};
    use findings::render::{Detail, Style};

    #[test]
    fn what_an_attacker_named_cannot_steer_the_terminal() {
        let mut seen = sample::running();
        sample::block(&mut seen, sample::INIT, "io_schedule");
        seen.processes[0].threads[0].comm = "a\u{1b}[2J\nb".into();
        seen.processes[0].comm = "a\u{1b}[2J\nb".into();
        let text = tree(&gates::judge(&seen), Detail::Wide, Style::Plain);
        assert!(text.contains("[2J"), "the name is shown: {text:?}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
