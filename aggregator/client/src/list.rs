//! A list, read page by page into small types.

use std::ops::ControlFlow;
use std::time::Instant;

use findings::FaultKind;
use http::{Request, header};
use kube::client::Body;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::api_client::ApiClient;
use crate::fault::Fault;
use crate::path::{Selector, part, selected};
use crate::request::METADATA_LIST;

/// Objects per page after one that was too long: of all there is, a page of as many as others have would be as long again.
const FEWER: u32 = 125;

/// A list to read.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    /// The path of the collection.
    pub path: &'a str,
    /// Which of its objects.
    pub selector: Selector<'a>,
    /// How new it has to be.
    pub freshness: Freshness,
    /// Objects per page, unless they are too long.
    pub limit: u32,
    /// How much of each object is asked for.
    pub form: Form,
}

impl<'a> List<'a> {
    /// All of each object, as of now.
    pub fn new(path: &'a str, selector: Selector<'a>, limit: u32) -> Self {
        List { path, selector, freshness: Freshness::Consistent, limit, form: Form::Whole }
    }
}

/// How new an answer has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// As of now.
    Consistent,
    /// As the API server's cache has it, which spares it a search through all objects of the kind.
    Cached,
}

/// How much of each object is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Whole,
    /// All of it; of one that is too long by itself its metadata.
    WholeOrMetadata,
    Metadata,
}

#[derive(Deserialize)]
struct Page<T> {
    metadata: PageMeta,
    items: Vec<T>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PageMeta {
    resource_version: String,
    r#continue: String,
}

impl ApiClient {
    /// Page by page through a list; each is made small by `take` before the next is asked for. The version
    /// that the list is of; none when `take` has broken off.
    ///
    /// A page that is too long is asked for again with half as many objects. From its cache the server may give all
    /// of them at once whatever the limit, so no limit is named then: a list that is too long is asked for again page by
    /// page, and not from there.
    pub async fn list<T: DeserializeOwned>(
        &self,
        list: List<'_>,
        mut take: impl FnMut(Vec<T>) -> ControlFlow<()>,
    ) -> Result<Option<String>, Fault> {
        let (path, end) = (selected(list.path, list.selector), Instant::now() + self.limits.list_timeout);
        let mut is_cached = list.freshness == Freshness::Cached;
        let mut limit = (!is_cached).then_some(list.limit);
        let mut is_metadata = list.form == Form::Metadata;
        let mut place = String::new();
        while Instant::now() < end {
            let mut query = limit.map_or(String::new(), |limit| format!("limit={limit}"));
            if is_cached {
                query.push_str("&resourceVersion=0&resourceVersionMatch=NotOlderThan");
            } else if !place.is_empty() {
                query.push_str(&format!("&continue={}", part(&place)));
            }
            let accept = if is_metadata { METADATA_LIST } else { "application/json" };
            let request = Request::get(format!("{path}{query}")).header(header::ACCEPT, accept).body(Body::empty())?;
            let response = match self.send_request(request).await {
                Err(fault) if fault.kind == FaultKind::TooLarge && fault.status.is_none() => {
                    if std::mem::take(&mut is_cached) {
                        limit = Some(FEWER);
                        continue;
                    }
                    match limit.map(|limit| limit / 2).filter(|limit| *limit > 0) {
                        Some(fewer) => limit = Some(fewer),
                        None if list.form == Form::WholeOrMetadata && !is_metadata => is_metadata = true,
                        None => return Err(Fault::too_large("one object of a list", self.limits.max_answer_bytes)),
                    }
                    continue;
                }
                answer => answer?.success()?,
            };
            if is_metadata && list.form == Form::WholeOrMetadata {
                (is_metadata, limit) = (false, Some(FEWER));
            }
            let Page { metadata, items } = response.json()?;
            drop(response);
            let is_last = metadata.r#continue.is_empty();
            match take(items) {
                ControlFlow::Continue(()) if is_last => return Ok(Some(metadata.resource_version)),
                ControlFlow::Break(()) => return Ok(None),
                // It says which version it goes on with.
                ControlFlow::Continue(()) => (place, is_cached) = (metadata.r#continue, false),
            }
        }
        Err(Fault::timed_out(self.limits.list_timeout))
    }
}
