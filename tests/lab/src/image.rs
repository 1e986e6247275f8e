//! The one image of the lab, made by hand from busybox, because a lab pulls nothing.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use serde_json::json;
use sha2::{Digest as _, Sha256};

/// What containers run.
pub const BUSYBOX: &str = "lab.invalid/busybox:1";
/// The same for containers that only sleep: a stop kills them at once, without their grace period. An init that handles no
/// signal would sit it out.
pub const SLEEPER: &str = "lab.invalid/sleeper:1";
/// What sandboxes run.
pub const PAUSE: &str = "lab.invalid/pause:1";

/// The statically linked busybox of the distribution.
const PROGRAM: &str = "/bin/busybox";

/// The applets that scenarios use.
const APPLETS: [&str; 9] = ["sh", "sleep", "cat", "ls", "touch", "sync", "true", "trap", "mount"];

/// Writes both images as one archive in the form that `docker save` makes.
pub fn write_archive(path: &Path) -> anyhow::Result<()> {
    let busybox = fs::read(PROGRAM)
        .with_context(|| format!("read {PROGRAM}: install the statically linked busybox (busybox-static)"))?;
    let layer = layer(&busybox)?;
    let diff_id = format!("sha256:{}", sha256(&layer));
    let mut archive = tar::Builder::new(File::create(path).with_context(|| format!("create {}", path.display()))?);
    let mut manifest = Vec::new();
    let sleep = || vec!["/bin/sleep", "2147483647"];
    let images = [(BUSYBOX, vec!["/bin/sh"], "SIGTERM"), (SLEEPER, sleep(), "SIGKILL"), (PAUSE, sleep(), "SIGTERM")];
    for (name, command, stop) in images {
        let config = serde_json::to_vec(&json!({
            "architecture": architecture(), "os": "linux",
            "config": {"Entrypoint": command, "Env": ["PATH=/bin"], "StopSignal": stop},
            "rootfs": {"type": "layers", "diff_ids": [diff_id]},
        }))?;
        let config_name = format!("{}.json", sha256(&config));
        add(&mut archive, &config_name, &config, 0o644)?;
        manifest.push(json!({"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]}));
    }
    add(&mut archive, "layer.tar", &layer, 0o644)?;
    add(&mut archive, "manifest.json", &serde_json::to_vec(&manifest)?, 0o644)?;
    archive.into_inner()?.flush()?;
    Ok(())
}

fn layer(busybox: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut layer = tar::Builder::new(Vec::new());
    for dir in ["bin/", "tmp/", "etc/"] {
        let mut header = header(tar::EntryType::Directory, 0, 0o755);
        layer.append_data(&mut header, dir, &[][..])?;
    }
    add(&mut layer, "bin/busybox", busybox, 0o755)?;
    for applet in APPLETS {
        let mut header = header(tar::EntryType::Symlink, 0, 0o777);
        layer.append_link(&mut header, format!("bin/{applet}"), "busybox")?;
    }
    Ok(layer.into_inner()?)
}

fn add<W: Write>(archive: &mut tar::Builder<W>, name: &str, content: &[u8], mode: u32) -> anyhow::Result<()> {
    let mut header = header(tar::EntryType::Regular, content.len(), mode);
    Ok(archive.append_data(&mut header, name, content)?)
}

fn header(kind: tar::EntryType, size: usize, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size as u64);
    header.set_mode(mode);
    header
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// In lower-case hexadecimal.
pub fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_hexadecimal() {
        assert!(sha256(b"").starts_with("e3b0c44298fc1c14"));
    }

    #[test]
    fn the_layer_holds_busybox_and_its_names() {
        let layer = layer(b"program").unwrap();
        let names: Vec<String> = tar::Archive::new(&layer[..])
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        assert!(names.contains(&"bin/busybox".to_owned()));
        assert!(names.contains(&"bin/sh".to_owned()));
    }
}
