//! `dra_manager_state`: for which claims the kubelet has had devices prepared (`pkg/kubelet/cm/dra/state`).

use std::collections::BTreeMap;

use findings::PodUid;
use serde::{Deserialize, de::IgnoredAny};

use crate::observation::DraClaim;

/// The file: a checkpoint whose data is JSON in a string, or, of older kubelets, the list itself.
#[derive(Deserialize)]
struct File {
    #[serde(rename = "Data")]
    data: Option<String>,
    entries: Option<Vec<Claim>>,
}

#[derive(Deserialize)]
struct Checkpoint {
    #[serde(rename = "ClaimInfoStateList", alias = "Entries")]
    claims: Option<Vec<Claim>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Claim {
    claim_name: String,
    namespace: String,
    #[serde(rename = "PodUIDs")]
    pod_uids: Option<BTreeMap<String, IgnoredAny>>,
    driver_state: Option<BTreeMap<String, IgnoredAny>>,
    /// Of kubelets that knew one driver for a claim.
    driver_name: String,
}

/// The claims in the file; none when it is not what a kubelet writes.
pub fn dra_claims(text: &[u8]) -> Option<Vec<DraClaim>> {
    let file: File = serde_json::from_slice(text).ok()?;
    let claims = match file.data {
        Some(data) => serde_json::from_str::<Checkpoint>(&data).ok()?.claims.unwrap_or_default(),
        None => file.entries?,
    };
    Some(claims.into_iter().map(Claim::reduce).collect())
}

impl Claim {
    fn reduce(self) -> DraClaim {
        let mut drivers: Vec<String> = self.driver_state.into_iter().flatten().map(|(name, _)| name).collect();
        if drivers.is_empty() && !self.driver_name.is_empty() {
            drivers.push(self.driver_name);
        }
        let pods = self.pod_uids.into_iter().flatten().filter_map(|(uid, _)| PodUid::parse(&uid));
        DraClaim { namespace: self.namespace, name: self.claim_name, pods: pods.collect(), drivers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UID: &str = "96fb425e-919e-44f9-8b42-b1254a602ba1";

    #[test]
    fn reads_what_kubelets_write() {
        let claim = format!(
            r#"{{"ClaimUID":"c1","ClaimName":"db-0-gpu-x7","Namespace":"shop","PodUIDs":{{"{UID}":{{}}}},"DriverState":{{"gpu.example.com":{{"Devices":[]}}}}}}"#
        );
        let data = format!(r#"{{"kind":"DRACheckpoint","ClaimInfoStateList":[{claim}]}}"#);
        let expected = DraClaim {
            namespace: "shop".into(),
            name: "db-0-gpu-x7".into(),
            pods: vec![PodUid::parse(UID).unwrap()],
            drivers: vec!["gpu.example.com".into()],
        };
        let newer = serde_json::json!({"Data": data, "Checksum": 7}).to_string();
        let older = format!(r#"{{"version":"v1","entries":[{claim}],"checksum":7}}"#);
        for file in [newer, older] {
            assert_eq!(dra_claims(file.as_bytes()), Some(vec![expected.clone()]), "{file}");
        }
        let empty = r#"{"Data":"{\"ClaimInfoStateList\":null}","Checksum":1}"#;
        assert_eq!(dra_claims(empty.as_bytes()), Some(Vec::new()));
        assert_eq!(dra_claims(b"{}"), None);
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = dra_claims(&bytes);
        }
    }
}
