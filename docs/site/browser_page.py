#!/usr/bin/env python3
"""Build the page that runs Destage in a browser: the module, the samples, and the page around them.

`make page` calls it; the page is `docs/_build/page/index.html`. `make docs` puts it into the site
where it is built. Nothing is fetched, and the built page needs no network and no server.
"""

from __future__ import annotations

import base64
import gzip
import html
import lzma
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = ROOT / "docs" / "site" / "browser"
#: The page as it is built.
BUILT = ROOT / "docs" / "_build" / "page"
TARGET = "wasm32-unknown-unknown"
MODULE = "destage_web.wasm"
RECORDING = ROOT / "python" / "destage" / "data" / "pgtpcb_first400k.csv.xz"
#: Requests of the recording that the page has.
REQUESTS = 60_000
#: Generated samples: file, arguments of `destage trace synth`.
GENERATED = {
    "scan.csv.gz": "scan --requests 40000 --pages 20000",
    "loop.csv.zst": "loop --requests 40000 --pages 4000 --read-ratio 0.9",
}
TITLE = "Run Destage in the browser"
#: Versions of clang that are looked for, the one without a number first.
CLANGS = ("", *(f"-{number}" for number in range(25, 13, -1)))


def is_built() -> bool:
    """Whether `make page` has built the page."""
    return (BUILT / "engine.js").is_file()


def fragment() -> str:
    """Return the page's elements, with the exercises."""
    text = (PARTS / "page.html").read_text(encoding="utf-8")
    tasks = tomllib.loads((PARTS / "tasks.toml").read_text(encoding="utf-8"))["task"]
    items = [
        f"<li>{_marked(one['task'])}<details><summary>Solution</summary>"
        f"<p>{_marked(one['solution'])}</p></details></li>"
        for one in tasks
    ]
    return text.replace("<!-- tasks -->", "\n".join(items))


def _marked(text: str) -> str:
    """Escape a text, with what stands between backticks as code."""
    parts = html.escape(" ".join(text.split()), quote=False).split("`")
    return "".join(f"<code>{p}</code>" if k % 2 else p for k, p in enumerate(parts))


def site_page(folder: str) -> str:
    """Return the page of the site, Markdown; the built files are in `folder`."""
    return (
        f"# {TITLE}\n\n```{{raw}} html\n"
        f'<link rel="stylesheet" href="{folder}/browser.css">\n{fragment()}\n'
        f'<script src="{folder}/browser.js" defer></script>\n```\n'
    )


def _alone() -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{TITLE}</title>\n"
        '<link rel="icon" href="data:,">\n<link rel="stylesheet" href="browser.css">\n'
        '<script src="browser.js" defer></script>\n</head>\n'
        f'<body class="lab-alone">\n<h1>{TITLE}</h1>\n{fragment()}\n</body>\n</html>\n'
    )


def missing(environment: dict[str, str]) -> list[str]:
    """Return a sentence for each tool that is not there."""
    found = []
    if "-Z" not in environment.get("PAGE_FLAGS", "").split():
        asked = ["rustc", "--print", "target-libdir", "--target", TARGET]
        try:
            done = subprocess.run(asked, capture_output=True, text=True, check=False)
            there = done.returncode == 0 and Path(done.stdout.strip()).is_dir()
        except OSError:
            there = False
        if not there:
            found.append(
                f"the Rust target {TARGET}: rustup target add {TARGET}\n    (without rustup, as on "
                "Debian: docs/contribute/the-page-in-the-browser.md)"
            )
    if compilers(environment) is None:
        found.append(
            "clang with the target wasm32, and llvm-ar of the same version, for the C of zstd and "
            "xz:\n    apt-get install clang llvm"
        )
    return found


def compilers(environment: dict[str, str]) -> dict[str, str] | None:
    """Return the C compiler and archiver for the target, as cargo's build scripts read them."""
    names = [f"{tool}_{TARGET.replace('-', '_')}" for tool in ("CC", "AR")]
    if all(name in environment for name in names):
        return {name: environment[name] for name in names}
    for version in CLANGS:
        clang, archiver = f"clang{version}", f"llvm-ar{version}"
        if shutil.which(clang) is None or shutil.which(archiver) is None:
            continue
        done = subprocess.run(
            [clang, "--print-targets"], capture_output=True, text=True, check=False
        )
        if "wasm32" in done.stdout:
            return dict(zip(names, (clang, archiver), strict=True))
    return None


def module() -> Path:
    """Compile the module; return its file."""
    environment = dict(os.environ)
    command = [environment.get("CARGO", "cargo"), "build", "--profile", "page", "--locked"]
    command += ["--quiet", "--target", TARGET, "-p", "destage-web"]
    command += environment.get("PAGE_FLAGS", "").split()
    environment |= compilers(environment) or {}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    target = Path(environment.get("CARGO_TARGET_DIR") or ROOT / "target")
    return target / TARGET / "page" / MODULE


def write_script(path: Path, name: str, content: bytes) -> None:
    """Write a script that hands `content` over, so that it loads from a folder too."""
    text = base64.b64encode(content).decode()
    path.write_text(f'destageLoaded("{name}", "{text}");\n', encoding="ascii")


def samples(folder: Path) -> None:
    """Write the samples: each as the file that it is, and as a script."""
    folder.mkdir(parents=True, exist_ok=True)
    with lzma.open(RECORDING) as recording:
        lines = [line for line, _ in zip(recording, range(REQUESTS), strict=False)]
    (folder / "oltp.csv.xz").write_bytes(lzma.compress(b"".join(lines), preset=9))
    for name, arguments in GENERATED.items():
        command = [sys.executable, "-m", "destage", "trace", "synth", *arguments.split()]
        subprocess.run([*command, "--quiet", "--output", str(folder / name)], check=True)
    for path in [p for p in folder.iterdir() if p.suffix != ".js"]:
        write_script(folder / f"{path.name}.js", path.name, path.read_bytes())


def main() -> int:
    """Build; return the exit status."""
    lacking = missing(dict(os.environ))
    if lacking:
        print(
            "page: not built. Missing:",
            *(f"  {what}" for what in lacking),
            sep="\n",
            file=sys.stderr,
        )
        return 1
    print(
        "page: compiling the readers and policies to WebAssembly (the first time some minutes) ..."
    )
    try:
        made = module()
    except subprocess.CalledProcessError as failed:
        print(f"page: not built: cargo ended with status {failed.returncode}", file=sys.stderr)
        return 1
    shutil.rmtree(BUILT, ignore_errors=True)
    BUILT.mkdir(parents=True)
    for name in ("browser.js", "browser.css"):
        shutil.copyfile(PARTS / name, BUILT / name)
    samples(BUILT / "samples")
    (BUILT / "index.html").write_text(_alone(), encoding="utf-8")
    packed = gzip.compress(made.read_bytes(), mtime=0)
    write_script(BUILT / "engine.js", "engine", packed)
    print(f"page: {BUILT / 'index.html'} (module {len(packed) / 1000:,.0f} kB, packed)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
