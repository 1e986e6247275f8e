//! What `-o jsonpath=` and `-o custom-columns=` select of the objects that `-o json` prints, by kubectl's rules.

use std::str::FromStr;

use aggregator_core::report::ClusterReport;
use anyhow::Result;
use findings::render::{Style, Table, screened};
use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::parser::parse_json_path;
use jsonpath_rust::query::js_path_process;
use serde_json::Value;

/// Text, with paths in braces: `{range .roots[*]}{.id}{"\n"}{end}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Path(JpQuery),
    Range(JpQuery, Vec<Part>),
}

/// `ID:.id,CAUSE:.finding.cause`: a row for each root cause, in which the paths begin.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns(Vec<(String, JpQuery)>);

impl Template {
    /// What it selects of the JSON of an answer.
    pub fn render(&self, json: &Value) -> Result<String> {
        rendered(&self.0, json)
    }
}

impl Columns {
    /// The table of an answer.
    pub fn render(&self, report: &ClusterReport, headers: bool, style: Style) -> Result<String> {
        let row = |root| {
            let value = serde_json::to_value(root)?;
            let cell = |(_, path): &(_, JpQuery)| {
                let all = selected(path, &value)?;
                Ok(if all.is_empty() {
                    "<none>".to_owned()
                } else {
                    all.into_iter().map(text).collect::<Vec<_>>().join(",")
                })
            };
            self.0.iter().map(cell).collect::<Result<Vec<String>>>()
        };
        let rows = report.roots.iter().map(row).collect::<Result<_>>()?;
        let head = headers.then(|| self.0.iter().map(|(name, _)| name.clone()).collect());
        Ok(screened(&Table::new(head, rows).render(style), style))
    }
}

fn rendered(parts: &[Part], value: &Value) -> Result<String> {
    let mut all = String::new();
    for part in parts {
        match part {
            Part::Text(text) => all.push_str(text),
            // What comes from the cluster hides nothing; tabs and the like are the template's own.
            Part::Path(path) => {
                let texts: Vec<String> = selected(path, value)?.into_iter().map(text).collect();
                all.push_str(&screened(&texts.join(" "), Style::Plain));
            }
            Part::Range(path, body) => {
                for item in selected(path, value)? {
                    all.push_str(&rendered(body, item)?);
                }
            }
        }
    }
    Ok(all)
}

fn selected<'v>(path: &JpQuery, value: &'v Value) -> Result<Vec<&'v Value>> {
    Ok(js_path_process(path, value)?.into_iter().map(|found| found.val).collect())
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl FromStr for Template {
    type Err = String;

    fn from_str(mut rest: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        // Each range that is open: its path, and what stands before it.
        let mut open: Vec<(JpQuery, Vec<Part>)> = Vec::new();
        while let Some((before, after)) = rest.split_once('{') {
            let end = closing(after).ok_or_else(|| format!("{{{after}: the closing }} is missing"))?;
            let inside = after[..end].trim();
            rest = &after[end + 1..];
            parts.push(Part::Text(before.to_owned()));
            match inside.split_once(char::is_whitespace) {
                _ if inside.starts_with(['"', '\'']) => parts.push(Part::Text(literal(inside)?)),
                Some(("range", over)) => open.push((path(over.trim())?, std::mem::take(&mut parts))),
                None if inside == "end" => {
                    let (over, before) = open.pop().ok_or("{end} without {range}")?;
                    let body = std::mem::replace(&mut parts, before);
                    parts.push(Part::Range(over, body));
                }
                _ => parts.push(Part::Path(path(inside)?)),
            }
        }
        parts.push(Part::Text(rest.to_owned()));
        if open.is_empty() { Ok(Template(parts)) } else { Err("{range} without {end}".to_owned()) }
    }
}

impl FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let column = |one: &str| {
            let (name, over) = one.split_once(':').ok_or_else(|| format!("{one}: give HEADER:PATH, as in ID:.id"))?;
            Ok((name.to_owned(), path(over)?))
        };
        text.split(',').map(column).collect::<Result<_, _>>().map(Columns)
    }
}

/// Where the brace closes, which may also stand between quotes.
fn closing(text: &str) -> Option<usize> {
    let (mut quote, mut is_escaped) = (None, false);
    text.char_indices().find_map(|(at, c)| {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' | '\'' if quote.is_none() => quote = Some(c),
            _ if quote == Some(c) => quote = None,
            '}' if quote.is_none() => return Some(at),
            _ => {}
        }
        None
    })
}

/// `"\n"`, or the same between single quotes.
fn literal(quoted: &str) -> Result<String, String> {
    let mark = if quoted.starts_with('\'') { '\'' } else { '"' };
    let inside = quoted.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    let json =
        inside.map(|text| if mark == '\'' { format!("\"{}\"", text.replace('"', "\\\"")) } else { quoted.to_owned() });
    json.and_then(|json| serde_json::from_str(&json).ok()).ok_or_else(|| format!("{quoted}: not a text between quotes"))
}

/// A path as kubectl takes it: `.a`, `$.a`, `@.a` and `a` are one; the rest is that of RFC 9535.
fn path(text: &str) -> Result<JpQuery, String> {
    let rest = text.strip_prefix(['$', '@']).unwrap_or(text);
    let dot = if rest.is_empty() || rest.starts_with(['.', '[']) { "" } else { "." };
    parse_json_path(&format!("${dot}{rest}")).map_err(|_| format!("{text}: not a path that is supported here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_supported_is_named() {
        for (wrong, named) in [
            ("{.a", "{.a: the closing } is missing"),
            ("{range .a}{.b}", "{range} without {end}"),
            ("{.a}{end}", "{end} without {range}"),
            (r"{.a\.b}", r".a\.b: not a path that is supported here"),
            ("{.a[}", ".a[: not a path that is supported here"),
            (r#"{"a}"#, "the closing } is missing"),
        ] {
            let error = wrong.parse::<Template>().unwrap_err();
            assert!(error.contains(named), "{wrong}: {error}");
        }
        assert_eq!("ID".parse::<Columns>().unwrap_err(), "ID: give HEADER:PATH, as in ID:.id");
    }
}
