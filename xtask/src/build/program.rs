//! The programs that are shipped.

/// A program, which has an image of its own. It is in the root directory there, under its own name, and needs no other
/// file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// The word for it on the command line.
    pub word: &'static str,
    /// The binary.
    pub name: &'static str,
    /// The package that builds it.
    pub package: &'static str,
    /// In one line.
    pub about: &'static str,
    /// As whom it runs where nobody says otherwise.
    pub user: &'static str,
    /// What the image is called before anybody has put it into a registry.
    pub repository: &'static str,
    /// The kustomization that names it, if it is deployed.
    pub kustomization: Option<&'static str>,
}

/// The agent.
pub const AGENT: Program = Program {
    word: "agent",
    name: "why-terminating-agent",
    package: "why-terminating-agent",
    about: "Says, on one node, what holds every pod that should be gone",
    user: "0:0",
    repository: "why-terminating.invalid/agent",
    kustomization: Some("deploy/base/kustomization.yaml"),
};

/// The service.
pub const AGGREGATOR: Program = Program {
    word: "aggregator",
    name: "why-terminating-aggregator",
    package: "why-terminating-aggregator",
    about: "Says, for a cluster, what holds everything that should be gone",
    user: "65532:65532",
    repository: "why-terminating.invalid/aggregator",
    kustomization: Some("deploy/aggregator/kustomization.yaml"),
};

/// What people type; as an image for pipelines and Jobs.
pub const PLUGIN: Program = Program {
    word: "plugin",
    name: "kubectl-why_terminating",
    package: "kubectl-why-terminating",
    about: "Says what holds anything stuck in Terminating",
    user: "65532:65532",
    repository: "why-terminating.invalid/kubectl-why-terminating",
    kustomization: None,
};

impl Program {
    /// The one that is meant by a word.
    pub fn parse(word: &str) -> Option<Self> {
        [AGENT, AGGREGATOR, PLUGIN].into_iter().find(|program| program.word == word)
    }
}
