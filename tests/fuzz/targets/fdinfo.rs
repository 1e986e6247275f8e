//! What `fdinfo` says of a descriptor.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = fuzz::parse::fdinfo(bytes);
});
