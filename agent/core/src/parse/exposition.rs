//! Lines of the kubelet's `/metrics`, in the text format of Prometheus.

use crate::observation::{Counter, Operation};

/// No line that is used is longer, in bytes: five labels, whose longest is a driver's name.
pub const MAX_LINE_BYTES: usize = 4 << 10;

/// The counter in one line; none in any other line.
///
/// `csi_operations_seconds_count{driver_name="x",grpc_status_code="OK",method_name="/csi.v1.Node/…",migrated="false"} 21`
pub fn counter(line: &[u8]) -> Option<Counter> {
    let line = str::from_utf8(line).ok()?.trim_end();
    let (family, rest) = line.split_once("_count{")?;
    let (labels, value) = rest.rsplit_once('}')?;
    let label = |name: &str| self::label(labels, name);
    let (of, outcome) = match family {
        "csi_operations_seconds" => (
            Operation::Csi { driver: label("driver_name")?, method: label("method_name")? },
            label("grpc_status_code")?,
        ),
        "storage_operation_duration_seconds" => {
            (Operation::Storage { plugin: label("volume_plugin")?, name: label("operation_name")? }, label("status")?)
        }
        "dra_grpc_operations_duration_seconds" => (
            Operation::Dra { driver: label("driver_name")?, method: label("method_name")? },
            label("grpc_status_code")?,
        ),
        "dra_operations_duration_seconds" => {
            let outcome = if label("is_error")? == "true" { "error" } else { "success" };
            (Operation::Devices { name: label("operation_name")? }, outcome.to_owned())
        }
        _ => return None,
    };
    // A timestamp may follow. Counts are whole, and large ones are written as 1e+06.
    let value: f64 = value.split_whitespace().next()?.parse().ok()?;
    let is_count = value.is_finite() && (0.0..9e15).contains(&value);
    is_count.then_some(Counter { of, outcome, count: value as u64 })
}

/// The value of one label. Those that are used hold no quote and no backslash; one that does is not the kubelet's.
fn label(labels: &str, name: &str) -> Option<String> {
    let mut rest = labels;
    loop {
        let (found, after) = rest.split_once("=\"")?;
        let end = after.find(['"', '\\'])?;
        if after.as_bytes()[end] == b'\\' {
            return None;
        }
        if found.trim_start_matches([',', ' ']) == name {
            return Some(after[..end].to_owned());
        }
        rest = &after[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a real kubelet (1.36) said while a driver did not unmount.
    const RECORDED: &str = include_str!("../../../../tests/recordings/csi-unmount/node/kubelet-metrics.txt");

    fn count(of: Operation, outcome: &str) -> Option<u64> {
        let counters = RECORDED.lines().filter_map(|line| counter(line.as_bytes()));
        let mut matching = counters.filter(|counter| counter.of == of && counter.outcome == outcome);
        matching.next().map(|counter| counter.count)
    }

    #[test]
    fn reads_what_a_kubelet_said() {
        let unmount = |plugin: &str| Operation::Storage { plugin: plugin.into(), name: "volume_unmount".into() };
        assert_eq!(count(unmount("kubernetes.io/csi:exam.csi.example.com"), "fail-unknown"), Some(8));
        assert_eq!(count(unmount("kubernetes.io/csi:exam.csi.example.com"), "success"), Some(1));
        assert_eq!(count(unmount("kubernetes.io/empty-dir"), "fail-unknown"), Some(42));
        let method = "/csi.v1.Node/NodeUnpublishVolume".to_owned();
        let unpublish = Operation::Csi { driver: "exam.csi.example.com".into(), method };
        assert_eq!(count(unpublish, "OK"), Some(1));
        let used = RECORDED.lines().filter(|line| counter(line.as_bytes()).is_some());
        assert!(used.clone().count() > 10 && used.into_iter().all(|line| !line.contains("_sum{")));
    }

    #[test]
    fn reads_calls_of_dra_drivers() {
        let line = "dra_grpc_operations_duration_seconds_count{driver_name=\"gpu.example.com\",\
            grpc_status_code=\"Unavailable\",method_name=\"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources\"} 1e+06";
        let read = counter(line.as_bytes()).unwrap();
        assert_eq!((read.outcome.as_str(), read.count), ("Unavailable", 1_000_000));
        assert!(matches!(read.of, Operation::Dra { driver, .. } if driver == "gpu.example.com"));
    }

    #[test]
    fn reads_what_was_done_with_devices_for_pods() {
        let line = "dra_operations_duration_seconds_count{is_error=\"true\",operation_name=\"UnprepareResources\"} 3";
        let read = counter(line.as_bytes()).unwrap();
        assert_eq!(
            (read.of, read.outcome.as_str()),
            (Operation::Devices { name: "UnprepareResources".into() }, "error")
        );
    }

    #[test]
    fn what_is_odd_is_no_counter() {
        let good = r#"csi_operations_seconds_count{driver_name="a",grpc_status_code="OK",method_name="m"} 3"#;
        assert!(counter(good.as_bytes()).is_some());
        for (from, to) in
            [("\"a\"", "\"a\\\"b\""), ("} 3", "} NaN"), ("} 3", "} -1"), ("method_name", "other"), ("csi_", "x_")]
        {
            assert_eq!(counter(good.replace(from, to).as_bytes()), None, "{to}");
        }
        assert_eq!(counter(b"# HELP csi_operations_seconds_count{x}"), None);
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), labels in "[a-z=\",\\\\{} ]{0,60}") {
            let _ = counter(&bytes);
            let _ = counter(format!("csi_operations_seconds_count{{{labels}}} 1").as_bytes());
        }
    }
}
