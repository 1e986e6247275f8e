//! Whether the service account that a controller works as still exists.

use crate::rules::prelude::*;

/// The API server goes on to take the tokens of an account that is being deleted for so many seconds.
const TOKEN_LEEWAY_SECONDS: i64 = 60;

pub fn object((namespace, name): &Account) -> ObjectRef {
    ObjectRef {
        kind: "ServiceAccount".into(),
        resource: Resource::new("", "v1", "serviceaccounts"),
        namespace: Some(namespace.clone()),
        name: name.clone(),
    }
}

/// Why no program can work as this account any more; nothing when it is there, or was not seen.
pub fn gone(case: &mut Case, account: &Account) -> Option<&'static str> {
    let target = object(account);
    let answer = case.lister.object(&target.resource, target.namespace.as_deref(), &target.name);
    if answer.is_missing() {
        return Some("does not exist");
    }
    let meta = &case.diagnosis.silently(answer)?.metadata;
    let asked = meta.deletion_requested_at()?;
    (case.lister.seconds_since(asked) > TOKEN_LEEWAY_SECONDS).then_some("is being deleted")
}
