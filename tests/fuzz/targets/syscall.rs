//! A task's `syscall` and `stack`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = fuzz::parse::stack(bytes);
    let _ = fuzz::parse::syscall(bytes).as_ref().and_then(fuzz::parse::descriptor);
});
