"""A simulated SSD fitted to fio measurements of a real one (`docs/spec/fit.md`).

```
script        the measurements: a fio job file
fio           fio's JSON as measured steps
probing       the script on a simulated SSD, in fio's JSON shape
miniature     the same SSD with fewer blocks
refusals      what would mislead
reads, curve  units, stripe, read time, link, command processor; the curve over depth
writes, slc   program time, buffer, erase; the SLC cache
collector     over-provisioning and garbage collector
intervals     how far each value may be off
fitting       the chain of estimates, and its result
devicefile    the TOML file, a status for every key
comparison    measured against simulated, step by step
page          the same as a page with charts
```
"""
