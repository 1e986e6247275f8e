//! Clusters, recorded or built after the reference, asked through the real client and judged.

#[cfg(test)]
mod absent;
#[cfg(test)]
mod accounts;
#[cfg(test)]
mod admission;
#[cfg(test)]
mod agents;
#[cfg(test)]
mod apis;
#[cfg(test)]
mod argo_cd;
#[cfg(test)]
mod at_risk;
#[cfg(test)]
mod attacks;
#[cfg(test)]
mod before;
#[cfg(test)]
mod completed_pods;
#[cfg(test)]
mod conditions;
#[cfg(test)]
mod connecting;
#[cfg(test)]
mod control_plane;
#[cfg(test)]
mod dependents;
#[cfg(test)]
mod drain;
#[cfg(test)]
mod emptying;
#[cfg(test)]
mod finalizers;
#[cfg(test)]
mod gathering;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod hidden;
#[cfg(test)]
mod karpenter;
#[cfg(test)]
mod kinds;
#[cfg(test)]
mod known_finalizers;
#[cfg(test)]
mod leads;
#[cfg(test)]
mod live;
#[cfg(test)]
mod minimum_age;
#[cfg(test)]
mod named;
#[cfg(test)]
mod not_stuck;
#[cfg(test)]
mod on_node;
#[cfg(test)]
mod own_words;
#[cfg(test)]
mod owners;
#[cfg(test)]
mod plugin;
#[cfg(test)]
mod pods;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod products;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod recordings;
#[cfg(test)]
mod resumed;
#[cfg(test)]
mod rights;
#[cfg(test)]
mod roots;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod screen;
#[cfg(test)]
mod served;
#[cfg(test)]
mod setters;
#[cfg(test)]
mod side_by_side;
#[cfg(test)]
mod silent;
#[cfg(test)]
mod steps;
#[cfg(test)]
mod storage;
#[cfg(test)]
mod support;
#[cfg(test)]
mod ui;
#[cfg(test)]
mod unverified;
#[cfg(test)]
mod users;
#[cfg(test)]
mod versions;
