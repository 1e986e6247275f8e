//! One entry of the registry, at a terminal.

use findings::Cause;

use super::page::Page;

/// The cause's page as text.
pub fn explain(cause: &Cause) -> String {
    let mut page = Page::new(100);
    page.line(&format!("{}: {}", cause.id, cause.title));
    page.filled("  Means    ", cause.meaning);
    page.filled("  Proof    ", cause.proof);
    for (index, advice) in cause.safe.iter().enumerate() {
        let untested = if advice.is_tested() { "" } else { " (untested)" };
        let head = if index == 0 { "  Do       " } else { "           " };
        page.filled(head, &format!("{}. {}{untested}", index + 1, advice.text));
        if let Some(command) = advice.command {
            page.line(&format!("                {command}"));
        }
    }
    page.filled("  Don't    ", &format!("{}: {}", cause.danger.action, cause.danger.breaks));
    page.filled("  Seen in  ", &cause.sources.join("; "));
    page.finish()
}
