//! How many objects of a kind there are, counted twice: of a page with one object the server says how many come after it.

use std::time::Instant;

use aggregator_core::state::{Answer, Counts, Facts, Page, Question, Resource, Scope, Select};

use super::bounded_client::BoundedClient;
use super::list::readable;
use super::pages::{Form, Pages};
use super::paths::path;

/// Both counts, some seconds apart.
pub async fn ask(
    server: &BoundedClient<'_>,
    question: &Question,
    resource: &Resource,
    namespace: &str,
) -> Answer<Facts> {
    let pages = Pages::new(server, &path(resource, &Scope::Namespace(namespace.to_owned())), &Select::Every);
    let begun = Instant::now();
    let first = seen!(count(&pages, question).await);
    tokio::time::sleep(server.bounds.count_interval).await;
    count(&pages, question).await.map(|last| {
        let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Facts::Counts(Counts { first, last, millis })
    })
}

async fn count(pages: &Pages<'_>, question: &Question) -> Answer<usize> {
    let body = pages.ask_at("", 1, Form::Metadata).await;
    body.and_then(|body| readable(Page::read(question, &body)))
        .map(|Page { facts, remaining, .. }| facts.count() + remaining.unwrap_or(0))
}
