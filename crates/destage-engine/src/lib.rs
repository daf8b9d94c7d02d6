//! Runs policies over decoded traces, and makes results of what the replay loops
//! (`destage-replay`) count.
//!
//! ```text
//!  run           one run after defaults, and many side by side
//!  result        the result of a run: one schema, one table of metrics
//!  stepped       a policy without a trace, one access at a time
//!  live          a policy in front of a drive without a trace
//!  options       options of a run                     mounted   a drive that is ready to run
//!  option_table  options that a user may set          option_column  columns that they fill
//!  checked       wraps a policy and asserts the laws
//!  decisions     every decision of a run, as JSON lines
//!  series        how a run develops over time
//!  padding       pages that a policy adds to complete blocks, destage by destage
//!  tiers         the tiers below the cache
//!  backing       the store below them             clean   write-back of the flash tier
//!  offer         pages that the flash tier is offered     pin   pages that stay in a cache
//!  pinning       these among the other options
//!  tier_options  options of these tiers and of language models
//!  sizes, spec, cost   words of users: 32MiB, cflru[window_fraction=0.75], read=1,write=118
//! ```

pub mod backing;
pub mod checked;
pub mod clean;
pub mod cost;
pub mod decisions;
pub mod live;
pub mod mounted;
pub mod offer;
pub mod option_column;
pub mod option_table;
pub mod options;
pub mod padding;
pub mod pin;
mod pinning;
pub mod result;
pub mod run;
pub mod series;
pub mod sizes;
pub mod spec;
pub mod stepped;
pub mod tier_options;
pub mod tiers;
