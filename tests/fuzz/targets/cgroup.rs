//! A process's `cgroup`, and whose it is.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = fuzz::parse::owner(&fuzz::parse::cgroup_lines(bytes));
});
