//! Whatever names a tenant chooses, no answer holds an invisible character, and no name can forge a line of it.

use std::{collections::BTreeMap, fs, path::Path};

use agent::report;
use agent_core::{gates, observation::Observation};
use findings::is_visible;
use findings::render::{self, Detail, Style};
use serde_json::Value;

/// A direction, an escape sequence, nothing, a tag, a line.
const HOSTILE: &str = "\u{202e}\u{61c}\u{1b}[8m\u{ad}\u{2028}\u{e0041}\u{9b}\nFORGED";

/// Every text in it, with those at the same place of a list together.
fn texts<'a>(value: &'a mut Value, at: &str, found: &mut BTreeMap<String, Vec<&'a mut String>>) {
    match value {
        Value::String(text) => found.entry(at.to_owned()).or_default().push(text),
        Value::Array(items) => items.iter_mut().for_each(|item| texts(item, at, found)),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(name, field)| texts(field, &format!("{at}.{name}"), found))
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/adversary");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut judged = 0;
    for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "json")) {
        let saved: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let places: Vec<String> = {
            let mut whole = saved.clone();
            let mut places = BTreeMap::new();
            texts(&mut whole, "", &mut places);
            places.into_keys().collect()
        };
        for place in places {
            let mut hostile = saved.clone();
            let mut places = BTreeMap::new();
            texts(&mut hostile, "", &mut places);
            places.remove(&place).into_iter().flatten().for_each(|text| text.push_str(HOSTILE));
            // What must have a shape is not read at all.
            let Ok(seen) = serde_json::from_value::<Observation>(hostile) else { continue };
            let report = gates::judge(&seen);
            let of = format!("{} {place}", file.display());
            for detail in [Detail::Short, Detail::Wide] {
                assert_nothing_is_hidden(&report::tree(&report, detail, Style::Plain), &of);
            }
            let json = render::json(&report).unwrap();
            assert_nothing_is_hidden(&json, &of);
            assert_eq!(
                serde_json::from_str::<Value>(&json).unwrap(),
                serde_json::to_value(&report).unwrap(),
                "{of}: JSON loses something"
            );
            judged += 1;
        }
    }
    assert!(judged > 1000, "{judged} observations");
}
