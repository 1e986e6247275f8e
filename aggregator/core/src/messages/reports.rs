//! What the words of a status are about. Controllers write them freely, so these are words that any of them uses.

use super::Message;

/// Whether they speak of the object's end.
pub fn is_about_deletion(reason: &str, message: &Message) -> bool {
    const PARTS: [&str; 13] = [
        "cleanup", "clean up", "cleaning", "delet", "deprovision", "destroy", "detach", "drain", "finaliz", "remov",
        "teardown", "terminat", "uninstall",
    ];
    has_any(reason, &PARTS) || has_any(&message.0, &PARTS)
}

/// Whether they say of anything that it fails or is missing.
pub fn is_complaint(message: &Message) -> bool {
    const PARTS: [&str; 10] = [
        "cannot", "could not", "denied", "does not exist", "error", "fail", "forbidden", "not found", "refused",
        "timed out",
    ];
    has_any(&message.0, &PARTS)
}

/// Whether they say no more than that it is being deleted (kubevirt: pkg/storage/cbt, "Backup is being deleted").
pub fn only_restates(message: &Message) -> bool {
    message.0.trim_end_matches('.').ends_with(" is being deleted") && message.0.split(' ').count() <= MAX_RESTATED_WORDS
}

/// More words say something of their own.
const MAX_RESTATED_WORDS: usize = 6;

fn has_any(text: &str, parts: &[&str]) -> bool {
    let text = text.to_ascii_lowercase();
    parts.iter().any(|part| text.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// aws-controllers-k8s/community#2627; hive#923; kubevirt#18724.
    #[test]
    fn words_tell_what_they_are_about() {
        let protected =
            Message::from("Cannot delete protected Cluster, please disable deletion protection and try again.");
        assert!(is_about_deletion("", &protected) && is_complaint(&protected));
        let install = Message::from("install failed");
        assert!(!is_about_deletion("MonitoringFailed", &install));
        assert!(is_about_deletion("DeletionFailed", &"3 VMs exist".into()));
        assert!(only_restates(&"Backup is being deleted".into()));
        assert!(!only_restates(&"waits for snapshot s of the volume, which is being deleted".into()));
    }
}
