//! The API's paths.

use aggregator_core::state::{Resource, Scope};

use crate::path::part;

/// The path of a list or an object.
pub fn path(resource: &Resource, scope: &Scope) -> String {
    let Resource { group, version, plural } = resource;
    let base = match group.as_ref() {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    };
    match scope {
        Scope::All => format!("{base}/{plural}"),
        Scope::Namespace(namespace) => format!("{base}/namespaces/{}/{plural}", part(namespace)),
        Scope::Named(Some(namespace), name) => {
            format!("{base}/namespaces/{}/{plural}/{}", part(namespace), part(name))
        }
        Scope::Named(None, name) => format!("{base}/{plural}/{}", part(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_paths() {
        let pods = Resource::new("", "v1", "pods");
        assert_eq!(path(&pods, &Scope::Namespace("a".to_owned())), "/api/v1/namespaces/a/pods");
        let widgets = Resource::new("example.com", "v1", "widgets");
        assert_eq!(path(&widgets, &Scope::All), "/apis/example.com/v1/widgets");
    }

    #[test]
    fn no_name_reaches_another_path() {
        let pods = Resource::new("", "v1", "pods");
        let named = Scope::Named(Some("..".to_owned()), "a/../../secrets?x".to_owned());
        assert_eq!(path(&pods, &named), "/api/v1/namespaces/%2E%2E/pods/a%2F..%2F..%2Fsecrets%3Fx");
    }
}
