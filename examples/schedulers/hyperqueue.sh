#!/bin/sh
# A sweep on HyperQueue.
hq submit --array 1-64 --cpus 8 -- \
  sh -c 'destage sweep sweep.toml --store runs --jobs 8 --shard "$HQ_TASK_ID/64"'
