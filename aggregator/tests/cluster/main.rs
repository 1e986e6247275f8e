//! Clusters, recorded or built after the reference, asked through the real client and judged.

#[cfg(test)]
mod recordings;
#[cfg(test)]
mod support;
