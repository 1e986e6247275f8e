//! The registry's templates: only known placeholders, and never a remedy that may end up empty.

use findings::cause::all;
use findings::{Cause, Placeholder, Proven};

pub fn check() -> Vec<String> {
    all().flat_map(broken_in).collect()
}

fn broken_in(cause: &'static Cause) -> Vec<String> {
    let mut broken = Vec::new();
    for advice in cause.safe {
        for name in advice.placeholders() {
            if Placeholder::named(name).is_none() {
                broken.push(format!("{}: unknown placeholder {{{name}}}", cause.id));
            }
        }
        if advice.text.ends_with('.') || advice.text.len() < 12 {
            broken.push(format!("{}: not an imperative sentence without a full stop: {}", cause.id, advice.text));
        }
        if advice.command.is_none() && matches!(advice.proven, Proven::Lab(_)) && cause.diagnosis != advice.proven {
            broken.push(format!("{}: the lab proves no advice that has no command: {}", cause.id, advice.text));
        }
    }
    if !cause.safe.iter().any(|advice| advice.placeholders().next().is_none()) {
        broken.push(format!("{}: every step needs a placeholder, so the remedy may end up empty", cause.id));
    }
    let said_to_the_end = [cause.title, cause.meaning, cause.proof, cause.danger.action, cause.danger.breaks];
    if said_to_the_end
        .iter()
        .any(|words| Placeholder::ALL.iter().any(|name| words.contains(&format!("{{{}}}", name.as_str()))))
    {
        broken.push(format!("{}: only steps have placeholders", cause.id));
    }
    broken
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_registry_keeps_its_rules() {
        assert_eq!(super::check(), Vec::<String>::new());
    }
}
