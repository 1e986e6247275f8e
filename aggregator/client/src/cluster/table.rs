//! Pods that are being deleted, found in tables: a row has a thirtieth of the bytes of an object's metadata.
//!
//! The printer's last word on a pod that goes and has not ended is its status `Terminating`, or `Unknown` where its node
//! is lost (kubernetes: pkg/printers/internalversion). Rows have no namespace: the list is walked once more to the
//! rows that count, and each of them is asked for whole. Pods that have ended show why instead, so those are listed by
//! their metadata.

use std::borrow::Cow;

use aggregator_core::state::{ListMeta, or_default};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Pods whose row shows whether they are being deleted.
pub const NOT_ENDED: &str = "status.phase!=Succeeded,status.phase!=Failed";
/// The others.
pub const ENDED: &str = "status.phase!=Running,status.phase!=Pending,status.phase!=Unknown";

/// So many rows between two that count are asked for whole with them: it takes fewer requests.
const NEAR: usize = 8;
/// Of pods of eight kilobytes so many are a page as large as others.
const LARGEST: usize = 500;

/// A page of a table.
#[derive(Debug, PartialEq, Eq)]
pub struct Rows {
    /// Which of them count.
    pub going: Vec<usize>,
    /// What leads to the next page; empty at the last.
    pub next: String,
}

/// Reads a page; none when it is no table with a column of statuses.
pub fn rows(body: &[u8]) -> Option<Rows> {
    let Table { kind, metadata, columns, rows } = serde_json::from_slice(body).ok()?;
    let status = columns.iter().position(|column| column.name == "Status").filter(|_| kind == "Table")?;
    let is_last_word = |cell: &&RawValue| matches!(cell.get(), r#""Terminating""# | r#""Unknown""#);
    let is_going = |row: &Row| row.cells.get(status).is_none_or(is_last_word);
    let going = rows.iter().enumerate().filter(|(_, row)| is_going(row)).map(|(at, _)| at).collect();
    Some(Rows { going, next: metadata.next })
}

/// Rows that are asked for together: where they begin, and how many they are.
pub fn runs(going: &[usize]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &at in going {
        match runs.last_mut() {
            Some((begin, count)) if at <= *begin + *count + NEAR && at < *begin + LARGEST => *count = at - *begin + 1,
            _ => runs.push((at, 1)),
        }
    }
    runs
}

#[derive(Deserialize)]
struct Table<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    metadata: ListMeta,
    #[serde(rename = "columnDefinitions", default, deserialize_with = "or_default")]
    columns: Vec<Column>,
    #[serde(borrow, default)]
    rows: Vec<Row<'a>>,
}

#[derive(Deserialize)]
struct Column {
    name: String,
}

#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow)]
    cells: Vec<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_known_by_its_status() {
        let row = |status: &str| format!(r#"{{"cells":["web-0","1/1",{status},7,null,{{}},[]],"object":null}}"#);
        let statuses = [r#""Running""#, r#""Terminating""#, r#""Init:0\/1""#, r#""Unknown""#];
        let rows_text = statuses.map(row).join(",");
        let page = |columns: &str| {
            format!(
                r#"{{"kind":"Table","metadata":{{"continue":"c"}},"columnDefinitions":[{columns}],"rows":[{rows_text}]}}"#
            )
        };
        let columns = r#"{"name":"Name"},{"name":"Ready"},{"name":"Status"}"#;
        let found = rows(page(columns).as_bytes()).unwrap();
        assert_eq!(found, Rows { going: vec![1, 3], next: "c".to_owned() });
        // A server that knows no tables, or another table.
        assert_eq!(rows(page(r#"{"name":"Name"}"#).as_bytes()), None);
        assert_eq!(rows(br#"{"kind":"PodList","items":[]}"#), None);
        // A row without that cell may be anything.
        let short = r#"{"kind":"Table","columnDefinitions":[{"name":"Status"}],"rows":[{"cells":[]}]}"#;
        assert_eq!(rows(short.as_bytes()).unwrap().going, [0]);
    }

    #[test]
    fn rows_that_are_near_each_other_are_asked_for_together() {
        assert_eq!(runs(&[3, 4, 9, 100]), [(3, 7), (100, 1)]);
        assert_eq!(runs(&[]), []);
    }
}
