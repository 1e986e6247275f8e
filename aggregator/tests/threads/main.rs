//! Real threads of users whose objects did not go, one file each: its address, the objects that the
//! thread prints and no others, the answer that would have helped. Where those objects do not decide,
//! the right answer is that it cannot be told, with the question that would decide.

#[cfg(test)]
mod keda_1231;
#[cfg(test)]
mod kubernetes_60538;
#[cfg(test)]
mod kubernetes_60807;
#[cfg(test)]
mod kubernetes_71925;
#[cfg(test)]
mod kubernetes_75788;
#[cfg(test)]
mod kubernetes_83332;
#[cfg(test)]
mod kubevirt_13098;
#[cfg(test)]
mod longhorn_5319;
#[cfg(test)]
mod operator_lifecycle_manager_2901;
#[cfg(test)]
mod operator_lifecycle_manager_3356;
#[cfg(test)]
mod osm_4466;
#[cfg(test)]
#[path = "../cluster/support/mod.rs"]
#[allow(dead_code, unused_imports)]
mod support;

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// A file that nobody declares would be a test that never runs.
    #[test]
    fn each_file_is_declared_and_begins_with_its_thread() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/threads");
        let declared = std::fs::read_to_string(folder.join("main.rs")).unwrap();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if name == "main" {
                continue;
            }
            assert!(declared.contains(&format!("mod {name};")), "{name} is not declared");
            let text = std::fs::read_to_string(path).unwrap();
            assert!(text.starts_with("//! <https://github.com/"), "{name} does not begin with its thread");
        }
    }
}
