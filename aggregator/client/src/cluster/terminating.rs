//! What is being deleted, among many that are not.
//!
//! No server selects by it. The first page is asked for as it is, and most lists end there. Of more pods their rows
//! are enough to see which go, of other kinds the metadata; these are then asked for. Where most objects go and few come
//! after them, as when a large namespace is deleted, the whole list takes fewer requests.

use futures::StreamExt as _;
use futures::future::join;

use findings::FaultKind;

use super::bounded_client::BoundedClient;
use super::list::{list, readable, whole};
use super::pages::{Form, Pages};
use super::paths::path;
use super::scan::{Name, scan};
use super::table;
use aggregator_core::bounded_list::Gathered;
use aggregator_core::state::{Answer, Answered, Facts, Fault, Page, Question, Resource, Scope, Select, known};

/// More are not asked for one by one: then every object is listed whole.
const MOST: usize = 2000;
/// More runs of rows are not asked for: each takes two requests.
const MOST_RUNS: usize = 200;
/// So many that come after the first page are listed whole where most of that page go.
const FEW: usize = 2000;

/// Asks for those objects of a list that are being deleted.
pub async fn ask(server: &BoundedClient<'_>, question: &Question) -> Answered {
    match found(server, question).await {
        Found::One(answer, cut) => {
            Answered { question: question.clone(), answer, cut, not_read: None, is_short_and_held: false }
        }
        Found::Whole => list(server, question.clone()).await,
    }
}

enum Found {
    /// One by one; whether some were left out.
    One(Answer<Facts>, bool),
    /// Not: the whole list takes fewer requests.
    Whole,
}

impl Found {
    fn all(found: Gathered, cut: bool) -> Found {
        let cut = cut || found.is_cut();
        Found::One(Answer::Seen(found.into_facts()), cut)
    }
}

async fn found(server: &BoundedClient<'_>, question: &Question) -> Found {
    let Question::Objects { resource, scope, select, .. } = question else { return Found::One(Answer::Missing, false) };
    let mut pages = Pages::new(server, &path(resource, scope), select);
    let first = pages.ask(Form::Whole).await;
    let (Page { mut facts, next, remaining }, bytes) = match first.and_then(|body| whole(question, &body)) {
        Answer::Seen(page) => page,
        other => return Found::One(other.map(|(page, _)| page.facts), false),
    };
    let all = facts.count();
    facts.keep(&Select::Terminating);
    let going = facts.count();
    let mut found = match readable(Facts::none(question)) {
        Answer::Seen(none) => Gathered::new(none, server.bounds.room),
        other => return Found::One(other, false),
    };
    found.add(facts);
    if next.is_empty() {
        return Found::all(found, false);
    }
    if going * 2 > all && remaining.is_none_or(|remaining| remaining <= FEW) {
        return Found::Whole;
    }
    pages.came(bytes, next);
    if *resource == Resource::from(known::PODS) && *select == Select::Terminating {
        match pods(server, question, &mut found).await {
            Answer::Seen(Pods::Found { cut }) => return Found::all(found, cut),
            Answer::Seen(Pods::TooMany) => return Found::Whole,
            // By their metadata, as other kinds.
            Answer::Seen(Pods::NoTable) => {}
            other => return Found::One(other.map(|_| found.into_facts()), false),
        }
    }
    let (names, cut) = match names(&mut pages).await {
        Answer::Seen(found) => found,
        other => return Found::One(other.map(|_| found.into_facts()), false),
    };
    if names.len() > MOST {
        return Found::Whole;
    }
    match each(server, question, names, &mut found).await {
        Answer::Seen(()) => Found::all(found, cut),
        other => Found::One(other.map(|()| found.into_facts()), false),
    }
}

/// What came of the rows.
enum Pods {
    /// Those that go have been added; whether the list broke off.
    Found { cut: bool },
    /// More than are asked for one by one.
    TooMany,
    /// The server prints no rows, or others.
    NoTable,
}

/// Adds the pods that go: those that have not ended by their rows, the others by their metadata.
async fn pods(server: &BoundedClient<'_>, question: &Question, found: &mut Gathered) -> Answer<Pods> {
    let Question::Objects { resource, scope, .. } = question else { return Answer::Missing };
    let selected = |selector: &str| Pages::new(server, &path(resource, scope), &Select::Fields(selector.to_owned()));
    let (mut pages, reader) = (selected(table::NOT_ENDED).of_rows(), selected(table::NOT_ENDED));
    let mut asked = 0;
    let mut place = pages.next.clone();
    let mut body = pages.ask(Form::Row).await;
    loop {
        let rows = match body {
            Answer::Seen(body) => table::rows(&body),
            Answer::Failed(Fault { kind: FaultKind::Stale, .. }) => return Answer::Seen(Pods::Found { cut: true }),
            other => return other.map(|_| Pods::NoTable),
        };
        let Some(rows) = rows else { return Answer::Seen(Pods::NoTable) };
        let runs = table::runs(&rows.going);
        asked += runs.len();
        if asked > MOST_RUNS {
            return Answer::Seen(Pods::TooMany);
        }
        let is_last = rows.next.is_empty();
        let begin = std::mem::replace(&mut place, rows.next.clone());
        pages.next = rows.next;
        // The next page is read meanwhile.
        let next = async { if is_last { Answer::Missing } else { pages.ask(Form::Row).await } };
        let (fetched, next) = join(fetch(&reader, begin, question, &runs, found), next).await;
        match fetched {
            Answer::Seen(()) => {}
            // A list takes fewer of them at a time.
            Answer::Failed(Fault { kind: FaultKind::TooLarge, .. }) => return Answer::Seen(Pods::TooMany),
            other => return other.map(|()| Pods::NoTable),
        }
        if is_last {
            break;
        }
        body = next;
    }
    let (names, cut) = seen!(names(&mut selected(table::ENDED)).await);
    if names.len() > MOST {
        return Answer::Seen(Pods::TooMany);
    }
    each(server, question, names, found).await.map(|()| Pods::Found { cut })
}

/// Asks for the pods of those runs of rows, which are counted from where their page begins.
async fn fetch(
    pages: &Pages<'_>,
    mut place: String,
    question: &Question,
    runs: &[(usize, usize)],
    found: &mut Gathered,
) -> Answer<()> {
    let mut at = 0;
    for &(begin, count) in runs {
        if begin > at {
            let Some(skipped) = table::rows(&seen!(pages.ask_at(&place, begin - at, Form::Row).await)) else {
                return Answer::failed(FaultKind::Malformed, "a page of rows is no table");
            };
            place = skipped.next;
        }
        let page = pages.ask_at(&place, count, Form::Whole).await.and_then(|body| whole(question, &body));
        let (Page { mut facts, next, .. }, _) = seen!(page);
        facts.keep(&Select::Terminating);
        found.add(facts);
        (place, at) = (next, begin + count);
    }
    Answer::Seen(())
}

/// The names of those that go on the pages that are left, and whether the list broke off.
async fn names(pages: &mut Pages<'_>) -> Answer<(Vec<Name>, bool)> {
    let mut names = Vec::new();
    loop {
        let body = match pages.ask(Form::Metadata).await {
            Answer::Seen(body) => body,
            // The list was too old to go on with; what has come is true all the same.
            Answer::Failed(Fault { kind: FaultKind::Stale, .. }) => return Answer::Seen((names, true)),
            other => return other.map(|_| (Vec::new(), false)),
        };
        let page = seen!(readable(scan(&body)));
        names.extend(page.terminating);
        if page.next.is_empty() || names.len() > MOST {
            return Answer::Seen((names, false));
        }
        pages.came(body.len(), page.next);
    }
}

/// Asks for each by its name, as a list: the right to list does not include the right to get.
async fn each(server: &BoundedClient<'_>, question: &Question, names: Vec<Name>, found: &mut Gathered) -> Answer<()> {
    let mut answers =
        futures::stream::iter(names).map(|name| one(server, question, name)).buffer_unordered(server.bounds.in_flight);
    while let Some(answer) = answers.next().await {
        let mut facts = seen!(answer);
        // It may be gone by now, and another one in its place.
        facts.keep(&Select::Terminating);
        found.add(facts);
    }
    Answer::Seen(())
}

async fn one(server: &BoundedClient<'_>, question: &Question, Name { namespace, name }: Name) -> Answer<Facts> {
    let Question::Objects { resource, .. } = question else { return Answer::Missing };
    let scope = namespace.map_or(Scope::All, Scope::Namespace);
    let select = Select::Fields(format!("metadata.name={name}"));
    let answer = Pages::new(server, &path(resource, &scope), &select).ask(Form::Whole).await;
    answer.and_then(|body| whole(question, &body)).map(|(page, _)| page.facts)
}
