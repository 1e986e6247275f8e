//! PodDisruptionBudgets.

use serde::{Deserialize, Serialize};

use super::{Condition, Meta, Selector, lite};
use crate::state::Texts;

lite! {
    Budget {
        metadata: Meta,
        spec: BudgetSpec,
        status: BudgetStatus,
    }

    /// What was asked of a budget.
    BudgetSpec {
        /// Which pods are its own; an empty one selects all of the namespace, a missing one none.
        selector: Option<Selector>,
        /// `IfHealthyBudget`, which is the default, or `AlwaysAllow`.
        unhealthy_pod_eviction_policy: String,
        /// How many of its pods may be missing, if that is what it says.
        max_unavailable: Option<Quantity>,
    }

    BudgetStatus {
        /// How many of its pods may be evicted now.
        disruptions_allowed: i64,
        /// How many are ready.
        current_healthy: i64,
        /// How many must be.
        desired_healthy: i64,
        /// How many there should be.
        expected_pods: i64,
        /// Which generation this is about; 0 when the controller has not counted its pods.
        observed_generation: i64,
        conditions: Vec<Condition>,
    }
}

/// A number of pods, or a percentage of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Quantity {
    /// So many.
    Number(i64),
    /// `10%`.
    Percentage(String),
}

impl Quantity {
    fn is_zero(&self) -> bool {
        match self {
            Quantity::Number(number) => *number == 0,
            Quantity::Percentage(text) => text == "0%",
        }
    }
}

impl Budget {
    /// Whether it never lets a pod that is ready go, however many there are.
    pub fn never_allows(&self) -> bool {
        self.spec.max_unavailable.as_ref().is_some_and(Quantity::is_zero)
    }

    /// Whether it selects a pod with these labels.
    pub fn selects(&self, labels: &Texts) -> bool {
        self.spec.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }

    /// Whether its status says anything: until then every eviction is refused.
    pub fn is_counted(&self) -> bool {
        (self.status.observed_generation > 0 || self.status.expected_pods > 0) && !self.is_outdated()
    }

    /// Whether its status is of what was asked before; then too every eviction is refused.
    pub fn is_outdated(&self) -> bool {
        let counted = self.status.observed_generation;
        counted > 0 && self.metadata.generation.is_some_and(|generation| counted < generation)
    }

    /// Whether it refuses the eviction of a pod that runs; a pod that is not ready may go where enough others are.
    pub fn refuses(&self, is_ready: bool) -> bool {
        let BudgetStatus { disruptions_allowed, current_healthy, desired_healthy, .. } = self.status;
        let spares_unhealthy = self.spec.unhealthy_pod_eviction_policy == "AlwaysAllow"
            || (desired_healthy > 0 && current_healthy >= desired_healthy);
        (disruptions_allowed <= 0 || self.is_outdated()) && (is_ready || !spares_unhealthy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// kubernetes: pkg/registry/core/pod/storage/eviction.go.
    #[test]
    fn a_pod_that_is_not_ready_may_go_where_enough_others_are() {
        let budget = |policy: &str, current: i64, desired: i64| -> Budget {
            serde_json::from_value(serde_json::json!({
                "spec": {"unhealthyPodEvictionPolicy": policy},
                "status": {"disruptionsAllowed": 0, "currentHealthy": current, "desiredHealthy": desired}
            }))
            .unwrap()
        };
        assert!(budget("", 2, 2).refuses(true) && !budget("", 2, 2).refuses(false));
        assert!(budget("", 1, 2).refuses(false) && !budget("AlwaysAllow", 1, 2).refuses(false));
    }
}
