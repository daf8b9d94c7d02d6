# ruff: noqa: I001
# The public names, each once: editors and type checkers read this file, and so does `__init__.py`,
# which imports a name when it is first asked for. A line a name, in the order of the documentation;
# a remark heads each group.

# traces
from destage.trace import open_trace as open_trace
from destage.trace import open_volumes as open_volumes
from destage.trace import synth as synth
from destage.catalogue import workloads as workloads
from destage.conversion import write_workload as write_workload
from destage.conversion import trace_info as trace_info
from destage.conversion import trace_head as trace_head
from destage.conversion import convert as convert
from destage.trace_split import split_trace as split_trace
from destage.trace_split import Part as Part
from destage.trace_cache import trace_cache as trace_cache
from destage.trace import Trace as Trace
from destage.profile import TraceInfo as TraceInfo
from destage.profile import TraceProfile as TraceProfile
from destage.conversion import Converted as Converted
from destage.trace_cache import TraceCache as TraceCache
from destage.trace_cache import CacheEntry as CacheEntry

# recording a trace
from destage.record.recording import record as record
from destage.record.recording import Recording as Recording

# devices
from destage.device import open_device as open_device
from destage.device import Device as Device
from destage.fit.script import fit_script as fit_script
from destage.fit.fitting import fit as fit
from destage.fit.fitting import Fit as Fit
from destage.fit.probing import probe as probe
from destage.fit.comparison import compare_fio as compare_fio
from destage.fit.comparison import Compared as Compared

# runs
from destage.runs import compare as compare
from destage.runs import run as run
from destage.curves.calls import mrc as mrc
from destage.curves.screening import screen as screen
from destage.tuning import tune as tune
from destage.advise.calls import advise as advise
from destage.runs import plan as plan
from destage.rerunning import rerun as rerun
from destage.divergence import why as why
from destage.divergence import Why as Why
from destage.demo import demo as demo
from destage.demo import demo_trace as demo_trace
from destage.runs import Recorded as Recorded
from destage.curves.drawn import Curves as Curves
from destage.curves.screening import Screened as Screened
from destage.tuning import Tuned as Tuned
from destage.advise.calls import Advice as Advice
from destage.advise.kv import KvAdvice as KvAdvice
from destage.advise.kv import advise_kv as advise_kv
from destage.rerunning import Rerun as Rerun
from destage.runs import Planned as Planned
from destage.policy import PolicyLike as PolicyLike
from destage.options import ProgressCallback as ProgressCallback
from destage.options import RunOptions as RunOptions

# a block device behind a cache
from destage.nbd.serving import serve as serve
from destage.nbd.serving import Server as Server

# a policy without a trace
from destage._destage import Cache as Cache
from destage._destage import Access as Access

# results
from destage.results import Results as Results
from destage.results import Run as Run
from destage.results import TraceIdentity as TraceIdentity
from destage.results import Metric as Metric
from destage.results import metrics as metrics
from destage.reports import write_report as write_report

# sweeps
from destage.experiment.experiment import Experiment as Experiment
from destage.experiment.sweep import sweep as sweep
from destage.experiment.estimate import estimate as estimate
from destage.results import load_results as load_results
from destage.experiment.joining import merge_results as merge_results
from destage.experiment.joining import pack_results as pack_results
from destage.experiment.difference import between_traces as between_traces
from destage.model.citations import bibtex as bibtex
from destage.experiment.difference import diff as diff
from destage.experiment.experiment import SweepResult as SweepResult
from destage.experiment.estimate import SweepEstimate as SweepEstimate
from destage.experiment.difference import Differences as Differences
from destage.experiment.difference import Difference as Difference

# catalogues
from destage.catalogue import policies as policies
from destage.catalogue import policy as policy
from destage.catalogue import formats as formats
from destage.catalogue import reader_options as reader_options
from destage.catalogue import devices as devices
from destage.catalogue import device as device
from destage.catalogue import device_keys as device_keys
from destage.catalogue import ftls as ftls
from destage.catalogue import ftl as ftl
from destage.catalogue import PolicyInfo as PolicyInfo
from destage.catalogue import Counter as Counter
from destage.catalogue import Gauge as Gauge
from destage.catalogue import Param as Param
from destage.catalogue import DeviceInfo as DeviceInfo
from destage.catalogue import DeviceKey as DeviceKey
from destage.options import DeviceOptions as DeviceOptions
from destage.catalogue import FtlInfo as FtlInfo
from destage.catalogue import FormatInfo as FormatInfo
from destage.catalogue import ReaderOption as ReaderOption

# conformance
from destage.conformance import conform as conform
from destage.conformance import conform_emit as conform_emit
from destage.conformance import ConformanceReport as ConformanceReport
from destage.conformance import VectorFile as VectorFile

# this installation
from destage.doctor import doctor as doctor
from destage.doctor import Checkup as Checkup
from destage.doctor import Finding as Finding

# policies of one's own
from destage.user_policies.template import new_policy as new_policy
from destage.policy import Policy as Policy
from destage.policy import ListPolicy as ListPolicy
from destage.policy import PageList as PageList
from destage.policy import GhostList as GhostList
from destage.policy import Request as Request
from destage.policy import Plan as Plan
from destage.policy import DeviceView as DeviceView
from destage.policy import Hit as Hit
from destage.policy import Miss as Miss
from destage.policy import Bypass as Bypass
from destage.policy import HIT as HIT
from destage.policy import MISS as MISS
from destage.policy import BYPASS as BYPASS

# errors
from destage.errors import DestageError as DestageError
from destage.errors import UsageError as UsageError
from destage.errors import MissingExtra as MissingExtra
from destage.errors import DataError as DataError
from destage.errors import MissingFile as MissingFile
from destage.errors import OutputError as OutputError
from destage.errors import NotPermitted as NotPermitted
from destage.errors import Unavailable as Unavailable
from destage.errors import CheckFailed as CheckFailed
from destage.errors import InternalError as InternalError
from destage.runs import Interrupted as Interrupted

__version__: str
__all__: list[str]
