//! Whether what a process has stays the same.

/// One look at a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Resident memory in KiB.
    pub resident: u64,
    /// Open descriptors.
    pub descriptors: u64,
}

/// The medians of the first and the last third of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    /// How it began, its start left out.
    pub first: Sample,
    /// How it ended.
    pub last: Sample,
}

/// How much more memory the last third may have than the first: this, and a twentieth of the first.
const SLACK: u64 = 512;
/// How many more descriptors: a look opens some, and a sample may fall into one.
const DESCRIPTORS: u64 = 2;
/// With fewer the medians say nothing.
const FEWEST: usize = 15;

impl Course {
    /// That of samples in equal steps; nothing where there are too few. The first fifth is the start of the
    /// process, and left out.
    pub fn of(samples: &[Sample]) -> Option<Self> {
        let lived = samples.get(samples.len() / 5..)?;
        if lived.len() < FEWEST {
            return None;
        }
        let third = lived.len() / 3;
        Some(Self { first: median(&lived[..third]), last: median(&lived[lived.len() - third..]) })
    }

    /// Whether it has not grown.
    pub fn is_flat(&self) -> bool {
        let Self { first, last } = self;
        last.resident <= first.resident + first.resident / 20 + SLACK
            && last.descriptors <= first.descriptors + DESCRIPTORS
    }
}

fn median(samples: &[Sample]) -> Sample {
    let middle = |value: fn(&Sample) -> u64| {
        let mut values: Vec<u64> = samples.iter().map(value).collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    Sample { resident: middle(|sample| sample.resident), descriptors: middle(|sample| sample.descriptors) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_flat(resident: impl Fn(u64) -> u64, descriptors: impl Fn(u64) -> u64) -> bool {
        let sample = |at| Sample { resident: resident(at), descriptors: descriptors(at) };
        Course::of(&(0..600).map(sample).collect::<Vec<_>>()).unwrap().is_flat()
    }

    #[test]
    fn a_start_and_peaks_are_no_growth() {
        assert!(is_flat(|at| if at < 60 { 4000 + at * 100 } else { 10_000 }, |_| 12));
        assert!(is_flat(|at| if at % 10 == 9 { 40_000 } else { 10_000 }, |at| if at % 10 == 9 { 60 } else { 12 }));
    }

    #[test]
    fn a_leak_is_growth() {
        // 4 KiB per second are 14 MiB per hour.
        assert!(!is_flat(|at| 10_000 + at * 4, |_| 12));
        assert!(!is_flat(|_| 10_000, |at| 12 + at / 100));
    }

    #[test]
    fn a_short_life_says_nothing() {
        assert_eq!(Course::of(&[Sample { resident: 1, descriptors: 1 }; 17]), None);
        assert_eq!(Course::of(&[]), None);
    }
}
