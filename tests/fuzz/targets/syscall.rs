//! A task's `syscall` and `stack`.
// Fuzzes: agent/core/src/parse/syscall.rs
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = agent_core::parse::stack(bytes);
    let _ = agent_core::parse::syscall(bytes).as_ref().and_then(agent_core::parse::descriptor);
});
