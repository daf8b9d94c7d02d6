"""The `destage` command: what a terminal user meets.

Standard output is the result, standard error progress and warnings. Errors are one message and an
exit status, never a traceback:

====  =====================================================================
   0  done
   1  a check, claim or comparison failed
   2  usage; also an unknown policy or parameter, an impossible configuration
   3  a recording lost events
  65  bad input data
  66  missing file
  69  the system lacks a required feature
  70  our own bug
  74  output could not be written
  77  not permitted
 129  the terminal hung up
 130  interrupted
 131  quit
 141  the reader of a pipe has gone (without a word)
 143  terminated
====  =====================================================================

Nothing heavy is imported before it is known which command runs: `destage --help` is quick.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from destage.cli import signals, streams
from destage.cli.streams import say

__all__ = ["invoke", "main"]

#: Status when memory or another resource runs out (`EX_OSERR`); the allocator's too.
NO_MEMORY = 71


def main() -> NoReturn:
    """Run the command line, and exit with its status."""
    streams.normalise()
    signals.listen()
    try:
        status = streams.finish(invoke(sys.argv[1:]))
    except KeyboardInterrupt:
        # In the last moments, when everything is written.
        status = streams.finish(signals.status())
    # At once: the interpreter's own end would wait for threads that draw, and lose a signal.
    os._exit(status)


def invoke(args: Sequence[str]) -> int:
    """Run the command line with these arguments; return the exit status."""
    import click

    try:
        return _run(list(args))
    except (KeyboardInterrupt, click.exceptions.Abort):
        say(signals.said())
        return signals.status()
    except BrokenPipeError:
        return streams.BROKEN_PIPE
    except click.UsageError as e:
        command = e.ctx.command_path if e.ctx else "destage"
        say(f"{_sentence(e.format_message())}\n  try: {command} --help")
        return 2
    except OSError as e:
        # The commands raise errors of files as `DestageError`; others are of standard output.
        return _status(e) if _is_ours(e) else _of_a_policy(e) or streams.unwritten(e)
    except Exception as e:
        return _status(e) if _is_ours(e) else _of_a_policy(e) or _bug(e)
    except BaseException as e:
        # A panic in Rust; everything else that is no Exception goes on.
        if type(e).__name__ != "PanicException":
            raise
        return _bug(e)


def _run(args: list[str]) -> int:
    """As click's `main`, which would end a broken pipe with status 1."""
    import click

    from destage.cli.root import root

    if "_DESTAGE_COMPLETE" in os.environ:
        from destage.cli.shells import register

        register()
        root.main(args=args, prog_name="destage", standalone_mode=False)
        return 0
    try:
        with root.make_context("destage", args or ["--help"]) as ctx:
            root.invoke(ctx)
    except click.exceptions.Exit as e:
        return e.exit_code
    return 0


def _is_ours(error: BaseException) -> bool:
    from destage.base.errors import DestageError, InternalError

    return isinstance(error, DestageError) and not isinstance(error, InternalError)


def _status(error: BaseException) -> int:
    say(str(error))
    return int(getattr(error, "exit_status", 70))


def _of_a_policy(error: BaseException) -> int | None:
    """Status 1 if the exception came out of a policy of the user's own, which is then named."""
    import traceback

    from destage.lab.user_policies.files import blamed

    where = blamed(error)
    if where is None:
        return None
    package = os.path.dirname(os.path.dirname(__file__))
    stack = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in stack if not frame.filename.startswith(package)]
    said = f"{where}: {type(error).__name__}: {error}"
    for frame in own[-1:]:
        said += f"\n  {frame.filename}:{frame.lineno}, in {frame.name}\n    {frame.line}"
    say(said)
    return 1


def _bug(error: BaseException) -> int:
    if isinstance(error, MemoryError):
        say(f"there is not enough memory for this{f': {error}' if str(error) else ''}")
        return NO_MEMORY
    if os.environ.get("DESTAGE_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    from destage import __version__

    say(
        f"this is a bug in destage {__version__}: {type(error).__name__}: {error}\n"
        "  Please report it with the command line and, if you may share it, the input.\n"
        "  DESTAGE_TRACEBACK=1 shows where it happened."
    )
    return 70


def _number_expected(found: re.Match[str]) -> str:
    number = "whole number" if found[2] == "integer" else "number"
    before, _, value = found[1].rpartition(": ")
    return f"{before}: expected a {number}, found {value}"


def _sentence(message: str) -> str:
    """Click's messages in the style of ours: no capital, no full stop, no word of a type."""
    message = message.strip().rstrip(".")
    message = re.sub(r"(.*) is not a valid (integer|float)( range)?$", _number_expected, message)
    return message[:1].lower() + message[1:] if message[1:2].islower() else message
