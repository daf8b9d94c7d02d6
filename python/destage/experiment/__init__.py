"""Many runs as one value: their tasks, who does them, where they are kept.

::

    Task.of(trace, device, policies, sizes, options)      what is run; ids hash all that decides it
        -> Experiment(store=, shard=, engine=, jobs=)    who does it, and where it is kept
        -> .sets(tasks) or .answers(tasks)               result sets, or answers to questions

Contract, for a call that asks a question:

* `experiment_of(store, jobs, progress)` turns the `store=` of a call (None, a folder, or an
  `Experiment`) into the `Experiment` of the call. Without a store all is in memory: one call of the
  engine for each task, all threads, what had ended is kept on Ctrl-C.
* A `Task` is one trace in front of one device (or none), policies, sizes, run options. Its result
  set is what `compare` returns, byte for byte, on any schedule.
* `Experiment.sets(tasks)` returns a result set for each task. It raises what a run raises, and
  `Unfinished` on Ctrl-C with the sets of all runs that had ended.
* A task with a `Question` (kind, what decides the answer, a function of a module that gives the
  answer as JSON, and its numbers as rows) is done as a whole: `Experiment.answers(tasks)`.
* With a store, tasks are cut in pieces of some ten seconds; each is written when it ends (another
  name, fsync, rename). The same call resumes a killed sweep; shards may share a store or be
  merged; a run has an id and a name.
* A generated trace belongs to a task only while it is open: with thousands of them, call
  `sets([task])` one by one with the same `Experiment`, or from several threads (a store takes
  parts from any process).

Modules: `grid` (axes and points), `task`, `recipes` and `policies` (what travels of a trace, a
device, a policy), `execute` (a task done), `schedule` (threads, then processes), `cluster` (Dask),
`memory`, `rows`, `store`, `experiment`. `spec`, `plan`, `traces`, `drives`, `sweep` and `estimate`
read a SPEC; `loaded`, `pooling`, `listing`, `answer`, `joining` and `difference` read stores.
"""
