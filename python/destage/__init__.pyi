# ruff: noqa: I001
# The public names, each once: editors and type checkers read this file, and so does `lazy_loader`,
# which imports a name when it is first used. A line a name, in the order of the documentation;
# a remark heads each group.

# traces
from .lab.traces import open_trace as open_trace
from .lab.traces import open_volumes as open_volumes
from .lab.traces import synth as synth
from .lab.catalogue import workloads as workloads
from .lab.conversion import write_workload as write_workload
from .lab.conversion import trace_info as trace_info
from .lab.conversion import trace_head as trace_head
from .lab.conversion import convert as convert
from .lab.splitting import split_trace as split_trace
from .lab.splitting import Part as Part
from .lab.prompt_logs import read_prompts as read_prompts
from .lab.prompt_logs import Prompts as Prompts
from .lab.decoded_traces import trace_cache as trace_cache
from .lab.traces import Trace as Trace
from .lab.trace_profile import TraceInfo as TraceInfo
from .lab.trace_profile import TraceProfile as TraceProfile
from .lab.conversion import Converted as Converted
from .lab.decoded_traces import TraceCache as TraceCache
from .lab.decoded_traces import CacheEntry as CacheEntry

# recording a trace
from .live.record.recording import record as record
from .live.record.recording import Recording as Recording

# devices
from .lab.ssd import open_device as open_device
from .lab.ssd import Device as Device
from .experiment.schema import device_schema as device_schema
from .fit.script import fit_script as fit_script
from .fit.fitting import fit as fit
from .fit.fitting import Fit as Fit
from .fit.probing import probe as probe
from .fit.comparison import compare_fio as compare_fio
from .fit.comparison import Compared as Compared
from .fit.bench import bench_device as bench_device
from .fit.bench import Bench as Bench
from .fit.validating import validate_device as validate_device
from .fit.validating import Validation as Validation
from .fit.simulators import import_device as import_device
from .fit.importing import ImportedDevice as ImportedDevice

# runs
from .questions.runs import compare as compare
from .questions.runs import run as run
from .questions.curves.calls import mrc as mrc
from .questions.curves.partition import partition as partition
from .questions.curves.screening import screen as screen
from .questions.tuning import tune as tune
from .questions.advice.calls import advise as advise
from .questions.runs import plan as plan
from .questions.rerunning import rerun as rerun
from .questions.divergence import why as why
from .questions.divergence import Why as Why
from .questions.simulators import check_simulator as check_simulator
from .questions.simulators import CheckedSimulator as CheckedSimulator
from .questions.subsets import trace_subset as trace_subset
from .questions.subsets import TraceSubset as TraceSubset
from .questions.demonstration import demo as demo
from .questions.demonstration import demo_trace as demo_trace
from .questions.runs import Recorded as Recorded
from .questions.curves.drawn import Curves as Curves
from .questions.curves.partition import Partitioned as Partitioned
from .questions.curves.screening import Screened as Screened
from .questions.tuning import Tuned as Tuned
from .questions.advice.answers import Advice as Advice
from .questions.advice.answers import KvAdvice as KvAdvice
from .questions.advice.budget import BudgetAdvice as BudgetAdvice
from .questions.advice.budget import advise_writes as advise_writes
from .questions.advice.calls import advise_kv as advise_kv
from .questions.smart import SmartAnswer as SmartAnswer
from .questions.smart import read_smart as read_smart
from .questions.rerunning import Rerun as Rerun
from .questions.runs import Planned as Planned
from .lab.policy_base import PolicyLike as PolicyLike
from .lab.options import ProgressCallback as ProgressCallback
from .lab.options import RunOptions as RunOptions

# a block device behind a cache
from .live.nbd.serving import serve as serve
from .live.nbd.serving import Server as Server

# a policy without a trace
from ._destage import Cache as Cache
from ._destage import Access as Access

# results
from .experiment.results import Results as Results
from .experiment.results import Run as Run
from .experiment.results import TraceIdentity as TraceIdentity
from .experiment.results import Metric as Metric
from .experiment.results import metrics as metrics
from .questions.reports import write_report as write_report

# sweeps
from .experiment.experiment import Experiment as Experiment
from .experiment.sweep import sweep as sweep
from .experiment.estimate import estimate as estimate
from .experiment.schema import sweep_schema as sweep_schema
from .experiment.results import load_results as load_results
from .questions.joining import merge_results as merge_results
from .questions.joining import pack_results as pack_results
from .questions.difference import between_traces as between_traces
from .model.citations import bibtex as bibtex
from .questions.difference import diff as diff
from .experiment.experiment import SweepResult as SweepResult
from .experiment.estimate import SweepEstimate as SweepEstimate
from .questions.difference import Differences as Differences
from .questions.difference import Difference as Difference

# catalogues
from .lab.catalogue import policies as policies
from .lab.catalogue import policy as policy
from .lab.catalogue import formats as formats
from .lab.options import reader_options as reader_options
from .lab.catalogue import devices as devices
from .lab.catalogue import device as device
from .lab.catalogue import device_keys as device_keys
from .lab.catalogue import ftls as ftls
from .lab.catalogue import ftl as ftl
from .lab.catalogue import PolicyInfo as PolicyInfo
from .lab.catalogue import Counter as Counter
from .lab.catalogue import Gauge as Gauge
from .lab.catalogue import Param as Param
from .lab.catalogue import DeviceInfo as DeviceInfo
from .lab.catalogue import DeviceKey as DeviceKey
from .lab.options import DeviceOptions as DeviceOptions
from .lab.catalogue import FtlInfo as FtlInfo
from .lab.catalogue import FormatInfo as FormatInfo
from .lab.options import ReaderOption as ReaderOption

# conformance
from .doctor.conformance import conform as conform
from .doctor.conformance import conform_emit as conform_emit
from .doctor.conformance import ConformanceReport as ConformanceReport
from .doctor.conformance import VectorFile as VectorFile

# this installation
from .doctor import doctor as doctor
from .doctor import Checkup as Checkup
from .doctor import Finding as Finding

# policies of one's own
from .lab.user_policies.template import new_policy as new_policy
from .lab.policy_base import Policy as Policy
from .lab.policy_base import ListPolicy as ListPolicy
from .lab.policy_base import PageList as PageList
from .lab.policy_base import GhostList as GhostList
from .lab.policy_base import Request as Request
from .lab.policy_base import Plan as Plan
from .lab.policy_base import DeviceView as DeviceView
from .lab.policy_base import Hit as Hit
from .lab.policy_base import Miss as Miss
from .lab.policy_base import Bypass as Bypass
from .lab.policy_base import HIT as HIT
from .lab.policy_base import MISS as MISS
from .lab.policy_base import BYPASS as BYPASS

# errors
from .base.errors import DestageError as DestageError
from .base.errors import UsageError as UsageError
from .base.errors import MissingExtra as MissingExtra
from .base.errors import DataError as DataError
from .base.errors import MissingFile as MissingFile
from .base.errors import OutputError as OutputError
from .base.errors import NotPermitted as NotPermitted
from .base.errors import Unavailable as Unavailable
from .base.errors import CheckFailed as CheckFailed
from .base.errors import InternalError as InternalError
from .questions.runs import Interrupted as Interrupted

__version__: str
__all__: list[str]
