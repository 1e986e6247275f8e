//! A mount table: what is found by parsing every line is found by a mark as well.
// Fuzzes: agent/core/src/parse/mountinfo.rs
#![no_main]

use agent_core::parse::mountinfo::{mounts, mounts_with};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Every mount has a device, `8:1`.
    assert_eq!(mounts_with(bytes, b":", |_| true), mounts(bytes, |_| true).mounts);
});
