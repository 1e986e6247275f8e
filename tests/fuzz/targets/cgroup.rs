//! A process's `cgroup`, and whose it is.
// Fuzzes: agent/core/src/parse/cgroup.rs
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = agent_core::parse::owner(&agent_core::parse::cgroup_lines(bytes));
});
