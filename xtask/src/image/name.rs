//! What an image is called.

use std::path::Path;

use anyhow::{Context, Result};

use crate::build::Program;

/// The image's name, as the deployment writes it: named there once, so that an image that was imported
/// by hand is the one the deployment asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Name {
    /// The registry and the path in it.
    pub repository: String,
    /// The version.
    pub tag: String,
}

impl Name {
    pub fn of(root: &Path, program: Program) -> Result<Self> {
        let Some(kustomization) = program.kustomization else {
            return Ok(Name { repository: program.repository.to_owned(), tag: env!("CARGO_PKG_VERSION").to_owned() });
        };
        let file = root.join(kustomization);
        let text = std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        Self::in_kustomization(&text, program).with_context(|| format!("in {}", file.display()))
    }

    fn in_kustomization(text: &str, program: Program) -> Result<Self> {
        let kustomization: serde_json::Value = serde_saphyr::from_str(text)?;
        let images = kustomization["images"].as_array().context("there is no list `images`")?;
        let image =
            images.iter().find(|image| image["name"] == program.repository).context("its image is not listed")?;
        let word = |key: &str| image[key].as_str().map(str::to_owned).with_context(|| format!("it has no {key}"));
        Ok(Name { repository: word("newName")?, tag: word("newTag")? })
    }

    /// As a pod names it.
    pub fn reference(&self) -> String {
        format!("{}:{}", self.repository, self.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{AGENT, AGGREGATOR, PLUGIN};

    #[test]
    fn the_deployment_names_the_image_and_the_version() {
        for program in [AGENT, AGGREGATOR, PLUGIN] {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
            let name = Name::of(root, program).unwrap();
            assert_eq!(name.tag, env!("CARGO_PKG_VERSION"), "newTag in {:?}", program.kustomization);
            assert!(!name.repository.is_empty());
        }
    }

    #[test]
    fn a_kustomization_without_the_image_is_refused() {
        assert!(Name::in_kustomization("images: []", AGENT).is_err());
        assert!(Name::in_kustomization("resources: [a]", AGENT).is_err());
    }
}
