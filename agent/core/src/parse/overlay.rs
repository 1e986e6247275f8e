//! The directories in the options of an overlay (`ovl_show_options`, fs/overlayfs/params.c).

use super::escape::unescape;
use crate::observation::{HostPath, Layers};

/// An overlay has no more lower directories (`OVL_MAX_STACK`).
const MAX_LAYERS: usize = 500;

/// The layers that the options of an overlay name. A comma within a name stands there escaped.
pub fn layers(options: &[u8]) -> Layers {
    let mut layers = Layers::default();
    for option in options.split(|byte| *byte == b',') {
        let Some(equals) = option.iter().position(|byte| *byte == b'=') else { continue };
        let value = unescape(&option[equals + 1..]);
        match &option[..equals] {
            b"upperdir" | b"workdir" => layers.upper.push(HostPath::new(value.as_ref())),
            b"lowerdir" => layers.lower.extend(split(&value)),
            // Given one by one, a colon is a part of the name.
            b"lowerdir+" | b"datadir+" => layers.lower.push(HostPath::new(value.as_ref())),
            _ => {}
        }
    }
    layers.lower.truncate(MAX_LAYERS);
    layers
}

/// Between colons (two before directories with data only); a colon within a name has a backslash before it.
fn split(value: &[u8]) -> Vec<HostPath> {
    let mut paths = vec![Vec::new()];
    let mut bytes = value.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, paths.last_mut()) {
            (b':', _) => paths.push(Vec::new()),
            (b'\\', Some(path)) => path.extend(bytes.next()),
            (byte, Some(path)) => path.push(byte),
            (_, None) => {}
        }
    }
    paths.into_iter().filter(|path| !path.is_empty()).map(HostPath::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::mountinfo::mounts;

    fn paths(paths: &[&str]) -> Vec<HostPath> {
        paths.iter().map(|path| HostPath::from(*path)).collect()
    }

    #[test]
    fn of_a_container() {
        let line = b"1 0 0:50 / / rw,relatime - overlay overlay \
            rw,lowerdir=/s/2/fs:/s/1/fs,upperdir=/s/3/fs,workdir=/s/3/work,uuid=on";
        let mount = mounts(line, |_| true).mounts.remove(0);
        assert!(mount.is_overlay());
        assert_eq!(mount.layers.upper, paths(&["/s/3/fs", "/s/3/work"]));
        assert_eq!(mount.layers.lower, paths(&["/s/2/fs", "/s/1/fs"]));
        let other = b"1 0 0:50 / / rw - fuse.x x rw,lowerdir=/s/1/fs";
        assert!(mounts(other, |_| true).mounts[0].layers.is_empty(), "its server chose these words");
    }

    #[test]
    fn names_with_anything_in_them() {
        let lower = |options: &str| layers(options.as_bytes()).lower;
        assert_eq!(lower(r"rw,lowerdir=/a\134:b:/c\040d\054e::/f"), paths(&["/a:b", "/c d,e", "/f"]));
        assert_eq!(lower("ro,lowerdir+=/a:b,lowerdir+=/c,datadir+=/d"), paths(&["/a:b", "/c", "/d"]));
        assert!(layers(b"rw,lowerdir=42/fs:/s,upperdir=/u").has_relative());
        assert_eq!(lower(r"lowerdir=:\"), paths(&[]));
        assert_eq!(lower(&format!("lowerdir={}", "/a:".repeat(4000))).len(), MAX_LAYERS);
    }
}
