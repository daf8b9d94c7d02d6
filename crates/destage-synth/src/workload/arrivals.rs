//! When requests come.

use destage_keys::words;
use rand::distr::Distribution;
use rand_distr::Exp1;
use rand_pcg::Pcg64;

words! {
    /// Kind of the arrival process.
    Arrivals {
        /// Exponential gaps with the mean `gap_ns`.
        Poisson = "poisson",
        /// Every gap is `gap_ns`.
        Constant = "constant",
        /// Poisson during on-periods, silence between them; both periods exponential with the
        /// means `on_ns` and `off_ns`.
        OnOff = "onoff",
    }
}

/// The clock that arrivals are read off, ns. The first request comes at 0.
pub(crate) struct ArrivalClock {
    process: Arrivals,
    gap_ns: u64,
    on_ns: u64,
    off_ns: u64,
    now_ns: u64,
    /// Rest of the on-period.
    on_left_ns: u64,
}

impl ArrivalClock {
    pub(crate) fn new(
        process: Arrivals,
        gap_ns: u64,
        on_ns: u64,
        off_ns: u64,
        random: &mut Pcg64,
    ) -> Self {
        let on_left_ns = if process == Arrivals::OnOff { exponential(random, on_ns) } else { 0 };
        ArrivalClock { process, gap_ns, on_ns, off_ns, now_ns: 0, on_left_ns }
    }

    /// Time of this request; moves on to the next.
    pub(crate) fn next(&mut self, random: &mut Pcg64) -> u64 {
        let now = self.now_ns;
        let mut gap = match self.process {
            Arrivals::Constant => self.gap_ns,
            Arrivals::Poisson | Arrivals::OnOff => exponential(random, self.gap_ns),
        };
        if self.process == Arrivals::OnOff {
            // The gap counts time that is on; each silence in it is put on top.
            let mut silence = 0u64;
            let mut on_needed = gap;
            while on_needed > self.on_left_ns {
                on_needed -= self.on_left_ns;
                silence = silence.saturating_add(exponential(random, self.off_ns));
                // A period of at least 1 ns, so that this ends.
                self.on_left_ns = exponential(random, self.on_ns).max(1);
            }
            self.on_left_ns -= on_needed;
            gap = gap.saturating_add(silence);
        }
        self.now_ns = self.now_ns.saturating_add(gap);
        now
    }
}

fn exponential(random: &mut Pcg64, mean_ns: u64) -> u64 {
    let sample: f64 = Exp1.sample(random);
    (sample * mean_ns as f64) as u64
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn gaps(process: Arrivals, gap_ns: u64, on_ns: u64, off_ns: u64, count: usize) -> Vec<u64> {
        let mut random = Pcg64::seed_from_u64(5);
        let mut clock = ArrivalClock::new(process, gap_ns, on_ns, off_ns, &mut random);
        let times: Vec<u64> = (0..=count).map(|_| clock.next(&mut random)).collect();
        assert_eq!(times[0], 0);
        times.windows(2).map(|w| w[1] - w[0]).collect()
    }

    #[test]
    fn poisson_gaps_have_mean_and_deviation_alike() {
        let gaps = gaps(Arrivals::Poisson, 1000, 0, 0, 100_000);
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<u64>() as f64 / n;
        let variance = gaps.iter().map(|g| (*g as f64 - mean).powi(2)).sum::<f64>() / n;
        // Standard errors: 3.2 and about 4.5; truncation to whole ns takes half of one.
        assert!((mean - 999.5).abs() < 16.0, "{mean}");
        assert!((variance.sqrt() - 1000.0).abs() < 25.0, "{variance}");
    }

    #[test]
    fn constant_gaps_are_all_the_same() {
        assert!(gaps(Arrivals::Constant, 250, 0, 0, 100).iter().all(|g| *g == 250));
    }

    #[test]
    fn bursts_are_as_long_as_asked_and_silence_lies_between() {
        // 100 requests a burst on average, then 10 times as much silence.
        let gaps = gaps(Arrivals::OnOff, 1000, 100_000, 1_000_000, 200_000);
        let silences = gaps.iter().filter(|g| **g > 20_000).count() as f64;
        // 2,000 silences expected, of which e^-0.02 exceed the mark; standard deviation 45.
        assert!((silences - 1960.0).abs() < 220.0, "{silences}");
        let total = gaps.iter().sum::<u64>() as f64;
        // On time 2e8, silence 2e9 with standard deviation 6.3e7.
        assert!((total - 2.2e9).abs() < 3.2e8, "{total}");
    }
}
