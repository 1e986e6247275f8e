//! A finding that is read back from an Event: what can be read can be written and read again.
// Fuzzes: findings/src/event findings/src/finding.rs findings/src/placeholder.rs
#![no_main]

use findings::event::Carried;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(carried) = Carried::from_annotation(text) {
        let again = carried.to_annotation();
        assert!(Carried::from_annotation(&again).is_ok(), "cannot be read again: {again}");
    }
});
