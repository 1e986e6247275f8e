//! One report as metrics and as page, for tests that compare what every program shows of it.

use std::sync::Arc;

use aggregator_core::report::ClusterReport;

use super::{metrics, page};
use crate::published::Published;

/// The metrics of its objects and roots, and the page's list of its roots.
pub fn rendered(report: ClusterReport) -> (String, String) {
    let page = page::root_list(&report);
    let published = Published { report: Some(Arc::new(report)), ..Published::default() };
    (metrics::of_report(&published).unwrap_or_default(), page)
}
