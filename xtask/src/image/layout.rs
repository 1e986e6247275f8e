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
    layer::{File as Held, add, layer},
    name::Name,
};
use crate::build::Program;

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

/// The image as it is for one machine.
pub struct Variant {
    /// As images name the machine.
    pub architecture: &'static str,
    /// What is in it.
    pub files: Vec<Held>,
}

/// Writes the archive, beside its place first: whoever reads it never sees half of it.
pub fn write(path: &Path, program: Program, name: &Name, variants: &[Variant]) -> Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
    }
    let unfinished = path.with_extension("unfinished");
    let file = File::create(&unfinished).with_context(|| format!("creating {}", unfinished.display()))?;
    archive(BufWriter::new(file), program, name, variants)
        .with_context(|| format!("writing {}", unfinished.display()))?;
    fs::rename(&unfinished, path).with_context(|| format!("renaming to {}", path.display()))
}

fn archive<W: Write>(out: W, program: Program, name: &Name, variants: &[Variant]) -> Result<()> {
    let mut blobs = Vec::new();
    let mut manifests = Vec::new();
    for variant in variants {
        manifests.push(manifest(program, variant, &mut blobs)?);
    }
    // What has the name is one image, or the one list of those for several machines: who imports chooses from it.
    let mut named = match manifests.as_slice() {
        [only] => only.clone(),
        _ => {
            let list = Blob::json(&index(&manifests))?;
            let descriptor = list.descriptor(INDEX);
            blobs.push(list);
            descriptor
        }
    };
    // The first is the layout's own word, and only a tag; containerd takes the whole name from the second.
    named["annotations"] =
        json!({"org.opencontainers.image.ref.name": name.tag, "io.containerd.image.name": name.reference()});

    let mut archive = tar::Builder::new(out);
    add(&mut archive, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#, 0o644)?;
    add(&mut archive, "index.json", &serde_json::to_vec(&index(&[named]))?, 0o644)?;
    for blob in &blobs {
        add(&mut archive, &format!("blobs/sha256/{}", blob.digest), &blob.bytes, 0o644)?;
    }
    archive.into_inner()?.flush()?;
    Ok(())
}

fn index(manifests: &[Value]) -> Value {
    json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests})
}

/// The descriptor of one machine's image, whose content goes to `blobs`.
fn manifest(program: Program, variant: &Variant, blobs: &mut Vec<Blob>) -> Result<Value> {
    let layer = Blob::new(layer(&variant.files)?);
    let config = Blob::json(&config(program, variant.architecture, &layer.digest))?;
    let manifest = Blob::json(&json!({
        "schemaVersion": 2, "mediaType": MANIFEST,
        "config": config.descriptor(CONFIG), "layers": [layer.descriptor(LAYER)],
        "annotations": labels(program),
    }))?;
    let mut descriptor = manifest.descriptor(MANIFEST);
    descriptor["platform"] = json!({"architecture": variant.architecture, "os": "linux"});
    blobs.extend([manifest, config, layer]);
    Ok(descriptor)
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

    use super::*;
    use crate::build::AGENT;

    fn image(architectures: &[&'static str]) -> Vec<u8> {
        let name = Name { repository: "registry.invalid/agent".to_owned(), tag: "1".to_owned() };
        let variant = |architecture: &&'static str| Variant {
            architecture,
            files: vec![Held { name: AGENT.name, content: architecture.as_bytes().to_vec(), mode: 0o755 }],
        };
        let mut bytes = Vec::new();
        archive(&mut bytes, AGENT, &name, &architectures.iter().map(variant).collect::<Vec<_>>()).unwrap();
        bytes
    }

    /// The files of an archive, of which each must be referred to.
    struct Layout(BTreeMap<String, Vec<u8>>);

    impl Layout {
        fn of(image: &[u8]) -> Self {
            let mut archive = tar::Archive::new(image);
            let entries = archive.entries().unwrap().map(|entry| {
                let mut entry = entry.unwrap();
                let mut content = Vec::new();
                entry.read_to_end(&mut content).unwrap();
                (entry.path().unwrap().display().to_string(), content)
            });
            Layout(entries.collect())
        }

        /// What a descriptor refers to, if its digest and size are right.
        fn follow(&mut self, descriptor: &Value) -> Vec<u8> {
            let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap().to_owned();
            let content = self.0.remove(&format!("blobs/sha256/{digest}")).unwrap();
            assert_eq!(descriptor["size"], content.len());
            assert_eq!(Blob::new(content.clone()).digest, digest);
            content
        }

        fn parsed(&mut self, descriptor: &Value) -> Value {
            serde_json::from_slice(&self.follow(descriptor)).unwrap()
        }

        /// From the index, which must name one thing, to it.
        fn named(&mut self) -> Value {
            let index: Value = serde_json::from_slice(&self.0.remove("index.json").unwrap()).unwrap();
            assert_eq!(index["manifests"].as_array().unwrap().len(), 1);
            assert_eq!(index["manifests"][0]["annotations"]["io.containerd.image.name"], "registry.invalid/agent:1");
            index["manifests"][0].clone()
        }

        /// Down to the layer of a machine's image.
        fn check(&mut self, descriptor: &Value, architecture: &str) {
            assert_eq!(descriptor["platform"], json!({"architecture": architecture, "os": "linux"}));
            let manifest = self.parsed(descriptor);
            let config = self.parsed(&manifest["config"]);
            let layer = self.follow(&manifest["layers"][0]);
            assert_eq!(config["rootfs"]["diff_ids"][0], format!("sha256:{}", Blob::new(layer.clone()).digest));
            assert_eq!(config["config"]["Entrypoint"], json!(["/why-terminating-agent"]));
            assert_eq!(config["architecture"], architecture);
            assert!(layer.windows(architecture.len()).any(|window| window == architecture.as_bytes()));
        }
    }

    #[test]
    fn the_same_binary_gives_the_same_bytes() {
        assert_eq!(image(&["amd64"]), image(&["amd64"]));
    }

    #[test]
    fn every_reference_leads_to_its_content() {
        let mut layout = Layout::of(&image(&["amd64"]));
        let named = layout.named();
        layout.check(&named, "amd64");
        assert_eq!(layout.0.into_keys().collect::<Vec<_>>(), ["oci-layout"]);
    }

    #[test]
    fn several_machines_are_one_list_under_one_name() {
        let mut layout = Layout::of(&image(&["amd64", "arm64"]));
        let named = layout.named();
        assert_eq!(named["mediaType"], INDEX);
        let list = layout.parsed(&named);
        for (descriptor, architecture) in list["manifests"].as_array().unwrap().iter().zip(["amd64", "arm64"]) {
            layout.check(descriptor, architecture);
        }
        assert_eq!(layout.0.into_keys().collect::<Vec<_>>(), ["oci-layout"]);
    }
}
