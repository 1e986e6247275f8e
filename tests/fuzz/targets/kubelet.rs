//! The kubelet's command line, and its configuration file.
// Fuzzes: agent/core/src/parse/kubelet.rs
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let arguments: Vec<String> = text.split(char::is_whitespace).map(str::to_owned).collect();
    let _ = agent_core::parse::kubelet_flags(&arguments);
    let _ = agent_core::parse::kubelet_config(&text);
});
