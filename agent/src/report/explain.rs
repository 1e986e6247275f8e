//! One entry of the registry, at a terminal.

use findings::Cause;

use super::wrap::wrap;

/// The cause's page as text.
pub fn explain(cause: &Cause) -> String {
    let mut out = format!("{}: {}\n", cause.id, cause.title);
    let mut paragraph = |head: &str, text: &str| {
        for (index, line) in wrap(text, 88).iter().enumerate() {
            let start = if index == 0 { head } else { "" };
            out.push_str(&format!("  {start:<8} {line}\n"));
        }
    };
    paragraph("Means", cause.meaning);
    paragraph("Proof", cause.proof);
    for advice in cause.safe {
        let untested = if advice.is_tested() { "" } else { " (untested)" };
        paragraph("Do", &format!("{}{untested}", advice.text));
        if let Some(command) = advice.command {
            paragraph("", &format!("  {command}"));
        }
    }
    paragraph("Don't", &format!("{}: {}", cause.danger.action, cause.danger.breaks));
    paragraph("Seen in", &cause.sources.join("; "));
    out
}
