//! The scan of many kinds for what is being deleted. The first page of each is both its count and mostly all of it; longer
//! lists are read on, the shortest first, while time and bytes last.

use std::sync::atomic::{AtomicUsize, Ordering};

use aggregator_core::state::{Answered, Question};
use futures::StreamExt as _;
use tokio::time::Instant;

use super::bounded_client::BoundedClient;
use super::bounds::ScanBudget;
use super::list::Listing;

/// Kinds that are read at a time.
const MAX_IN_FLIGHT: usize = 4;
/// Objects of a first page.
const FIRST_PAGE: usize = 500;
/// A server that ignores the limit, or sends whole objects, is stopped after so much of one page.
const MAX_PAGE_BYTES: usize = 8 << 20;

/// Scans kinds, each as far as the budget lasts.
pub async fn scan_kinds(server: &BoundedClient<'_>, questions: Vec<Question>, budget: ScanBudget) -> Vec<Answered> {
    let left = Left::new(budget);
    let mut listings: Vec<Listing> = questions.into_iter().map(|question| first_page_of(server, question)).collect();
    let first_page = async |listing: &mut Listing| {
        left.read_page(listing).await;
    };
    futures::stream::iter(&mut listings).for_each_concurrent(MAX_IN_FLIGHT, first_page).await;
    listings.sort_by_key(|listing| listing.remaining.unwrap_or(usize::MAX));
    let more_pages = async |listing: &mut Listing| while !listing.is_done && left.read_page(listing).await {};
    futures::stream::iter(&mut listings).for_each_concurrent(MAX_IN_FLIGHT, more_pages).await;
    listings.into_iter().map(Listing::finish).collect()
}

/// Scans one kind, as far as the budget lasts.
pub async fn scan_kind(server: &BoundedClient<'_>, question: Question, budget: ScanBudget) -> Answered {
    let left = Left::new(budget);
    let mut listing = first_page_of(server, question);
    while !listing.is_done && left.read_page(&mut listing).await {}
    listing.finish()
}

fn first_page_of<'a>(server: &'a BoundedClient<'a>, question: Question) -> Listing<'a> {
    let mut listing = Listing::new(server, question);
    listing.pages.limit = FIRST_PAGE;
    listing
}

/// What is left of a budget.
struct Left {
    until: Instant,
    bytes: AtomicUsize,
}

impl Left {
    fn new(budget: ScanBudget) -> Self {
        Left { until: Instant::now() + budget.time, bytes: AtomicUsize::new(budget.bytes) }
    }

    /// Reads the next page; whether the budget sufficed.
    async fn read_page(&self, listing: &mut Listing<'_>) -> bool {
        let bytes = self.bytes.load(Ordering::Relaxed);
        if bytes == 0 {
            return false;
        }
        listing.pages.set_max_bytes(bytes.min(MAX_PAGE_BYTES));
        let before = listing.pages.bytes;
        let is_read = tokio::time::timeout_at(self.until, listing.next_page()).await.is_ok();
        let spent = listing.pages.bytes - before;
        let _ = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(spent)));
        is_read
    }
}
