//! The rules for names, and what a real server says about a name that breaks them.

const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// What is wrong with a name that has to be a DNS subdomain.
pub(crate) fn subdomain_faults(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 253 {
        faults.push("must be no more than 253 bytes".to_owned());
    }
    let is_label = |label: &str| {
        let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    if !name.split('.').all(is_label) {
        faults.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '{SUBDOMAIN}')"
        ));
    }
    faults
}

/// What is wrong with a name that may have a domain and a slash in front.
pub(crate) fn qualified_faults(name: &str) -> Vec<String> {
    let rule = format!(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{QUALIFIED}')"
    );
    let mut faults = Vec::new();
    let name = match name.split('/').collect::<Vec<_>>()[..] {
        [name] => name,
        ["", name] => {
            faults.push("prefix part must be non-empty".to_owned());
            name
        }
        [prefix, name] => {
            faults.extend(subdomain_faults(prefix).into_iter().map(|fault| format!("prefix part {fault}")));
            name
        }
        _ => {
            let domain = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a qualified name {rule} {domain}")];
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        faults.push("name part must be no more than 63 bytes".to_owned());
    }
    let is_edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !(name.chars().all(is_inner) && is_edge(name.chars().next()) && is_edge(name.chars().next_back())) {
        faults.push(format!("name part {rule}"));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subdomains() {
        for good in ["a", "node-1.why.1a2b", "0.0"] {
            assert!(subdomain_faults(good).is_empty(), "{good}");
        }
        for bad in ["", "A", "a_b", "-a", "a-", "a..b", ".a", "ä"] {
            assert_eq!(subdomain_faults(bad).len(), 1, "{bad}");
        }
        assert_eq!(subdomain_faults(&"a".repeat(254)).len(), 1);
    }

    #[test]
    fn qualified_names() {
        for good in ["why-terminating/agent", "kubelet", "example.com/My_name.x"] {
            assert!(qualified_faults(good).is_empty(), "{good}");
        }
        for bad in ["/agent", "a/b/c", "Bad/agent", "why/-agent", "why agent"] {
            assert_eq!(qualified_faults(bad).len(), 1, "{bad}");
        }
        assert_eq!(qualified_faults(""), ["name part must be non-empty", &qualified_faults(".")[0]]);
        assert_eq!(qualified_faults(&"a".repeat(64)).len(), 1);
    }
}
