"""Completion for PowerShell and Nushell, beside bash, zsh and fish, which click knows.

Both scripts call `destage` with the words of the line as a JSON array, the one under the cursor
last, and read a JSON array of candidates; `null` where a file or a folder is meant, which the shell
completes itself.
"""

from __future__ import annotations

import json
import os
from typing import ClassVar

from click import UsageError
from click.shell_completion import ShellComplete, add_completion_class

__all__ = ["Nushell", "PowerShell", "register"]

_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($word, $line, $cursor)
    $words = @($line.CommandElements |
        Where-Object { $_.Extent.EndOffset -lt $cursor } |
        ForEach-Object { $_.ToString() }) + "$word"
    $env:%(complete_var)s = 'powershell_complete'
    $env:COMP_WORDS = ConvertTo-Json -Compress -InputObject $words
    try {
        $found = & %(prog_name)s | Out-String | ConvertFrom-Json
    } finally {
        Remove-Item Env:%(complete_var)s, Env:COMP_WORDS
    }
    $found | Where-Object { $_ } | ForEach-Object {
        $about = if ($_.description) { $_.description } else { $_.value }
        [System.Management.Automation.CompletionResult]::new(
            $_.value, $_.value, 'ParameterValue', $about)
    }
}
"""

#: A completer that is there already keeps the commands of others.
_NUSHELL = """\
$env.config.completions.external.completer = (do {
    let before = $env.config.completions.external.completer?
    {|spans: list<string>|
        if ($spans | first) == "%(prog_name)s" {
            with-env {
                %(complete_var)s: "nushell_complete"
                COMP_WORDS: ($spans | to json --raw)
            } { ^%(prog_name)s | from json }
        } else if $before != null {
            do $before $spans
        }
    }
})
"""


class _Json(ShellComplete):
    """A shell whose script speaks JSON."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words after the command, and the word under the cursor."""
        words = [str(word) for word in json.loads(os.environ["COMP_WORDS"])]
        return words[1:-1], words[-1] if len(words) > 1 else ""

    def complete(self) -> str:
        """The candidates; `null` for files and folders."""
        try:
            found = self.get_completions(*self.get_completion_args())
        except UsageError:
            return "[]"  # A line with a mistake: nothing to add, and no message between the keys.
        if any(item.type != "plain" for item in found):
            return "null"
        return json.dumps([{"value": i.value, "description": i.help or ""} for i in found])


class PowerShell(_Json):
    """PowerShell 5.1 and later."""

    name: ClassVar[str] = "powershell"
    source_template: ClassVar[str] = _POWERSHELL


class Nushell(_Json):
    """Nushell, by its external completer."""

    name: ClassVar[str] = "nushell"
    source_template: ClassVar[str] = _NUSHELL


def register() -> None:
    """Make both shells known to click."""
    add_completion_class(PowerShell)
    add_completion_class(Nushell)
