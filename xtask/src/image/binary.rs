//! The program that goes into the image, and what its ELF header says.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// A 64-bit little-endian program that needs no shared library.
#[derive(Debug)]
pub struct Binary {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The architecture as images name it.
    pub architecture: &'static str,
}

/// `e_machine` in the ELF header (elf(5)).
const MACHINE: usize = 18;
/// `e_phoff`: where the program headers begin.
const HEADERS: usize = 32;
/// `e_phentsize` and `e_phnum`.
const HEADER_SIZE: usize = 54;
const HEADER_COUNT: usize = 56;
/// The header that names the program's dynamic loader.
const PT_INTERP: u32 = 3;

impl Binary {
    /// Reads and checks it: a program that asks for a dynamic loader would never start in an empty image.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        Self::new(bytes).with_context(|| path.display().to_string())
    }

    fn new(bytes: Vec<u8>) -> Result<Self> {
        ensure!(bytes.starts_with(b"\x7fELF\x02\x01"), "is no 64-bit little-endian ELF program");
        let architecture = match number(&bytes, MACHINE, 2)? {
            62 => "amd64",
            183 => "arm64",
            other => bail!("is for the machine {other} (e_machine), which no image architecture is known for"),
        };
        let (first, size) = (number(&bytes, HEADERS, 8)?, number(&bytes, HEADER_SIZE, 2)?);
        for index in 0..number(&bytes, HEADER_COUNT, 2)? {
            let kind = number(&bytes, first.saturating_add(index * size), 4)?;
            ensure!(
                kind != PT_INTERP as usize,
                "needs a dynamic loader, and the image has none: build it with -C target-feature=+crt-static"
            );
        }
        Ok(Binary { bytes, architecture })
    }
}

fn number(bytes: &[u8], at: usize, length: usize) -> Result<usize> {
    let end = at.saturating_add(length);
    let digits = bytes.get(at..end).context("ends within its headers")?;
    Ok(digits.iter().rev().fold(0, |number, digit| number << 8 | usize::from(*digit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests are linked dynamically: this very program must be refused, and for that reason.
    #[test]
    fn a_dynamic_program_is_refused() {
        let error = Binary::read(&std::env::current_exe().unwrap()).unwrap_err();
        assert!(format!("{error:#}").contains("dynamic loader"), "{error:#}");
    }

    #[test]
    fn half_a_header_is_refused() {
        assert!(Binary::new(b"#!/bin/sh".to_vec()).is_err());
        assert!(Binary::new(b"\x7fELF\x02\x01".to_vec()).is_err());
    }

    #[test]
    fn a_static_program_is_taken() {
        let mut program = vec![0; 64 + 56];
        program[..6].copy_from_slice(b"\x7fELF\x02\x01");
        program[MACHINE] = 183;
        program[HEADERS] = 64;
        program[HEADER_SIZE] = 56;
        program[HEADER_COUNT] = 1;
        program[64] = 1; // PT_LOAD
        assert_eq!(Binary::new(program).unwrap().architecture, "arm64");
    }
}
