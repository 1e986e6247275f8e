//! The way of an Event's annotation to the terminal: what stands in it are values. A command has the
//! syntax of its template and nothing more, and nothing on the page is hidden.
// Fuzzes: findings/src/event findings/src/placeholder.rs findings/src/kill_guard.rs findings/src/mount_namespace.rs findings/src/render findings/src/text
#![no_main]

use findings::is_visible;
use findings::event::FindingAnnotation;
use findings::render::{self, Detail, Page, Style};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(FindingAnnotation { finding, .. }) = FindingAnnotation::parse(text) else { return };
    let shown = finding.cause.safe.iter().flat_map(|advice| advice.shown_commands().map(String::from));
    let entered = finding.cause.safe.iter().filter_map(|advice| advice.entered_command());
    let templates: Vec<String> = shown.chain(entered).map(|template| syntax(&template)).collect();
    for command in finding.remedy.steps.iter().filter_map(|step| step.command.as_deref()) {
        assert!(templates.contains(&syntax(command)), "{command}");
    }
    let mut page = Page::new(100, Style::Plain);
    render::finding(&mut page, &finding);
    render::evidence(&mut page, &finding);
    render::remedy(&mut page, &finding, "kubectl why-terminating", Detail::Wide);
    let page = page.finish();
    assert!(page.chars().all(|c| c == '\n' || is_visible(c)), "{page}");
});

/// What a shell does not read as a part of a word: blanks, operators, expansions, outside of quotes.
fn syntax(command: &str) -> String {
    let mut syntax = String::new();
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match c {
            // Single quotes know no escapes.
            '\'' => while rest.next().is_some_and(|c| c != '\'') {},
            '\\' => drop(rest.next()),
            // A placeholder of the template; a value never has them bare.
            '{' | '}' => {}
            c if c.is_alphanumeric() || "/._-+:,@=%".contains(c) => {}
            c => syntax.push(c),
        }
    }
    syntax
}
