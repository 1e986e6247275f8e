//! The words of every answer at a terminal. Both programs answer through this, so that the same finding reads the
//! same from either. It writes to strings; who has a terminal prints them.

mod cause;
mod exit_code;
mod finding;
mod page;
mod screen;
mod style;
mod table;

use std::io;

use serde::Serialize;

pub use cause::{NoSuchCause, causes};
pub use exit_code::{AFTER_HELP, exit_code};
pub use finding::{evidence, finding, remedy, unknown};
pub use page::Page;
pub use style::Style;
pub use table::{Table, cut};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What holds it and what to do.
    Short,
    /// Also the evidence.
    Wide,
}

/// A report as scripts take it: indented, with a final newline. What cannot be seen is escaped: such text
/// is looked at too.
pub fn json(report: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(report)? + "\n";
    let escape = |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
    // Outside of its strings there are only the newlines.
    Ok(screen::escaped(&text, Style::Plain, escape))
}

/// Text that is about to be shown, with nothing in it that cannot be seen but newlines and the style's own marks. Each part
/// of an answer has been cleaned where its bound was known; this is for what was forgotten.
pub fn screened(text: &str, style: Style) -> String {
    screen::escaped(text, style, |c| c.escape_unicode().collect())
}

/// Writes an answer, [screened].
pub fn print(text: &str, style: Style, to: impl io::Write) -> io::Result<()> {
    write(&screened(text, style), to)
}

/// Writes what has been screened; a reader that has seen enough (`| head`) is no failure.
pub fn write(screened: &str, mut to: impl io::Write) -> io::Result<()> {
    match to.write_all(screened.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_read_as_what_it_was_and_hides_nothing() {
        let hidden = "a\u{202e}b\u{e0041}c\u{7f}d\u{9b}\u{1b}[8m\n😀";
        let text = json(&[hidden]).unwrap();
        assert_eq!(text, "[\n  \"a\\u202eb\\udb40\\udc41c\\u007fd\\u009b\\u001b[8m\\n😀\"\n]\n");
        assert_eq!(serde_json::from_str::<[String; 1]>(&text).unwrap(), [hidden]);
    }

    struct Gone(io::ErrorKind);

    impl io::Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure_and_a_full_disk_is() {
        assert!(print("x", Style::Plain, Gone(io::ErrorKind::BrokenPipe)).is_ok());
        assert!(print("x", Style::Plain, Gone(io::ErrorKind::StorageFull)).is_err());
    }
}
