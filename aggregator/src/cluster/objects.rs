//! Lists and single objects.

use super::ask::Server;
use super::going;
use super::pages::{Form, Pages};
use super::paths::path;
use crate::state::{Answer, Detail, Facts, Page, Question, Scope, Select};

/// Asks for one object, or for a list page after page. The second value says whether objects were left out.
pub async fn ask(server: &Server<'_>, question: &Question) -> (Answer<Facts>, bool) {
    match question {
        Question::Objects { resource, scope: scope @ Scope::Named(..), detail, .. } => {
            let answer = server.get(&path(resource, scope), Form::from(*detail).of_one()).await;
            (answer.and_then(|body| readable(Facts::object(question, &body))), false)
        }
        Question::Objects { select: Select::Terminating, detail: Detail::Full, .. } => {
            going::ask(server, question).await
        }
        _ => list(server, question).await,
    }
}

/// Every object of a list that is asked for.
pub async fn list(server: &Server<'_>, question: &Question) -> (Answer<Facts>, bool) {
    let Question::Objects { resource, scope, select, detail } = question else { return (Answer::Missing, false) };
    let mut pages = Pages::new(server, path(resource, scope), select);
    let mut all: Option<Facts> = None;
    loop {
        let answer = pages.ask((*detail).into()).await.and_then(|body| whole(question, &body));
        let (Page { mut facts, next }, bytes) = match answer {
            Answer::Seen(page) => page,
            // The list was too old to go on with; what has come is true all the same.
            Answer::Failed(why)
                if why.starts_with("410")
                    && let Some(all) = all =>
            {
                return (Answer::Seen(all), true);
            }
            other => return (other.map(|(page, _)| page.facts), false),
        };
        let is_last = next.is_empty();
        pages.came(bytes, next);
        if *select == Select::Terminating {
            facts.keep_terminating();
        }
        match &mut all {
            Some(all) => all.append(facts),
            None => all = Some(facts),
        }
        if let Some(all) = all.take_if(|all| is_last || all.count() >= server.bounds.objects) {
            return (Answer::Seen(all), !is_last);
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
        Err(error) => Answer::Failed(format!("the answer cannot be read: {error}")),
    }
}
