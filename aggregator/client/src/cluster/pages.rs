//! A list, asked for in pages.

use super::bounded_client::BoundedClient;
use crate::path::{Selector, part, selected};
use crate::request::{METADATA, METADATA_LIST};
use aggregator_core::state::{Answer, Detail, Fault, Select};
use findings::FaultKind;

/// Objects of the first page. Without a limit a list is charged as if it listed the whole cluster.
const FIRST: usize = 250;

/// Objects of a later page, at most.
const MOST: usize = 5000;

/// Rows of a page: where one of them counts, the page is read a second time up to it.
const MOST_ROWS: usize = 2000;

/// A page is no longer: of objects that are longer than others fewer are asked for at a time.
const MAX_BYTES: usize = 8 << 20;

/// Tables come as JSON only.
const ROW: &str = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";

/// How much of each object is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Whole,
    Metadata,
    /// A row of what kubectl prints.
    Row,
}

impl From<Detail> for Form {
    fn from(detail: Detail) -> Self {
        match detail {
            Detail::Full | Detail::AnyKind => Form::Whole,
            Detail::Metadata => Form::Metadata,
        }
    }
}

impl Form {
    /// What is accepted for one object.
    pub fn of_one(self) -> &'static str {
        match self {
            Form::Whole => "application/json",
            Form::Metadata => METADATA,
            Form::Row => ROW,
        }
    }

    fn of_list(self) -> &'static str {
        match self {
            Form::Whole => "application/json",
            Form::Metadata => METADATA_LIST,
            Form::Row => ROW,
        }
    }
}

impl<'a> From<&'a Select> for Selector<'a> {
    fn from(select: &'a Select) -> Self {
        match select {
            Select::Fields(selector) => Selector::Fields(selector),
            Select::Labels(selector) => Selector::Labels(selector),
            Select::Every | Select::Terminating | Select::Local => Selector::Every,
        }
    }
}

/// A list that is being read.
pub struct Pages<'a> {
    server: &'a BoundedClient<'a>,
    path: String,
    /// Objects of the next page.
    pub limit: usize,
    pub next: String,
    max_bytes: usize,
    /// How many bytes the pages had that came by [`Pages::ask`].
    pub bytes: usize,
}

impl<'a> Pages<'a> {
    /// The list at `path`.
    pub fn new(server: &'a BoundedClient<'a>, path: &str, select: &Select) -> Self {
        let (path, max_bytes) = (selected(path, select.into()), server.bounds.answer);
        Pages { server, path, limit: FIRST, next: String::new(), max_bytes, bytes: 0 }
    }

    /// More bytes than this are not taken for a page.
    pub fn set_max_bytes(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes.min(self.server.bounds.answer);
    }

    /// The same list in rows, which are small.
    pub fn of_rows(self) -> Self {
        Pages { limit: MOST_ROWS, ..self }
    }

    /// Asks for the next page; for half as many objects where it is too long.
    pub async fn ask(&mut self, form: Form) -> Answer<Vec<u8>> {
        loop {
            let answer = self.ask_at(&self.next, self.limit, form).await;
            let max_bytes = self.max_bytes_of(self.limit);
            self.bytes += match &answer {
                Answer::Seen(body) => body.len(),
                Answer::Failed(Fault { kind: FaultKind::TooLarge, .. }) => max_bytes,
                Answer::Failed(_) | Answer::Missing | Answer::Unasked => 0,
            };
            match &answer {
                // The budget of a scan ends the scan.
                Answer::Failed(Fault { kind: FaultKind::TooLarge, status: None, .. })
                    if self.limit > 1 && max_bytes < self.max_bytes =>
                {
                    self.limit /= 2;
                }
                _ => return answer,
            }
        }
    }

    fn max_bytes_of(&self, limit: usize) -> usize {
        if limit > 1 { self.max_bytes.min(MAX_BYTES) } else { self.max_bytes }
    }

    /// Asks for so many objects from this place on.
    pub async fn ask_at(&self, place: &str, limit: usize, form: Form) -> Answer<Vec<u8>> {
        let path = &self.path;
        let token = if place.is_empty() { String::new() } else { format!("&continue={}", part(place)) };
        let without = if form == Form::Row { "&includeObject=None" } else { "" };
        let path = format!("{path}limit={limit}{token}{without}");
        self.server.get_at_most(&path, form.of_list(), self.max_bytes_of(limit)).await
    }

    /// A page has come: the next one begins at `next` and is as large as such objects allow.
    pub fn came(&mut self, bytes: usize, next: String) {
        // Another page comes after it, so it was full.
        self.limit = fitting(self.server.bounds.page, self.limit, bytes);
        self.next = next;
    }
}

/// How many objects fit into a page of so many bytes, when so many of them have so many bytes.
fn fitting(page: usize, objects: usize, bytes: usize) -> usize {
    (page * objects / bytes.max(1)).clamp(FIRST.min(objects), MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_as_large_as_their_objects_allow() {
        assert_eq!(fitting(4 << 20, 250, 250 * 4096), 1024);
        assert_eq!(fitting(4 << 20, 250, 250 * 100_000), FIRST);
        assert_eq!(fitting(4 << 20, 250, 250 * 100), MOST);
        assert_eq!(fitting(4 << 20, FIRST, 0), MOST);
        assert_eq!(fitting(4 << 20, 15, 15 << 20), 15, "more were too many");
    }
}
