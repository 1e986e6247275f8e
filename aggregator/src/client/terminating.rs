//! What is being deleted, among many that are not.
//!
//! No server selects by it. The first page is asked for as it is, and most lists end there. Of the others the
//! metadata is enough to see which objects go, and these are then asked for by name. Where most objects go, as when a
//! large namespace is deleted, the whole list takes fewer requests.

use futures::StreamExt as _;

use findings::FaultKind;

use super::list::{list, readable, whole};
use super::pages::{Form, Pages};
use super::paths::path;
use super::scan::{Name, scan};
use super::server::Server;
use aggregator_core::state::{Answer, Facts, Fault, Page, Question, Scope, Select};

/// More are not asked for one by one: then every object is listed whole.
const MOST: usize = 2000;

/// Asks for those objects of a list that are being deleted. The second value says whether some were left out.
pub async fn ask(server: &Server<'_>, question: &Question) -> (Answer<Facts>, bool) {
    let Question::Objects { resource, scope, select, .. } = question else { return (Answer::Missing, false) };
    let mut pages = Pages::new(server, path(resource, scope), select);
    let first = pages.ask(Form::Whole).await;
    let (Page { mut facts, next }, bytes) = match first.and_then(|body| whole(question, &body)) {
        Answer::Seen(page) => page,
        other => return (other.map(|(page, _)| page.facts), false),
    };
    let all = facts.count();
    facts.keep_terminating();
    if next.is_empty() {
        return (Answer::Seen(facts), false);
    }
    if facts.count() * 2 > all {
        return list(server, question).await;
    }
    pages.came(bytes, next);
    let (names, cut) = match names(&mut pages).await {
        Answer::Seen(found) => found,
        other => return (other.map(|_| facts), false),
    };
    if names.len() > MOST {
        return list(server, question).await;
    }
    match each(server, question, names, facts).await {
        Answer::Seen(facts) => (Answer::Seen(facts), cut),
        other => (other, false),
    }
}

/// The names of those that go, from the second page on, and whether the list broke off.
async fn names(pages: &mut Pages<'_>) -> Answer<(Vec<Name>, bool)> {
    let mut names = Vec::new();
    loop {
        let body = match pages.ask(Form::Metadata).await {
            Answer::Seen(body) => body,
            // The list was too old to go on with; what has come is true all the same.
            Answer::Failed(Fault { kind: FaultKind::Stale, .. }) => return Answer::Seen((names, true)),
            other => return other.map(|_| (Vec::new(), false)),
        };
        let page = match readable(scan(&body)) {
            Answer::Seen(page) => page,
            other => return other.map(|_| (Vec::new(), false)),
        };
        names.extend(page.terminating);
        if page.next.is_empty() || names.len() > MOST {
            return Answer::Seen((names, false));
        }
        pages.came(body.len(), page.next);
    }
}

/// Asks for each by its name, as a list: whoever may list them may not always get them.
async fn each(server: &Server<'_>, question: &Question, names: Vec<Name>, mut facts: Facts) -> Answer<Facts> {
    let mut answers =
        futures::stream::iter(names).map(|name| one(server, question, name)).buffer_unordered(server.bounds.in_flight);
    while let Some(answer) = answers.next().await {
        match answer {
            Answer::Seen(mut found) => {
                // It may be gone by now, and another one in its place.
                found.keep_terminating();
                facts.append(found);
            }
            other => return other,
        }
    }
    Answer::Seen(facts)
}

async fn one(server: &Server<'_>, question: &Question, Name { namespace, name }: Name) -> Answer<Facts> {
    let Question::Objects { resource, .. } = question else { return Answer::Missing };
    let scope = namespace.map_or(Scope::All, Scope::Namespace);
    let select = Select::Fields(format!("metadata.name={name}"));
    let answer = Pages::new(server, path(resource, &scope), &select).ask(Form::Whole).await;
    answer.and_then(|body| whole(question, &body)).map(|(page, _)| page.facts)
}
