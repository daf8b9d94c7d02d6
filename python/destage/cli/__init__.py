"""The `destage` command: what a terminal user meets.

Standard output is the result, standard error progress and warnings. Errors are one message and an
exit status, never a traceback:

====  =====================================================================
   0  done
   1  a check, claim or comparison failed
   2  usage; also an unknown policy or parameter, an impossible configuration
  65  bad input data
  66  missing file
  70  our own bug
  74  output could not be written
 130  interrupted
====  =====================================================================

Nothing heavy is imported before it is known which command runs: `destage --help` is quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

__all__ = ["invoke", "main"]

INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command line, and exit with its status."""
    try:
        status = invoke(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (`destage ... | head`): nobody is left to tell. What is still
        # buffered must not fail again when the interpreter flushes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 74
    except OSError as e:
        _say(f"standard output: {e.strerror or e}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 74
    except KeyboardInterrupt:
        _say("interrupted")
        status = INTERRUPTED
    sys.exit(status)


def invoke(args: Sequence[str]) -> int:
    """Run the command line with these arguments; return the exit status.

    Raises nothing but `BrokenPipeError` and other errors of standard output.
    """
    import click

    from destage.cli.root import root

    try:
        # What `Context.exit` was given, or None.
        status = root.main(args=list(args), prog_name="destage", standalone_mode=False)
    except (KeyboardInterrupt, click.exceptions.Abort):
        _say("interrupted")
        return INTERRUPTED
    except click.UsageError as e:
        command = e.ctx.command_path if e.ctx else "destage"
        _say(f"{_sentence(e.format_message())}\n  try: {command} --help")
        return 2
    except OSError as e:
        # The commands give errors of files as `DestageError`; what is left is standard output.
        return _status(e) if _is_ours(e) else _reraise(e)
    except Exception as e:
        return _status(e) if _is_ours(e) else _bug(e)
    except BaseException as e:
        # A panic in Rust; everything else that is no Exception goes on.
        if type(e).__name__ != "PanicException":
            raise
        return _bug(e)
    return status if isinstance(status, int) else 0


def _is_ours(error: BaseException) -> bool:
    from destage.errors import DestageError, InternalError

    return isinstance(error, DestageError) and not isinstance(error, InternalError)


def _status(error: BaseException) -> int:
    _say(str(error))
    return int(getattr(error, "exit_status", 70))


def _reraise(error: OSError) -> NoReturn:
    raise error


def _bug(error: BaseException) -> int:
    if isinstance(error, MemoryError):
        _say("there is not enough memory for this")
        return 70
    if os.environ.get("DESTAGE_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    from destage import __version__

    _say(
        f"this is a bug in destage {__version__}: {type(error).__name__}: {error}\n"
        "  Please report it with the command line and, if you may share it, the input.\n"
        "  DESTAGE_TRACEBACK=1 shows where it happened."
    )
    return 70


def _sentence(message: str) -> str:
    """Click's messages in the style of ours: no capital, no full stop."""
    message = message.strip().rstrip(".")
    return message[:1].lower() + message[1:] if message[1:2].islower() else message


def _say(message: str) -> None:
    with suppress(OSError):
        sys.stdout.flush()
    print(f"destage: {message}", file=sys.stderr, flush=True)
