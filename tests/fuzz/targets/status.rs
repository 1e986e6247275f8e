//! A task's `status`.
// Fuzzes: agent/core/src/parse/status.rs
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = agent_core::parse::status(bytes);
});
