"""Thousands of runs: what they are, in what order, who does them, and where they are kept.

::

    SPEC.toml -> spec -> grid -> plan -> an engine -> execute -> store -> loaded -> a table
                 (what)  (all of  (tasks,  (local,      (a task,  (parts,   (rows)
                         them)     ids)     cluster)     rows)     manifest)

`destage.sweep`, `destage.load_results` and `destage.diff` are the calls.
"""
