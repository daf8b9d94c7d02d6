"""One small addition of each kind that a page of `docs/contribute` is about, all of them at once.

Each is begun from a file that is there, and edited where the page says so; its name is `mine`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SSD = "crates/destage-ssd/src"
GC = f"{SSD}/ftl/page/gc"
POLICIES = "crates/destage-policies/src"
TRACE = "crates/destage-trace/src/formats"
ENGINE = "crates/destage-engine/src"

#: A pool over the new store: a page that was written is read back after it left memory.
TESTED = """
#[test]
fn pages_come_back() {
    use crate::{Options, Pool};
    let pool = Pool::open(MineStore::new(100, 64), "lru", Options::new(4)).unwrap();
    for page in 0..100 {
        pool.write(page).unwrap()[0] = page as u8;
    }
    assert_eq!(pool.read(7).unwrap()[0], 7);
}
"""


@dataclass(frozen=True)
class Addition:
    """What the page has one do."""

    page: str
    #: A new file, the one it is begun from, and the words in it that change.
    begun: tuple[str, str, tuple[tuple[str, str], ...]] | None = None
    #: In which file, after which line, which lines: what is there, and what is added.
    lines: tuple[tuple[str, str, str], ...] = field(default=())

    def files(self) -> Iterator[str]:
        if self.begun:
            yield self.begun[0]
        yield from dict.fromkeys(file for file, _, _ in self.lines)

    def make(self, root: Path) -> None:
        """Adds it to a copy of the repository."""
        if self.begun:
            new, old, words = self.begun
            text = (root / old).read_text(encoding="utf-8")
            for word, other in words:
                assert re.search(word, text), f"{old} has no {word}"
                text = re.sub(word, other, text)
            (root / new).write_text(text, encoding="utf-8")
        for file, line, added in self.lines:
            text = (root / file).read_text(encoding="utf-8")
            assert text.count(line) == 1, f"{file} has {text.count(line)} times {line!r}"
            (root / file).write_text(text.replace(line, line + added), encoding="utf-8")


ADDITIONS = (
    Addition(
        "add-a-collector.md",
        (f"{GC}/mine.rs", f"{GC}/fifo.rs", ((r"\bFifo\b", "Mine"),)),
        (
            (f"{GC}/mod.rs", "mod greedy;\n", "mod mine;\n"),
            (f"{GC}/mod.rs", "    Fifo => fifo::Fifo;\n", "    Mine => mine::Mine;\n"),
            (
                f"{SSD}/config/words.rs",
                '        /// One that is drawn.\n        Random = "random",\n',
                '        /// Mine.\n        Mine = "mine",\n',
            ),
        ),
    ),
    Addition(
        "add-a-placement.md",
        (
            f"{SSD}/placement/mine.rs",
            f"{SSD}/placement/by_cache.rs",
            ((r"\bByCache\b", "Mine"), (r"pub\(super\) fn class", "fn class")),
        ),
        (
            (f"{SSD}/placement.rs", "mod fk;\n", "mod mine;\n"),
            (f"{SSD}/placement.rs", "    ByCache(ByCache),\n", "    Mine(mine::Mine),\n"),
            (
                f"{SSD}/placement.rs",
                "            Placement::ByCache($one) => $body,\n",
                "            Placement::Mine($one) => $body,\n",
            ),
            (
                f"{SSD}/placement.rs",
                " Placement::ByCache(ByCache::new(handles)),\n",
                "            PlacementConfig::Mine => Placement::Mine(mine::Mine::new(handles)),\n",
            ),
            (
                f"{SSD}/placement.rs",
                " => Some(by_cache.class(filling.label)),\n",
                "            Placement::Mine(_) => None,\n",
            ),
            (f"{SSD}/config/placement.rs", "    ByCache,\n", "    /// Mine.\n    Mine,\n"),
            (f"{SSD}/config/placement.rs", '"none", "by-size", "by-cache", ', '"mine", '),
            (
                f"{SSD}/config/placement.rs",
                '            PlacementConfig::ByCache => "by-cache",\n',
                '            PlacementConfig::Mine => "mine",\n',
            ),
            (
                f"{SSD}/config/placement.rs",
                "            PlacementConfig::ByCache => {}\n",
                "            PlacementConfig::Mine => {}\n",
            ),
            (
                f"{SSD}/tables/placement.rs",
                '            "by-cache" => PlacementConfig::ByCache,\n',
                '            "mine" => PlacementConfig::Mine,\n',
            ),
        ),
    ),
    Addition(
        "add-an-admission-filter.md",
        (
            f"{POLICIES}/admission/mine.rs",
            f"{POLICIES}/admission/always.rs",
            ((r"\bAlways\b", "Mine"), ('"always"', '"mine"')),
        ),
        (
            (f"{POLICIES}/admission.rs", "mod larc;\n", "mod mine;\n"),
            (f"{POLICIES}/admission.rs", "    always::Always;\n", "    mine::Mine;\n"),
        ),
    ),
    Addition(
        "add-an-ftl.md",
        (
            f"{SSD}/ftl/mine.rs",
            f"{SSD}/ftl/page_ideal.rs",
            ((r"\bPageIdeal\b", "Mine"), ('"page-ideal"', '"mine"')),
        ),
        (
            (f"{SSD}/ftl/mod.rs", "pub mod page_ideal;\n", "pub mod mine;\n"),
            (f"{SSD}/ftl/mod.rs", "        page_ideal::PageIdeal;\n", "        mine::Mine;\n"),
        ),
    ),
    Addition(
        "add-a-format.md",
        (f"{TRACE}/mine.rs", f"{TRACE}/systor17.rs", (('"systor17"', '"mine"'),)),
        (
            (f"{TRACE}/mod.rs", "pub mod lmcache;\n", "pub mod mine;\n"),
            (f"{TRACE}/mod.rs", "    &systor17::FORMAT,\n", "    &mine::FORMAT,\n"),
        ),
    ),
    Addition(
        "add-a-run-option.md",
        None,
        (
            (
                f"{ENGINE}/options.rs",
                "    pub device_pages: Option<u64>,\n",
                "    /// Hits count so many times in `mine_ratio`.\n"
                '    #[serde(skip_serializing_if = "Option::is_none")]\n'
                "    pub mine: Option<u32>,\n",
            ),
            (
                f"{ENGINE}/result/schema.rs",
                '"of such a policy: pages that may be padded; absent: all";\n',
                '        mine "?": "integer", "as it was given";\n',
            ),
            (
                f"{ENGINE}/option_table.rs",
                "pub static RUN_OPTIONS: &[RunOption] = &[\n",
                '    RunOption { name: "mine", flag: "--mine", kind: OptionKind::Whole,\n'
                '        metavar: "TIMES", default: "1", about: "Mine.", commands: EVERY,\n'
                '        several: false, columns: &[int("mine")] },\n',
            ),
            (
                "python/destage/lab/options.py",
                '    then leave the cache unwritten."""\n',
                '    mine: int | None\n    """Mine."""\n',
            ),
        ),
    ),
    Addition(
        "add-a-metric.md",
        None,
        (
            (
                f"{ENGINE}/result/metrics.rs",
                "static OF_THE_CACHE: &[Metric] = &[\n",
                '    metric!(Hits, "mine_ratio", "Mine", Ratio "", Higher, "hits, many times",\n'
                "        |r| ratio(r.counters.hits() * r.config.options.mine.unwrap_or(1) as u64,\n"
                "            r.counters.accesses())).views(&[(View::Hits, 9)]).charted(),\n",
            ),
        ),
    ),
    Addition(
        "add-a-store.md",
        (
            "crates/destage-pool/src/mine.rs",
            "crates/destage-pool/src/memory.rs",
            ((r"\bMemoryStore\b", "MineStore"), (r"\Z", TESTED)),
        ),
        (
            ("crates/destage-pool/src/lib.rs", "mod memory;\n", "mod mine;\n"),
            (
                "crates/destage-pool/src/lib.rs",
                "pub use memory::MemoryStore;\n",
                "pub use mine::MineStore;\n",
            ),
        ),
    ),
)
