//! Lines of the kubelet's metrics, whose drivers' names others choose.
// Fuzzes: agent/core/src/parse/exposition.rs
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|byte| *byte == b'\n') {
        let _ = agent_core::parse::counter(line);
    }
});
