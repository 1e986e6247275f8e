//! Pages of a cluster that is served as it was prepared. Making one anew takes this server more time than the client
//! needs to read it, and a benchmark of the client would measure the server.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use axum::{body::Bytes, http::header};

use crate::request::Asked;

/// A page as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) content_type: String,
    pub(crate) plain_bytes: u64,
    pub(crate) body: Bytes,
    pub(crate) is_packed: bool,
}

/// What decides how a page is sent: path and query, forms and codings that are accepted.
pub(crate) type Place = [String; 3];

/// The pages that were sent, each with the cluster's version.
#[derive(Debug, Default)]
pub(crate) struct PageCache(Mutex<HashMap<Place, (u64, Page)>>);

impl PageCache {
    /// Where the page of a list is kept; nothing of other requests.
    pub(crate) fn place(asked: &Asked, query: &str) -> Option<Place> {
        let header = |name| asked.header(name).to_owned();
        let path = || format!("{}?{query}", asked.path);
        (asked.verb == "list").then(|| [path(), header(header::ACCEPT), header(header::ACCEPT_ENCODING)])
    }

    /// The page, if the cluster has not changed since.
    pub(crate) fn get(&self, place: &Place, version: u64) -> Option<Page> {
        let pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.get(place).filter(|(made_at, _)| *made_at == version).map(|(_, page)| page.clone())
    }

    pub(crate) fn put(&self, place: Place, version: u64, page: Page) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(place, (version, page));
    }
}
