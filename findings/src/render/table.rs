//! Rows in columns, as kubectl prints them.

use super::Style;

/// Rows of as many columns; all but the last are as wide as their longest cell.
pub struct Table {
    has_head: bool,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// These rows, below a head if there is one.
    pub fn new(head: Option<Vec<String>>, mut rows: Vec<Vec<String>>) -> Self {
        let has_head = head.is_some();
        // Nothing when there are no rows.
        if let Some(head) = head.filter(|_| !rows.is_empty()) {
            rows.insert(0, head);
        }
        Table { has_head, rows }
    }

    /// Its lines, never cut.
    pub fn render(self, style: Style) -> String {
        let columns = self.rows.first().map_or(0, Vec::len);
        let longest = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|column| longest(column).unwrap_or(0)).collect();
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}   "));
            let line = cells.collect::<String>();
            let line = line.trim_end();
            text.push_str(&if self.has_head && index == 0 { style.strong(line) } else { line.to_owned() });
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
    fn columns_are_as_wide_as_their_longest_cell() {
        let table = |head: &[&str], rows: &[&[&str]]| {
            let owned = |row: &[&str]| row.iter().copied().map(str::to_owned).collect::<Vec<_>>();
            let head = Some(owned(head)).filter(|head| !head.is_empty());
            Table::new(head, rows.iter().copied().map(owned).collect()).render(Style::Plain)
        };
        let row: &[&str] = &["shop", "a cause with many words"];
        assert_eq!(table(&["NAMESPACE", "CAUSE"], &[row]), "NAMESPACE   CAUSE\nshop        a cause with many words\n");
        assert_eq!(table(&[], &[row]), "shop   a cause with many words\n");
        assert_eq!(table(&["A", "B"], &[]), "");
    }
}
