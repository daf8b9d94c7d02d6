"""A browser that tests talk to: Chromium, over the pipe of its own protocol, without a driver.

`with opened() as browser, browser.page(path) as page:` gives a page whose console is listened to;
`page.press("Tab")`, `page.ask("document.title")`. `CHROMIUM` is None where there is none.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
#: Seconds that an answer may take on a machine that does much else.
PATIENCE = 120.0

KEYS = {
    "Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36,
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip


class Browser:
    """A Chromium that was started; `opened` does so."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back, self._left, self._number = to, back, b"", 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """What the browser answers; events that come meanwhile are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            said = self._read()
            if said.get("id") == self._number:
                assert "error" not in said, f"{method}: {said['error']}"
                answer: dict[str, Any] = said["result"]
                return answer
            if "method" in said:
                self.events.append(said)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._back], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            piece = os.read(self._back, 1 << 16)
            assert piece, "the browser has ended"
            self._left += piece
        line, _, self._left = self._left.partition(b"\0")
        said: dict[str, Any] = json.loads(line)
        return said

    @contextmanager
    def page(
        self, path: Path, *, dark: bool = False, width: int = 1280, hash: str = ""
    ) -> Iterator[Page]:
        """The page of a file, loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        given = self.call("Target.attachToTarget", targetId=target, flatten=True)
        page = Page(self, given["sessionId"])
        for domain in ("Page", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        page.size(width)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        page.call("Emulation.setEmulatedMedia", features=scheme)
        page.call("Page.navigate", url=path.as_uri() + hash)
        page.wait("document.readyState === 'complete'")
        yield page
        self.call("Target.closeTarget", targetId=target)


class Page:
    """A page, and what is done with it as a reader would."""

    def __init__(self, browser: Browser, session: str) -> None:
        self.browser, self.session = browser, session

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **params)

    def size(self, width: int, height: int = 900) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def ask(self, expression: str) -> Any:
        """The value of an expression, asked from outside: the page's policy is not touched."""
        done = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def text(self, place: str) -> str:
        """What stands in the element of this id."""
        return str(self.ask(f"document.getElementById('{place}').textContent"))

    def each(self, selector: str, what: str) -> list[Any]:
        """Something of every element `e` that is found."""
        found = self.ask(
            f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => {what})"
        )
        return list(found)

    def choose(self, place: str, value: str) -> None:
        """Choose an option."""
        box = f"document.getElementById('{place}')"
        self.ask(f"{box}.value = {json.dumps(value)}; {box}.dispatchEvent(new Event('change'))")
        self.settle()

    def wait(self, expression: str) -> None:
        """Until it holds."""
        end = time.monotonic() + PATIENCE
        while not self.ask(f"Boolean({expression})"):
            assert time.monotonic() < end, f"never: {expression}"
            time.sleep(0.02)

    def press(self, key: str) -> None:
        """A key, as a keyboard sends it."""
        more = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        name = "Space" if key == " " else key
        both = {"key": key, "code": name, "windowsVirtualKeyCode": KEYS[key]}
        self.call("Input.dispatchKeyEvent", type="keyDown", **both, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", **both)
        self.settle()

    def settle(self) -> None:
        """Until what was pressed is drawn."""
        two = "new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))"
        self.ask(two)

    def picture(self, path: Path) -> None:
        """A screenshot."""
        done = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(done["data"]))

    def printed(self) -> bytes:
        """The page on paper, as PDF."""
        done = self.call("Page.printToPDF", printBackground=False)
        return base64.b64decode(done["data"])

    @property
    def complaints(self) -> list[str]:
        """What the console was told, and what the browser itself objected to."""
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            method, params = event["method"], event["params"]
            if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                found.append(str(params["args"]))
            if method == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            if method == "Log.entryAdded":
                found.append(params["entry"]["text"])
        return found


@contextmanager
def opened() -> Iterator[Browser]:
    """A browser of its own, with an empty profile; it ends with the block."""
    mine, its_out = os.pipe()
    its_in, to = os.pipe()
    # The protocol wants 3 and 4; whatever has these numbers here is moved out of the way first.
    high_in, high_out = os.dup2(its_in, 63), os.dup2(its_out, 64)

    def wire() -> None:
        os.dup2(high_in, 3)
        os.dup2(high_out, 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [
                str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank",
            ],
            pass_fds=(3, 4), preexec_fn=wire, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for handle in (its_in, its_out, high_in, high_out):
            os.close(handle)
        browser = Browser(to, mine)
        try:
            yield browser
            browser.call("Browser.close")
        finally:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(to)
            os.close(mine)
