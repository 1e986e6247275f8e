//! Several runs as three numbers.

use std::fmt;

/// The smallest, the middle and the largest of several values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// The middle; of an even number of values the mean of the two in the middle.
    pub median: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// Of these values; nothing when there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let upper = *values.get(values.len() / 2)?;
        let lower = *values.get((values.len() - 1) / 2)?;
        Some(Self { min, median: f64::midpoint(lower, upper), max })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.median < 20.0 { 1 } else { 0 };
        write!(f, "{:.digits$} / **{:.digits$}** / {:.digits$}", self.min, self.median, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_odd_and_even_numbers_of_values() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Some(Spread { min: 1.0, median: 2.0, max: 3.0 }));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]), Some(Spread { min: 1.0, median: 2.5, max: 4.0 }));
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn small_values_are_shown_more_finely() {
        assert_eq!(Spread::of([9.26, 1.0, 12.0]).unwrap().to_string(), "1.0 / **9.3** / 12.0");
        assert_eq!(Spread::of([90.4]).unwrap().to_string(), "90 / **90** / 90");
    }
}
