//! Whatever an API answers, no form of the answer holds an invisible character, and no text of it can forge a line.

use std::collections::BTreeMap;

use aggregator_core::judgement::judge;
use aggregator_core::state::State;
use findings::is_visible;
use findings::render::{self, Detail, Style};
use plugin::report::{dot, mermaid, name, screen, table, tree, yaml};

use crate::golden::RECORDINGS;
use crate::support::*;

/// A direction, an escape sequence, nothing, a tag, a line.
const HOSTILE: &str = "\u{202e}\u{61c}\u{1b}[8m\u{ad}\u{2028}\u{e0041}\u{9b}\nFORGED";

/// Every text in it, with those at the same place of a list together.
fn texts<'a>(value: &'a mut Value, at: &str, found: &mut BTreeMap<String, Vec<&'a mut String>>) {
    match value {
        Value::String(text) => found.entry(at.to_owned()).or_default().push(text),
        Value::Array(items) => items.iter_mut().for_each(|item| texts(item, at, found)),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(name, field)| texts(field, &format!("{at}.{name}"), found));
        }
        _ => {}
    }
}

fn assert_nothing_is_hidden(text: &str, of: &str) {
    let hidden = text.chars().find(|c| *c != '\n' && !is_visible(*c));
    assert!(hidden.is_none(), "{of}: {hidden:?} in {text:?}");
    assert!(!text.lines().any(|line| line.trim_start().starts_with("FORGED")), "{of}: {text}");
}

#[test]
fn no_answer_holds_what_cannot_be_seen() {
    let mut judged = 0;
    for recorded in RECORDINGS {
        let saved = serde_json::to_value(look(recording(recorded), everything()).state).unwrap();
        let places: Vec<String> = {
            let mut whole = saved.clone();
            let mut found = BTreeMap::new();
            texts(&mut whole, "", &mut found);
            found.into_keys().collect()
        };
        for place in places {
            let mut hostile = saved.clone();
            let mut found = BTreeMap::new();
            texts(&mut hostile, "", &mut found);
            found.remove(&place).into_iter().flatten().for_each(|text| text.push_str(HOSTILE));
            // What must have a shape is not read at all.
            let Ok(state) = serde_json::from_value::<State>(hostile) else { continue };
            let report = judge(&state);
            let (json, yaml) = (render::json(&report).unwrap(), yaml(&report).unwrap());
            let of = format!("{recorded} {place}");
            for text in [
                &tree(&report, Detail::Short, 100, Style::Plain),
                &tree(&report, Detail::Wide, 100, Style::Plain),
                &table(&report, true, Style::Plain),
                &screen(&report, 100, Style::Plain),
                &name(&report),
                &dot(&report),
                &mermaid(&report),
                &json,
                &yaml,
            ] {
                assert_nothing_is_hidden(text, &of);
            }
            let meant = serde_json::to_value(&report).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), meant, "{of}: JSON loses something");
            assert_eq!(serde_saphyr::from_str::<Value>(&yaml).unwrap(), meant, "{of}: YAML loses something\n{yaml}");
            judged += 1;
        }
    }
    assert!(judged > 200, "{judged} states");
}
