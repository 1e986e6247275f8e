//! A CSI volume's `vol_data.json`.
// Fuzzes: agent/core/src/parse/vol_data.rs
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = agent_core::parse::vol_data(bytes);
});
