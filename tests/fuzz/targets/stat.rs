//! A task's `stat`.
// Fuzzes: agent/core/src/parse/stat.rs
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = agent_core::parse::stat(bytes).map(|stat| (stat.exiting(), stat.is_kernel_thread()));
});
