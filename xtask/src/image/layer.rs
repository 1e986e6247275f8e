//! The image's one layer: its files, owned by root, of no date.

use anyhow::Result;

/// A file of the image, in its root directory.
pub struct File {
    pub name: &'static str,
    pub content: Vec<u8>,
    pub mode: u32,
}

/// The layer as an uncompressed archive; a registry's client compresses it.
pub fn layer(files: &[File]) -> Result<Vec<u8>> {
    let size: usize = files.iter().map(|file| file.content.len() + 2048).sum();
    let mut archive = tar::Builder::new(Vec::with_capacity(size));
    for file in files {
        add(&mut archive, file.name, &file.content, file.mode)?;
    }
    Ok(archive.into_inner()?)
}

/// Adds a file with nothing in its header that could differ from one build to the next.
pub fn add<W: std::io::Write>(archive: &mut tar::Builder<W>, name: &str, content: &[u8], mode: u32) -> Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_size(content.len() as u64);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    Ok(archive.append_data(&mut header, name, content)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_its_files_and_nothing_else() {
        let layer = layer(&[File { name: "agent", content: b"program".to_vec(), mode: 0o755 }]).unwrap();
        let mut archive = tar::Archive::new(&layer[..]);
        let entries: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                (entry.path().unwrap().display().to_string(), entry.header().mode().unwrap(), entry.size())
            })
            .collect();
        assert_eq!(entries, [("agent".to_owned(), 0o755, 7)]);
    }
}
