//! `vol_data.json`: how the kubelet remembers a CSI volume (`pkg/volume/csi/csi_util.go`).

use serde::Deserialize;

use crate::observation::{CsiVolume, VolData};

/// As the kubelet decodes it: a Go map of strings. One number in it spoils the whole file; keys
/// it does not know, `null` and whatever follows the map are fine.
type Saved = Option<std::collections::HashMap<String, Option<String>>>;

/// Reads the file's bytes: `VolData::Read` or `VolData::Unusable` with the reason.
pub fn vol_data(bytes: &[u8]) -> VolData {
    if bytes.is_empty() {
        return VolData::Unusable("is empty (0 bytes)".to_owned());
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let saved = match Saved::deserialize(&mut json) {
        Ok(saved) => saved.unwrap_or_default(),
        Err(error) => return VolData::Unusable(format!("is not what the kubelet writes: {error}")),
    };
    let field = |name: &str| saved.get(name).cloned().flatten().unwrap_or_default();
    let volume = CsiVolume {
        driver: field("driverName"),
        handle: field("volumeHandle"),
        spec_id: field("specVolID"),
        attachment: field("attachmentID"),
        node: field("nodeName"),
        lifecycle: field("volumeLifecycleMode"),
    };
    for (name, value) in [("driverName", &volume.driver), ("volumeHandle", &volume.handle)] {
        if value.is_empty() {
            return VolData::Unusable(format!("has no {name}"));
        }
    }
    VolData::Read(volume)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RECORDED: &str = r#"{"attachmentID":"csi-9e1b","driverName":"exam.csi.example.com","nodeName":"node-a","specVolID":"pv-csi-1","volumeHandle":"vol-1","volumeLifecycleMode":"Persistent"}"#;

    fn rejection(text: &str) -> String {
        match vol_data(text.as_bytes()) {
            VolData::Unusable(why) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reads_a_recorded_file() {
        let VolData::Read(volume) = vol_data(RECORDED.as_bytes()) else { panic!() };
        assert_eq!(volume.driver, "exam.csi.example.com");
        assert_eq!((volume.handle.as_str(), volume.spec_id.as_str()), ("vol-1", "pv-csi-1"));
        assert_eq!((volume.attachment.as_str(), volume.node.as_str()), ("csi-9e1b", "node-a"));
        assert_eq!(volume.lifecycle, "Persistent");
    }

    #[test]
    fn says_why_a_file_is_unusable() {
        assert_eq!(rejection(""), "is empty (0 bytes)");
        assert_eq!(rejection("{}"), "has no driverName");
        assert_eq!(rejection("null"), "has no driverName");
        assert_eq!(rejection(r#"{"driverName":"d"}"#), "has no volumeHandle");
        for broken in ["\0\0\0", "[]", r#"{"driverName":"d","volumeHandle":7}"#, &RECORDED[..40]] {
            assert!(rejection(broken).starts_with("is not what the kubelet writes"), "{broken}");
        }
    }

    #[test]
    fn what_follows_the_map_is_not_read() {
        assert!(matches!(vol_data(format!("{RECORDED}\0\0rest").as_bytes()), VolData::Read(_)));
    }

    #[test]
    fn a_staged_volume_has_only_two_keys() {
        assert!(matches!(vol_data(br#"{"driverName":"d","volumeHandle":"h","x":"y"}"#), VolData::Read(_)));
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = vol_data(&bytes);
        }
    }
}
