"""Many runs as one value: their grid, their tasks, who does them, where they are kept.

::

    grid -> tasks, each with an id -> a schedule -> a store -> rows
            (a hash of all that decides its results)

`destage.sweep`, `destage.load_results` and `destage.diff` are the calls.
"""
