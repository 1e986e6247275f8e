//! Static pods, of which each has a new uid when its manifest is changed, and the same name.

use super::prelude::*;

/// A static pod was changed, and the containers of its old manifest run on beside those of the new one. A kubelet that
/// has started the old one waits for its end (`allowStaticPodStart`); one that was started in between knows it from the
/// runtime only, and kills it beside the new one (`HandlePodCleanups`).
pub fn find(seen: &Observation) -> Vec<Finding> {
    let Some(runtime) = seen.runtime.get() else { return Vec::new() };
    let running = |c: &&Container| c.state == ContainerState::Running && runtime.is_static(&c.pod.uid);
    let running: Vec<&Container> = runtime.containers.iter().filter(running).collect();
    let is_older = |one: &Container, other: &Container| {
        one.pod.uid != other.pod.uid
            && (&one.pod.namespace, &one.pod.name) == (&other.pod.namespace, &other.pod.name)
            && one.created_ms < other.created_ms
            && seen.at_ms.saturating_sub(other.created_ms) >= RETRY_WINDOW_MS
    };
    let held = running.iter().filter(|one| running.iter().any(|other| is_older(one, other)));
    let finding = |container: &&Container| {
        node_finding(seen, &cause::STATIC_POD_NAME_HELD, None)
            .probable("that the kubelet keeps the younger one: it does not say so")
            .link(format!("static pod {}", container.pod), "two uids of this name have running containers")
            .blame(format!("container {}", container.name), format!("of the older uid {}", container.pod.uid))
            .evidence(format!("CRI ListContainers {}", container.id), "RUNNING")
            .name(Placeholder::Container, &container.id)
            .root(&container.pod.uid)
            .finish()
    };
    held.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn an_old_static_pod_that_holds_its_name() {
        let mut seen = sample::running();
        seen.api = Seen::Missing;
        let mut old = runtime(&mut seen).containers[0].clone();
        old.pod.uid = findings::PodUid::parse("0123456789abcdef0123456789abcdef").unwrap();
        let mut new = old.clone();
        new.pod.uid = findings::PodUid::parse("1123456789abcdef0123456789abcdef").unwrap();
        new.created_ms += 60_000;
        let none = Vec::<&str>::new();
        runtime(&mut seen).containers = vec![old.clone(), new.clone()];
        assert_eq!(node_causes(&seen), ["StaticPodNameHeld"]);
        let text = serde_json::to_string(&crate::gates::judge(&seen).node_findings[0].finding).unwrap();
        assert!(!text.contains("waits") && !text.contains("then starts"), "it runs: {text}");
        runtime(&mut seen).containers[1].created_ms = seen.at_ms - 5_000;
        assert_eq!(node_causes(&seen), none, "the kubelet is just killing it");
        runtime(&mut seen).containers[1].created_ms = new.created_ms;
        let root = crate::gates::judge(&seen).node_findings[0].finding.root.clone();
        assert_eq!(root, format!("StaticPodNameHeld:{}", old.pod.uid));
        runtime(&mut seen).containers[1].created_ms = old.created_ms;
        assert_eq!(node_causes(&seen), none, "neither is older");
        runtime(&mut seen).containers[1].created_ms = new.created_ms;
        runtime(&mut seen).containers[1].pod.name = Some("other".into());
        assert_eq!(node_causes(&seen), none, "each has its own name");
        runtime(&mut seen).containers = vec![old.clone(), Container { state: ContainerState::Exited, ..new.clone() }];
        assert_eq!(node_causes(&seen), none, "the new one does not run");
        let ordinary = |container: &Container, uid: &str| {
            let mut container = container.clone();
            container.pod.uid = findings::PodUid::parse(uid).unwrap();
            container
        };
        let again = ordinary(&new, "10be21d9-de4c-4473-8f5c-7e484a9962e3");
        runtime(&mut seen).containers = vec![ordinary(&old, sample::UID), again];
        assert_eq!(node_causes(&seen), none, "the kubelet knows others by uid");
        runtime(&mut seen).containers = vec![old];
        assert_eq!(node_causes(&seen), none);
    }

    /// The name alone explains nothing: what holds the old pod does.
    #[test]
    fn what_holds_the_old_one_is_told() {
        let mut seen = sample::running();
        let uid = |text: &str| findings::PodUid::parse(text).unwrap();
        let mut old = runtime(&mut seen).containers[0].clone();
        old.pod.uid = uid("0123456789abcdef0123456789abcdef");
        let mut new = old.clone();
        (new.pod.uid, new.id, new.pid) = (uid("1123456789abcdef0123456789abcdef"), "9cd7".into(), Seen::Seen(0));
        new.created_ms += 60_000;
        runtime(&mut seen).containers = vec![old.clone(), new];
        seen.api.get_mut().unwrap().pods.clear();
        runtime(&mut seen).sandboxes.clear();
        seen.processes[0].owner = Owner::Pod { uid: old.pod.uid.clone(), container: Some(old.id.clone()) };
        seen.looked_into = vec![old.pod.uid.clone()];
        assert_eq!(sample::causes(&seen), Vec::<&str>::new(), "it may be in its grace period");
        sample::block(&mut seen, sample::INIT, "io_schedule");
        assert_eq!(sample::causes(&seen), ["UninterruptibleTask"]);
        assert_eq!(node_causes(&seen), ["StaticPodNameHeld"]);
    }
}
