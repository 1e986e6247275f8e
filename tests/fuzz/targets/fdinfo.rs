//! What `fdinfo` says of a descriptor.
// Fuzzes: agent/core/src/parse/fdinfo.rs
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = agent_core::parse::fdinfo(bytes);
});
