//! What vectors do not show: warm-ups, options of the run, over-long requests, and what is refused.
