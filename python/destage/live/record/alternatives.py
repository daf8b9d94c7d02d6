"""Other tools that record a trace, and the format that reads each."""

from __future__ import annotations

__all__ = ["HOW"]

HOW = r"""Ways to record a trace that Destage reads. DEV is a block device such as /dev/nvme0n1.

destage record (Linux, root)
  sudo destage record DEV --for 10m -o trace.csv.zst
  destage advise trace.csv.zst

blktrace (Linux, root): --format blkparse
  sudo blktrace -d DEV -w 600 -o - | blkparse -i - > t.blkparse
  destage trace info t.blkparse

biosnoop of bcc (Linux, root): --format biosnoop
  sudo biosnoop > t.biosnoop
  destage trace info t.biosnoop

fio, of its own requests: --format fio-iolog
  fio job.fio --write_iolog=t.iolog
  destage trace info t.iolog

bpftrace (Linux, root): our own CSV, without response times
  sudo bpftrace -q -e 'BEGIN {
      printf("time_ns,device,op,offset_bytes,length_bytes,response_ns\n"); }
    tracepoint:block:block_rq_issue
    /args->nr_sector > 0 && strncmp(str(args->rwbs), "D", 1) != 0/ {
      printf("%llu,%d:%d,%s,%llu,%d,\n", nsecs, args->dev >> 20, args->dev & 0xfffff,
        strncmp(str(args->rwbs), "R", 1) == 0 ? "read" : "write",
        args->sector * 512, args->bytes); }' > t.csv
  destage trace info t.csv

Windows: --format diskmon for the saved window of DiskMon; --format ms-etw for xperf
  xperf -on DISK_IO
  xperf -d t.etl
  xperf -i t.etl -o t.csv -a dumper

VMware ESXi, vscsiStats: --format vscsi
  vscsiStats -s -t -w WORLD
  logchannellogger CHANNEL t.vscsi      # the channel that vscsiStats names
"""
