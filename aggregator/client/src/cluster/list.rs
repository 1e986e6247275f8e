//! A list, read page after page.

use aggregator_core::state::{Answer, Facts, Fault, Page, Question, Scope};
use findings::FaultKind;

use super::pages::Pages;
use super::paths::path;
use super::server::Server;

/// Of a list that is longer than what is kept of it, so many times that are read: other namespaces come later in it.
const MAX_READ: usize = 4;

/// Every object of a list that is asked for. Of more than there is room for each namespace has its share.
pub async fn list(server: &Server<'_>, question: &Question) -> (Answer<Facts>, bool) {
    let Question::Objects { resource, scope, select, detail } = question else { return (Answer::Missing, false) };
    let mut pages = Pages::new(server, &path(resource, scope), select);
    let max_read = if matches!(scope, Scope::All) { server.bounds.objects * MAX_READ } else { server.bounds.objects };
    let (mut all, mut read, mut is_cut): (Option<Facts>, usize, bool) = (None, 0, false);
    loop {
        let answer = pages.ask((*detail).into()).await.and_then(|body| whole(question, &body));
        let (Page { mut facts, next, .. }, bytes) = match answer {
            Answer::Seen(page) => page,
            // The list was too old to go on with, or as much has come as there is room for; that is true all the same.
            Answer::Failed(Fault { kind, .. })
                if let Some(all) = all.take_if(|_| kind == FaultKind::Stale || read >= server.bounds.objects) =>
            {
                return (Answer::Seen(all), true);
            }
            other => return (other.map(|(page, _)| page.facts), false),
        };
        let is_last = next.is_empty();
        pages.came(bytes, next);
        facts.keep(select);
        read += facts.count();
        match &mut all {
            Some(all) => all.append(facts),
            None => all = Some(facts),
        }
        if let Some(all) = all.as_mut().filter(|all| all.count() > server.bounds.objects) {
            all.keep_shares(server.bounds.objects);
            is_cut = true;
        }
        // Without namespaces there are no shares.
        let is_shared = all.as_ref().and_then(|all| all.meta_at(0)).is_some_and(|meta| meta.namespace.is_some());
        let max_read = if is_shared { max_read } else { server.bounds.objects };
        if let Some(all) = all.take_if(|_| is_last || read >= max_read) {
            return (Answer::Seen(all), is_cut || !is_last);
        }
    }
}

/// A page, and its bytes.
pub fn whole(question: &Question, body: &[u8]) -> Answer<(Page, usize)> {
    readable(Page::read(question, body)).map(|page| (page, body.len()))
}

/// What cannot be read is a failure of the answer.
pub fn readable<T>(read: Result<T, serde_json::Error>) -> Answer<T> {
    match read {
        Ok(value) => Answer::Seen(value),
        Err(error) => Answer::failed(FaultKind::Malformed, error),
    }
}
