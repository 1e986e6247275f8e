//! The bill of materials of a program, as CycloneDX 1.5. Without a serial number and a time: the same sources give the same.

use serde_json::{Value, json};

use super::components::Component;
use super::runtime::Runtime;
use crate::build::Program;

/// The document.
pub fn document(program: Program, runtime: &Runtime, components: &[Component]) -> Value {
    let of = |name: &str| format!("pkg:cargo/{name}@{}", env!("CARGO_PKG_VERSION"));
    let mut listed: Vec<Value> = components.iter().map(listed).collect();
    listed.push(json!({
        "type": "library", "bom-ref": "std", "name": "std", "version": runtime.rust_version(),
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
    }));
    listed.extend(runtime.glibc.as_ref().map(|version| {
        json!({
            "type": "library", "bom-ref": "glibc", "name": "glibc", "version": version,
            "licenses": [{"license": {"id": "LGPL-2.1-or-later"}}],
        })
    }));
    if runtime.mingw {
        listed.push(json!({
            "type": "library", "bom-ref": "mingw-w64", "name": "mingw-w64", "licenses": [{"license": {"id": "ZPL-2.1"}}],
        }));
    }
    json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {
            "type": "application", "bom-ref": of(program.package), "name": program.name,
            "version": env!("CARGO_PKG_VERSION"), "purl": of(program.package),
            "licenses": [{"license": {"id": "Apache-2.0"}}],
        }},
        "components": listed,
    })
}

fn listed(component: &Component) -> Value {
    let Component { name, version, license, checksum, .. } = component;
    let url = format!("pkg:cargo/{name}@{version}");
    // Old manifests write a slash for OR.
    let expression = license.replace(" / ", "/").replace('/', " OR ");
    json!({
        "type": "library", "bom-ref": url, "name": name, "version": version, "purl": url,
        "licenses": [{"expression": expression}],
        "hashes": [{"alg": "SHA-256", "content": checksum}],
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::build::AGENT;

    #[test]
    fn it_lists_each_crate_with_where_it_comes_from() {
        let component = Component {
            name: "memchr".to_owned(),
            version: "2.0.0".to_owned(),
            license: "Unlicense/MIT".to_owned(),
            checksum: "ff".to_owned(),
            notices: BTreeSet::new(),
        };
        let runtime =
            Runtime { rust: "rustc 1.95.0 (of a day)".to_owned(), glibc: Some("2.36".to_owned()), mingw: true };
        let document = document(AGENT, &runtime, &[component]);
        let memchr = &document["components"][0];
        assert_eq!(memchr["purl"], "pkg:cargo/memchr@2.0.0");
        assert_eq!(memchr["licenses"][0]["expression"], "Unlicense OR MIT");
        assert_eq!(document["components"][1]["version"], "1.95.0");
        assert_eq!(document["components"][2]["version"], "2.36");
        assert_eq!(document["components"][3]["licenses"][0]["license"]["id"], "ZPL-2.1");
    }
}
