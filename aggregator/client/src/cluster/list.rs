//! A list, read page after page.

use aggregator_core::bounded_list::{Gathered, Room};
use aggregator_core::state::{Answer, Answered, Facts, Fault, Page, Question, Scope, Select};
use findings::FaultKind;

use super::bounded_client::BoundedClient;
use super::pages::Pages;
use super::paths::path;
use super::scan::{has_finalizers, scan};

/// Of a list that is longer than what is kept of it, so many times that are read: other namespaces come later in it. What is
/// being deleted is found only in a list that is read to its end, however long a flood makes it.
const MAX_READ: usize = 4;

/// Every object of a list that is asked for. Of more than there is room for each namespace has its share.
pub async fn list(server: &BoundedClient<'_>, question: Question) -> Answered {
    let mut listing = Listing::new(server, question);
    while !listing.is_done {
        listing.next_page().await;
    }
    listing.finish()
}

/// A list that is being read.
pub struct Listing<'a> {
    question: Question,
    /// The pages that are left.
    pub pages: Pages<'a>,
    room: Room,
    max_objects: usize,
    max_read: usize,
    all: Option<Gathered>,
    read: usize,
    pages_read: usize,
    has_finalizers: bool,
    is_cut: bool,
    failed: Option<Answer<Facts>>,
    /// Whether nothing more is to be read.
    pub is_done: bool,
    /// How many objects come after those that were read, where the server counts them.
    pub remaining: Option<usize>,
}

impl<'a> Listing<'a> {
    /// Nothing is read yet.
    pub fn new(server: &'a BoundedClient<'a>, question: Question) -> Self {
        let every = (String::new(), Select::Every, true);
        let (path, select, is_of_all) = match &question {
            Question::Objects { resource, scope, select, .. } => {
                (path(resource, scope), select.clone(), matches!(scope, Scope::All))
            }
            _ => every,
        };
        let max_objects = server.bounds.room.max_objects;
        let max_read = match (&select, is_of_all) {
            (Select::Terminating, true) if !question.is_scan() => usize::MAX,
            (_, true) => max_objects * MAX_READ,
            (_, false) => max_objects,
        };
        Listing {
            pages: Pages::new(server, &path, &select),
            room: server.bounds.room,
            max_objects,
            max_read,
            all: None,
            read: 0,
            pages_read: 0,
            has_finalizers: false,
            is_cut: false,
            failed: None,
            is_done: false,
            remaining: None,
            question,
        }
    }

    pub async fn next_page(&mut self) {
        let Question::Objects { select, detail, .. } = &self.question else { return self.is_done = true };
        let body = self.pages.ask((*detail).into()).await;
        self.pages_read += 1;
        self.has_finalizers |= self.question.is_scan() && body.as_ref().seen().is_some_and(|body| has_finalizers(body));
        let answer = body.and_then(|body| page(&self.question, &body));
        let (Page { mut facts, next, remaining }, bytes) = match answer {
            Answer::Seen(page) => page,
            // The list was too old to go on with, or as much has come as there is room for, or a scan ended early. What has
            // come is true all the same.
            Answer::Failed(Fault { kind, .. })
                if self.all.is_some()
                    && (kind == FaultKind::Stale || self.read >= self.max_objects || self.question.is_scan()) =>
            {
                (self.is_cut, self.is_done) = (true, true);
                return;
            }
            other => {
                (self.failed, self.is_done) = (Some(other.map(|(page, _)| page.facts)), true);
                return;
            }
        };
        let is_last = next.is_empty();
        self.pages.came(bytes, next);
        self.remaining = remaining.filter(|_| !is_last);
        facts.keep(select);
        self.read += facts.count();
        let all = match &mut self.all {
            Some(all) => all,
            none => match Facts::none(&self.question) {
                Ok(kind) => none.insert(Gathered::new(kind, self.room)),
                Err(error) => {
                    (self.failed, self.is_done) = (Some(Answer::failed(FaultKind::Malformed, error)), true);
                    return;
                }
            },
        };
        all.add(facts);
        self.is_cut |= all.is_cut();
        // Without namespaces there are no shares.
        let is_shared = all.is_shared();
        let max_read = if is_shared { self.max_read } else { self.max_objects };
        self.is_done = is_last || self.read >= max_read || (!is_shared && self.is_cut);
        self.is_cut |= self.is_done && !is_last;
    }

    /// What was read of it.
    pub fn finish(self) -> Answered {
        let cut = self.is_cut || !self.is_done;
        let answer = match (self.failed, self.all) {
            (Some(failed), _) => return Answered::whole(self.question, failed),
            (None, Some(all)) => Answer::Seen(all.into_facts()),
            (None, None) => {
                let fault = Fault::new(FaultKind::TooLarge, "other kinds took the time and the bytes of the scan");
                return Answered::whole(self.question, Answer::Failed(fault));
            }
        };
        let is_short_and_held = self.has_finalizers && self.pages_read == 1;
        Answered { question: self.question, answer, cut, not_read: self.remaining.filter(|_| cut), is_short_and_held }
    }
}

/// A page, and its bytes. Most pages of a scan have nothing that counts: of them only the head is read.
fn page(question: &Question, body: &[u8]) -> Answer<(Page, usize)> {
    if !question.is_scan() {
        return whole(question, body);
    }
    readable(scan(body)).and_then(|scanned| match scanned.terminating.is_empty() {
        true => readable(Facts::none(question)).map(|facts| {
            let page = Page { facts, next: scanned.next, remaining: scanned.remaining };
            (page, body.len())
        }),
        false => whole(question, body),
    })
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
