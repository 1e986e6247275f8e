//! Names as the kernel writes them where a blank or a comma ends them.

use std::borrow::Cow;

/// Undoes the kernel's `mangle`: a backslash and three octal digits stand for one byte.
pub(super) fn unescape(field: &[u8]) -> Cow<'_, [u8]> {
    if !field.contains(&b'\\') {
        return Cow::Borrowed(field);
    }
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        match (first, octal(after)) {
            (b'\\', Some(byte)) => {
                plain.push(byte);
                rest = &after[3..];
            }
            _ => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    Cow::Owned(plain)
}

fn octal(digits: &[u8]) -> Option<u8> {
    let digits = digits.get(..3)?;
    digits.iter().try_fold(0_u8, |byte, digit| {
        let value = digit.checked_sub(b'0').filter(|value| *value < 8)?;
        byte.checked_mul(8)?.checked_add(value)
    })
}
