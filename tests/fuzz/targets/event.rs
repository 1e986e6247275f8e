//! A finding that is read back from an Event: what can be read can be written and read again.
// Fuzzes: findings/src/event findings/src/finding.rs findings/src/placeholder.rs
#![no_main]

use findings::event::FindingAnnotation;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(carried) = FindingAnnotation::parse(text) {
        let again = carried.to_json();
        assert!(FindingAnnotation::parse(&again).is_ok(), "cannot be read again: {again}");
    }
});
