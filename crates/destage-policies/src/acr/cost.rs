//! Cost of L_C and L_D over the last m accesses (ACR, formulas 1 to 7).

/// The formulas, and what they weigh.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scheme {
    /// Formulas 2 and 3.
    Conservative,
    /// Formulas 4 and 5.
    Optimistic,
    /// Formulas 6 and 7, with n.
    Hybrid { file_pages: u64 },
}

/// Counters of one access, as bits of its record. Each access counts in at most one of R_LC and
/// R_LD.
pub(super) mod counted {
    pub(in super::super) const R_LD: u8 = 8;
    pub(in super::super) const R_LC: u8 = 1;
    pub(in super::super) const M_LC: u8 = 2;
    pub(in super::super) const M_LD: u8 = 4;
}

/// R_LC, R_LD, M_LC and M_LD over the last m accesses, and the costs that follow.
pub(super) struct Costs {
    records: Vec<u8>, // a ring once it holds m
    oldest: usize,    // in a full ring
    m: usize,
    r_lc: u64,
    r_ld: u64,
    m_lc: u64,
    m_ld: u64,
    scheme: Scheme,
    cost_read: u64,  // C_r
    cost_write: u64, // C_w
    frames: u32,     // s
}

impl Costs {
    pub(super) fn new(
        scheme: Scheme,
        window: u32,
        cost_read: u64,
        cost_write: u64,
        frames: u32,
    ) -> Self {
        Costs {
            records: Vec::new(),
            oldest: 0,
            m: window.max(1) as usize,
            r_lc: 0,
            r_ld: 0,
            m_lc: 0,
            m_ld: 0,
            scheme,
            cost_read,
            cost_write,
            frames,
        }
    }

    /// Counts an access that is over, and forgets the one m accesses before it.
    #[inline(always)]
    pub(super) fn push(&mut self, record: u8) {
        let gone = if self.records.len() < self.m {
            self.records.push(record);
            0
        } else {
            let gone = std::mem::replace(&mut self.records[self.oldest], record);
            self.oldest = if self.oldest + 1 == self.m { 0 } else { self.oldest + 1 };
            gone
        };
        let change = |sum: &mut u64, bit: u8| {
            *sum = *sum + u64::from(record & bit != 0) - u64::from(gone & bit != 0);
        };
        change(&mut self.r_lc, counted::R_LC);
        change(&mut self.r_ld, counted::R_LD);
        change(&mut self.m_lc, counted::M_LC);
        change(&mut self.m_ld, counted::M_LD);
    }

    /// Whether `|L_C| < beta s`, that is, L_D is too long.
    ///
    /// Exactly, as `|L_C| C_LD < (s - |L_C|) C_LC`.
    #[inline(always)]
    pub(super) fn l_d_is_too_long(&self, l_c: u32) -> bool {
        let ((n_c, cost_c), (n_d, cost_d)) = self.sides();
        let l_c = u64::from(l_c);
        product(n_d, cost_d, l_c) < product(n_c, cost_c, u64::from(self.frames) - l_c)
    }

    /// beta, for a plot.
    pub(super) fn beta(&self) -> f64 {
        let ((n_c, cost_c), (n_d, cost_d)) = self.sides();
        let (c_lc, c_ld) = (n_c as f64 * cost_c as f64, n_d as f64 * cost_d as f64);
        c_lc / (c_lc + c_ld)
    }

    /// C_LC and C_LD, each as a number of operations and the cost of one.
    #[inline(always)]
    fn sides(&self) -> ((u128, u64), (u128, u64)) {
        let (c_r, c_w) = (self.cost_read, self.cost_write);
        let (c_lc, c_ld) = match self.scheme {
            Scheme::Conservative => (
                (u128::from(self.m_lc.max(1)), c_r),
                if self.m_ld == 0 { (1, c_w) } else { (u128::from(self.m_ld), c_w + c_r) },
            ),
            Scheme::Optimistic => {
                ((u128::from(self.r_lc), c_r), (u128::from(self.r_ld), c_w + c_r))
            }
            Scheme::Hybrid { file_pages: n } => {
                // n times the formula, so that it stays whole.
                let logical = u128::from(n.saturating_sub(u64::from(self.frames)));
                let n = u128::from(n);
                let weigh = |r: u64, m: u64| u128::from(r) * logical + u128::from(m) * n;
                ((weigh(self.r_lc, self.m_lc), c_r), (weigh(self.r_ld, self.m_ld), c_w + c_r))
            }
        };
        if c_lc.0 == 0 && c_ld.0 == 0 { ((1, c_r), (1, c_w)) } else { (c_lc, c_ld) }
    }

    /// Asserts that the sums are those of the records.
    pub(super) fn check(&self) {
        let count = |bit| self.records.iter().filter(|&record| record & bit != 0).count() as u64;
        assert_eq!(self.r_lc, count(counted::R_LC));
        assert_eq!(self.r_ld, count(counted::R_LD));
        assert_eq!(self.m_lc, count(counted::M_LC));
        assert_eq!(self.m_ld, count(counted::M_LD));
        assert!(self.records.len() <= self.m);
    }
}

/// `a * b * c` as (all but the last 64 bits, the last 64 bits).
///
/// `a` counts operations of fewer than 2^32 accesses, times n: below 2^97. With costs and frames
/// it can pass 2^128, but not 2^192.
#[inline(always)]
fn product(a: u128, b: u64, c: u64) -> (u128, u64) {
    let times = |(high, low): (u128, u64), by: u64| {
        let low = u128::from(low) * u128::from(by);
        (high * u128::from(by) + (low >> 64), low as u64)
    };
    times(times((a >> 64, a as u64), b), c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four frames, C_r = 1, C_w = 2, after these records.
    fn costs(scheme: Scheme, window: u32, records: &[u8]) -> Costs {
        let mut costs = Costs::new(scheme, window, 1, 2, 4);
        for &record in records {
            costs.push(record);
            costs.check();
        }
        costs
    }

    #[test]
    fn nothing_seen_yet_costs_one_read_and_one_write() {
        // beta s = 4/3 in every scheme.
        for scheme in [Scheme::Conservative, Scheme::Optimistic, Scheme::Hybrid { file_pages: 16 }]
        {
            let costs = costs(scheme, 2, &[]);
            assert!(costs.l_d_is_too_long(1) && !costs.l_d_is_too_long(2), "{scheme:?}");
        }
    }

    #[test]
    fn an_access_older_than_the_window_no_longer_counts() {
        use counted::*;
        let before = costs(Scheme::Optimistic, 2, &[R_LD, R_LC | M_LC, R_LC]);
        assert!(before.l_d_is_too_long(3), "two reads: beta = 1");
        let after = costs(Scheme::Optimistic, 2, &[R_LC, R_LD, R_LD]);
        assert!(!after.l_d_is_too_long(0), "two writes: beta = 0");
    }

    #[test]
    fn equality_leaves_the_victim_to_l_c() {
        use counted::*;
        // M_LC = 3 and M_LD = 1: C_LC = 3, C_LD = 3, beta s = 2.
        let records = [R_LC | M_LC, R_LC | M_LC, R_LC | M_LC | M_LD];
        let costs = costs(Scheme::Conservative, 8, &records);
        assert!(costs.l_d_is_too_long(1) && !costs.l_d_is_too_long(2));
    }

    #[test]
    fn a_file_that_fits_into_the_buffer_leaves_only_physical_operations() {
        use counted::*;
        let records = [R_LD, R_LD, R_LC | M_LC];
        let small = costs(Scheme::Hybrid { file_pages: 3 }, 8, &records);
        assert!(small.l_d_is_too_long(3), "C_LD = 0: beta = 1");
        // n = 16: C_LC = 12 + 16 and C_LD = 3 * 24, so beta s = 1.12.
        let large = costs(Scheme::Hybrid { file_pages: 16 }, 8, &records);
        assert!(large.l_d_is_too_long(1) && !large.l_d_is_too_long(2));
    }

    #[test]
    fn products_beyond_128_bits_are_exact() {
        let a = (1 << 97) - 1;
        assert_eq!(product(a, 3, 1 << 32), ((3 * a) >> 32, ((3 * a) << 32) as u64));
        assert!(
            product(a, (1 << 33) - 2, u32::MAX.into())
                > product(a - 1, (1 << 33) - 2, u32::MAX.into())
        );
    }
}
