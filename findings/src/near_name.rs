//! What a mistyped name may mean.

use crate::clean;

/// Less alike is another word.
const MIN_SIMILARITY: f64 = 0.85;

/// The name that is most like what was typed, if one is like it. Names differ by their letters alone, not by their case.
pub fn near_name<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let typed = clean(typed, 60).to_lowercase();
    let rated = names.into_iter().map(|name| (strsim::jaro_winkler(&typed, &name.to_lowercase()), name));
    let (similarity, name) = rated.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (similarity >= MIN_SIMILARITY).then_some(name)
}
