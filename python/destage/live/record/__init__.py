"""Recording the block requests of a Linux block device as a trace (`docs/spec/fit.md` 13).

```
recording   what `destage record` does, from the devices to the summary
devices     block devices, partitions and mount points
tracefs     an instance of the kernel's event buffers
ring        its binary pages, by the layouts that the kernel prints
events      what an event says
pairing     starts and ends of requests, in the order of starts
anonymous   addresses that keep locality and lose their place
tracefile   the trace's file: comments, rotation
alternatives  other tools, and the formats that read them
```
"""
