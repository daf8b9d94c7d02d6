"""Serving a file, or memory, as a network block device behind a cache (`docs/spec/pool.md` 11).

```
serving   a server: started, asked for its counts, stopped
```
"""
