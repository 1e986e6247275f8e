//! The archive: an OCI image layout (image-spec v1, `image-layout.md`).

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    Name, Program,
    layer::{File as Held, add, layer},
};

const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// A piece of content and what refers to it.
struct Blob {
    digest: String,
    bytes: Vec<u8>,
}

impl Blob {
    fn new(bytes: Vec<u8>) -> Self {
        let digest = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Blob { digest, bytes }
    }

    fn json(value: &Value) -> Result<Self> {
        Ok(Self::new(serde_json::to_vec(value)?))
    }

    fn descriptor(&self, media_type: &str) -> Value {
        json!({"mediaType": media_type, "digest": format!("sha256:{}", self.digest), "size": self.bytes.len()})
    }
}

/// Writes the archive, beside its place first: whoever reads it never sees half of it.
pub fn write(path: &Path, program: Program, name: &Name, architecture: &str, files: &[Held]) -> Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
    }
    let unfinished = path.with_extension("unfinished");
    let file = File::create(&unfinished).with_context(|| format!("creating {}", unfinished.display()))?;
    archive(BufWriter::new(file), program, name, architecture, files)
        .with_context(|| format!("writing {}", unfinished.display()))?;
    fs::rename(&unfinished, path).with_context(|| format!("renaming to {}", path.display()))
}

fn archive<W: Write>(out: W, program: Program, name: &Name, architecture: &str, files: &[Held]) -> Result<()> {
    let layer = Blob::new(layer(files)?);
    let platform = json!({"architecture": architecture, "os": "linux"});
    let config = Blob::json(&config(program, architecture, &layer.digest))?;
    let manifest = Blob::json(&json!({
        "schemaVersion": 2, "mediaType": MANIFEST,
        "config": config.descriptor(CONFIG), "layers": [layer.descriptor(LAYER)],
        "annotations": labels(program),
    }))?;
    let mut entry = manifest.descriptor(MANIFEST);
    entry["platform"] = platform;
    // The first is the layout's own word, and only a tag; containerd takes the whole name from the second.
    entry["annotations"] =
        json!({"org.opencontainers.image.ref.name": name.tag, "io.containerd.image.name": name.to_string()});
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]});

    let mut archive = tar::Builder::new(out);
    add(&mut archive, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#, 0o644)?;
    add(&mut archive, "index.json", &serde_json::to_vec(&index)?, 0o644)?;
    for blob in [&manifest, &config, &layer] {
        add(&mut archive, &format!("blobs/sha256/{}", blob.digest), &blob.bytes, 0o644)?;
    }
    archive.into_inner()?.flush()?;
    Ok(())
}

fn config(program: Program, architecture: &str, layer: &str) -> Value {
    json!({
        "architecture": architecture, "os": "linux",
        "config": {"User": program.user, "Entrypoint": [format!("/{}", program.name)], "WorkingDir": "/", "Labels": labels(program)},
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{layer}")]},
    })
}

/// No commit and no date: the same binary gives the same image.
fn labels(program: Program) -> Value {
    json!({
        "org.opencontainers.image.title": program.name,
        "org.opencontainers.image.description": program.about,
        "org.opencontainers.image.version": env!("CARGO_PKG_VERSION"),
        "org.opencontainers.image.licenses": "Apache-2.0",
    })
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, io::Read as _};

    use super::super::program::AGENT;
    use super::*;

    fn image() -> Vec<u8> {
        let name = Name { repository: "registry.invalid/agent".to_owned(), tag: "1".to_owned() };
        let files = [Held { name: AGENT.name, content: b"program".to_vec(), mode: 0o755 }];
        let mut bytes = Vec::new();
        archive(&mut bytes, AGENT, &name, "amd64", &files).unwrap();
        bytes
    }

    fn files(image: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let mut archive = tar::Archive::new(image);
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (entry.path().unwrap().display().to_string(), content)
        });
        entries.collect()
    }

    #[test]
    fn the_same_binary_gives_the_same_bytes() {
        assert_eq!(image(), image());
    }

    /// Follows the references from the index to the layer, and checks every digest and size.
    #[test]
    fn every_reference_leads_to_its_content() {
        let files = files(&image());
        let follow = |descriptor: &Value| {
            let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap().to_owned();
            let content = files[&format!("blobs/sha256/{digest}")].clone();
            assert_eq!(descriptor["size"], content.len());
            assert_eq!(Blob::new(content.clone()).digest, digest);
            content
        };
        let parse = |content: &[u8]| serde_json::from_slice::<Value>(content).unwrap();
        let index = parse(&files["index.json"]);
        let manifest = parse(&follow(&index["manifests"][0]));
        let config = parse(&follow(&manifest["config"]));
        let layer = follow(&manifest["layers"][0]);
        assert_eq!(config["rootfs"]["diff_ids"][0], format!("sha256:{}", Blob::new(layer).digest));
        assert_eq!(config["config"]["Entrypoint"], json!(["/why-terminating-agent"]));
        assert_eq!(index["manifests"][0]["annotations"]["io.containerd.image.name"], "registry.invalid/agent:1");
    }
}
