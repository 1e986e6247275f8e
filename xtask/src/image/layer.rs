//! The image's one layer: the program, owned by root, of no date.

use anyhow::Result;

/// The layer as an uncompressed archive; a registry's client compresses it.
pub fn layer(name: &str, program: &[u8]) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::with_capacity(program.len() + 4096));
    add(&mut archive, name, program, 0o755)?;
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
    fn holds_the_program_and_nothing_else() {
        let layer = layer("agent", b"program").unwrap();
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
