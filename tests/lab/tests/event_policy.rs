//! The policies of `deploy/`, evaluated as an API server evaluates them: who may write which Event.
//!
//! Both were tried on an API server of Kubernetes 1.36.2, as they stand there; these are the situations of that trial.

#![allow(clippy::unwrap_used, reason = "a test")]

use cel::{Context, Program, Value};
use serde_json::{Value as Json, json};

const AGENT: &str = "system:serviceaccount:why-terminating:why-terminating-agent";
const SERVICE: &str = "system:serviceaccount:why-terminating:why-terminating-aggregator";
const ADMIN: &str = "kubernetes-admin";
const ONLY_THE_AGENT: &str = "only the why-terminating agent can write Events as why-terminating/agent";
const AS_ITS_NODE: &str = "an agent speaks only as its own node";
const OF_ITS_NODE: &str = "an agent speaks only of its own node";

/// A user's token, and the node that it was made for.
fn user(name: &str, node: Option<&str>) -> Json {
    let extra = node.map_or(json!({}), |node| json!({"authentication.kubernetes.io/node-name": [node]}));
    json!({"username": name, "extra": extra})
}

/// As events.k8s.io has it.
fn event(instance: &str, kind: &str, name: &str) -> Json {
    json!({
        "reportingController": "why-terminating/agent", "reportingInstance": instance,
        "regarding": {"kind": kind, "name": name}
    })
}

/// As the core group has it.
fn core_event(instance: &str, name: &str) -> Json {
    json!({
        "reportingComponent": "why-terminating/agent", "reportingInstance": instance,
        "involvedObject": {"kind": "Node", "name": name}
    })
}

struct Policy(Json);

impl Policy {
    fn of_agents() -> Self {
        Self::read("event-policy/policy.yaml")
    }

    fn read(file: &str) -> Self {
        let deploy = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
        let text = std::fs::read_to_string(deploy.join(file)).unwrap();
        let policy = text.split("\n---\n").next().unwrap();
        Policy(serde_saphyr::from_str(policy).unwrap())
    }

    fn parts(&self, of: &str) -> impl Iterator<Item = &Json> {
        self.0["spec"][of].as_array().unwrap().iter()
    }

    /// Why this is refused. An expression that cannot be evaluated refuses, since the policy says `Fail`.
    fn refuses(&self, user: &Json, object: &Json, old: &Json) -> Option<String> {
        let mut context = Context::default();
        let given = [("request", &json!({"userInfo": user})), ("object", object), ("oldObject", old)];
        for (name, value) in given {
            context.add_variable(name, value).unwrap();
        }
        let result = |context: &Context, part: &Json| {
            Program::compile(part["expression"].as_str().unwrap()).unwrap().execute(context)
        };
        if self.parts("matchConditions").any(|condition| result(&context, condition) == Ok(Value::Bool(false))) {
            return None;
        }
        let mut variables = std::collections::HashMap::new();
        for variable in self.parts("variables") {
            if let Ok(value) = result(&context, variable) {
                variables.insert(variable["name"].as_str().unwrap().to_owned(), value);
            }
        }
        context.add_variable_from_value("variables", variables);
        let broken = self.parts("validations").find(|it| result(&context, it) != Ok(Value::Bool(true)))?;
        Some(broken["message"].as_str().unwrap().to_owned())
    }

    fn refuses_new(&self, user: &Json, object: &Json) -> Option<String> {
        self.refuses(user, object, &Json::Null)
    }
}

#[test]
fn nobody_else_speaks_as_the_agent() {
    let policy = Policy::of_agents();
    for forged in [event("node-a", "Node", "node-a"), core_event("node-a", "node-a")] {
        for who in [user(ADMIN, None), user("system:node:node-a", None), user(ADMIN, Some("node-a"))] {
            assert_eq!(policy.refuses_new(&who, &forged).as_deref(), Some(ONLY_THE_AGENT), "{who} {forged}");
        }
    }
}

#[test]
fn an_event_of_the_agent_is_changed_by_nobody_else() {
    let policy = Policy::of_agents();
    let ours = event("node-a", "Node", "node-a");
    let mut taken = ours.clone();
    taken["reportingController"] = json!("kubelet");
    for changed in [ours.clone(), taken, json!({})] {
        assert_eq!(policy.refuses(&user(ADMIN, None), &changed, &ours).as_deref(), Some(ONLY_THE_AGENT), "{changed}");
    }
    assert_eq!(policy.refuses(&user(AGENT, Some("node-a")), &ours, &ours), None);
}

#[test]
fn an_agent_speaks_as_its_node_and_of_its_node() {
    let policy = Policy::of_agents();
    let agent = user(AGENT, Some("node-a"));
    let refusal = |who: &Json, object: &Json| policy.refuses_new(who, object);
    assert_eq!(refusal(&agent, &event("node-a", "Node", "node-a")), None);
    assert_eq!(refusal(&agent, &core_event("node-a", "node-a")), None);
    assert_eq!(refusal(&agent, &event("node-b", "Node", "node-a")).as_deref(), Some(AS_ITS_NODE));
    assert_eq!(refusal(&agent, &event("node-a", "Node", "node-b")).as_deref(), Some(OF_ITS_NODE));
    assert_eq!(refusal(&agent, &event("node-a", "Pod", "node-a")).as_deref(), Some(OF_ITS_NODE));
    let about_nothing = json!({"reportingController": "why-terminating/agent", "reportingInstance": "node-a"});
    assert_eq!(refusal(&agent, &about_nothing).as_deref(), Some(OF_ITS_NODE));
    // A token that is bound to no pod names no node, and an empty instance is no way around.
    for instance in ["node-a", ""] {
        let refused = refusal(&user(AGENT, None), &event(instance, "Node", "node-a"));
        assert_eq!(refused.as_deref(), Some(AS_ITS_NODE));
    }
    assert!(refusal(&json!({"username": AGENT}), &event("node-a", "Node", "node-a")).is_some(), "no extra at all");
}

#[test]
fn what_is_not_ours_is_not_looked_at() {
    let policy = Policy::of_agents();
    for other in [
        json!({"reportingController": "kubelet", "reportingInstance": "node-a", "regarding": {"kind": "Pod", "name": "a"}}),
        json!({"reportingComponent": "", "source": {"component": "why-terminating/agent"}}),
        json!({}),
    ] {
        assert_eq!(policy.refuses(&user(ADMIN, None), &other, &other), None, "{other}");
        assert_eq!(policy.refuses_new(&user(ADMIN, None), &other), None, "{other}");
    }
}

#[test]
fn the_service_alone_speaks_as_the_service_and_of_namespaces_only() {
    let policy = Policy::read("aggregator/event-policy.yaml");
    let event = |about: &str, kind: &str| {
        let mut event = json!({about: {"kind": kind, "name": "shop"}});
        let reporter = if about == "regarding" { "reportingController" } else { "reportingComponent" };
        event[reporter] = json!("why-terminating/aggregator");
        event
    };
    for about in ["regarding", "involvedObject"] {
        let ours = event(about, "Namespace");
        assert_eq!(policy.refuses_new(&user(SERVICE, None), &ours), None);
        for other in [ADMIN, AGENT] {
            let refused = policy.refuses_new(&user(other, Some("node-a")), &ours);
            assert_eq!(
                refused.as_deref(),
                Some("only the why-terminating service can write Events as why-terminating/aggregator")
            );
            assert!(policy.refuses(&user(other, None), &json!({}), &ours).is_some(), "changed");
        }
        let refused = policy.refuses_new(&user(SERVICE, None), &event(about, "Node"));
        assert_eq!(refused.as_deref(), Some("the why-terminating service speaks only of Namespaces"));
    }
    assert_eq!(policy.refuses_new(&user(ADMIN, None), &json!({"reportingController": "kubelet"})), None);
    assert!(
        Policy::of_agents()
            .refuses_new(&user(SERVICE, Some("node-a")), &self::event("node-a", "Node", "node-a"))
            .is_some()
    );
}
