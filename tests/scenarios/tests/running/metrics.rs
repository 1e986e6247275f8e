//! What the agent counts.

/// One scrape.
pub struct Metrics(String);

impl Metrics {
    /// An answer with its head.
    pub fn new(answer: String) -> Self {
        Metrics(answer)
    }

    /// All series of this name, added up; 0 without any.
    pub fn sum(&self, name: &str) -> f64 {
        self.series(name, "").sum()
    }

    /// Those whose labels hold `label`, added up.
    pub fn sum_of(&self, name: &str, label: &str) -> f64 {
        self.series(name, label).sum()
    }

    fn series(&self, name: &str, label: &str) -> impl Iterator<Item = f64> {
        self.0.lines().filter_map(move |line| {
            let (series, value) = line.rsplit_once(' ')?;
            let (of, labels) = series.split_once('{').unwrap_or((series, ""));
            (of == name && labels.contains(label)).then(|| value.parse().ok()).flatten()
        })
    }
}
