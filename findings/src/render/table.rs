//! Rows in columns, as kubectl prints them.

use super::Style;

/// Rows of as many columns; all but the last are as wide as their longest cell.
pub struct Table<const COLUMNS: usize> {
    head: Option<[String; COLUMNS]>,
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// These rows, below a head if there is one.
    pub fn new(head: Option<[&str; COLUMNS]>, rows: Vec<[String; COLUMNS]>) -> Self {
        Table { head: head.map(|head| head.map(str::to_owned)), rows }
    }

    /// Its lines; `width` cuts the last column, and no width leaves it whole. Nothing when there are no rows.
    pub fn render(self, width: Option<usize>, style: Style) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let Table { head, rows } = self;
        let has_head = head.is_some();
        let rows: Vec<[String; COLUMNS]> = head.into_iter().chain(rows).collect();
        let longest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; COLUMNS] = std::array::from_fn(longest);
        let mut text = String::new();
        for (index, row) in rows.iter().enumerate() {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths).take(COLUMNS - 1) {
                line.push_str(&format!("{cell:<width$}   "));
            }
            let last = row.last().map_or("", String::as_str);
            let room = width.map(|width| width.saturating_sub(line.chars().count()).max(20));
            line.push_str(&room.map_or(last.to_owned(), |room| cut(last, room)));
            let line = line.trim_end();
            text.push_str(&if has_head && index == 0 { style.strong(line) } else { line.to_owned() });
            text.push('\n');
        }
        text
    }
}

/// The beginning of a text that does not fit.
pub fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_longest_cell_and_the_last_is_cut() {
        let rows = || vec![["shop".to_owned(), "a cause with many words".to_owned()]];
        let table = Table::new(Some(["NAMESPACE", "CAUSE"]), rows());
        assert_eq!(table.render(Some(0), Style::Plain), "NAMESPACE   CAUSE\nshop        a cause with many w…\n");
        assert_eq!(Table::new(None, rows()).render(None, Style::Plain), "shop   a cause with many words\n");
        assert_eq!(Table::<2>::new(Some(["A", "B"]), Vec::new()).render(None, Style::Plain), "");
    }
}
