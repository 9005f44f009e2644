"""Evaluations and errors of every proven algorithm on the suite, beside what none can do without."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

import shortlist
from samples import improbability
from suite import DEFAULT, DELTA, LIES, PAPER, RECORDS, TRACKING, Entry, suite

ROOT = Path(__file__).parents[1]
PAGE, PICTURE = ROOT / "docs" / "measurements.md", ROOT / "docs" / "images" / "bench-samples.png"
RUNS, PATIENCE = 200, 100  # runs are cut at so many times the limit
ONE_RULE = "Guess-and-verify"
ASKED = {"π/6": 1500, "ω = 0.1": 1600, "π/3": 112}
SIGNIFICANT = 0.01
NOT_SHOWN = ("π/3", "K = 10, N = 3", "K = 20, N = 3", "K = 50", "K = 60", "that lie")
# What was asked of ``auto``, in multiples of the limit: on average over the instances, and on each.
AUTO_ON_AVERAGE, AUTO_AT_MOST, AUTO_AT_N_100 = 2.8, 4.0, 6.0


def measured(entry: Entry, runs: int, kept: Path) -> pd.DataFrame:
    """One row per algorithm; those measured before are read again."""
    known = pd.read_csv(kept) if kept.exists() else pd.DataFrame(columns=["instance", "algorithm"])
    limit = entry.limit()
    rows = []
    for algorithm in entry.contenders:
        same = (known["instance"] == entry.label) & (known["algorithm"] == algorithm.name)
        if same.any() and known[same]["runs"].iloc[0] == runs:
            rows.append(known[same].iloc[0].to_dict())
            continue
        most = 10**8 if algorithm is PAPER or np.isnan(limit) else int(PATIENCE * limit)
        began = time.perf_counter()
        frame = shortlist.compare(
            algorithm,
            entry.instance,
            runs=runs,
            delta=DELTA,
            seed=6,
            max_samples=max(most, 10_000),
            progress=False,
        ).frame
        stopped = frame[frame["stopped"]]
        row = {
            "instance": entry.label,
            "algorithm": algorithm.name,
            "runs": runs,
            "mean": frame["samples"].mean(),
            "std": frame["samples"].std(),
            "cut": int((~frame["stopped"]).sum()),
            "errors": int((~stopped["correct"]).sum()),
            "limit": limit,
            "seconds": round(time.perf_counter() - began, 1),
        }
        rows.append(row)
        known = pd.concat([known, pd.DataFrame([row])]) if len(known) else pd.DataFrame([row])
        known.to_csv(kept, index=False)
        print(
            f"{entry.label:45}{algorithm.name:42}{row['mean']:12.1f}{row['seconds']:8.1f} s",
            flush=True,
        )
    return pd.DataFrame(rows)


def best(rows: pd.DataFrame) -> pd.Series:
    """The row that needed the fewest, of those that were not cut."""
    whole = rows[rows["cut"] == 0]
    return whole.loc[whole["mean"].idxmin()]


def cell(row: pd.Series, fewest: float, *, whole: bool) -> str:
    """The ratio to the limit, bold if the least, and errors if any; ``whole``: the mean too."""
    if row["cut"]:
        return f"> {PATIENCE}×"
    words = f"{row['mean']:,.0f}"
    if not np.isnan(row["limit"]):
        multiple = f"{row['mean'] / row['limit']:.1f}×"
        words = f"{words} ({multiple})" if whole else multiple
    if row["mean"] == fewest:
        words = f"**{words}**"
    return words + (f", {row['errors']} wrong" if row["errors"] else "")


def on_the_page(name: str) -> bool:
    """Whether the documentation shows this row: of algorithms much alike it has one."""
    return name != "UGapE" and "optimized" not in name


def shown(entry: Entry) -> bool:
    """Whether the documentation shows this column: of instances much alike it has one."""
    return not any(label in entry.label for label in NOT_SHOWN)


def table(parts: list[tuple[Entry, pd.DataFrame]], *, whole: bool = True) -> str:
    """Algorithms down, instances across, in two tables since there are many."""
    names = list(dict.fromkeys(name for _, rows in parts for name in rows["algorithm"]))
    names = [name for name in names if whole or on_the_page(name)]
    parts = [part for part in parts if whole or shown(part[0])]
    blocks = []
    for some in (parts[: len(parts) // 2], parts[len(parts) // 2 :]):
        lines = ["| | " + " | ".join(entry.label for entry, _ in some) + " |"]
        lines.append("|---" * (len(some) + 1) + "|")
        limits = [rows["limit"].iloc[0] for _, rows in some]
        words = ["–" if np.isnan(limit) else f"{limit:,.0f}" for limit in limits]
        lines.append("| *limit* | " + " | ".join(words) + " |")
        for name in names:
            cells = []
            for entry, rows in some:
                row = rows[rows["algorithm"] == name]
                fewest = best(rows)["mean"]
                own = "–" if row.empty else cell(row.iloc[0], fewest, whole=whole)
                cells.append(own + (" ← auto" if name == entry.auto else ""))
            if set(cells) != {"–"}:
                lines.append(f"| {name} | " + " | ".join(cells) + " |")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def claims(parts: list[tuple[Entry, pd.DataFrame]], runs: int) -> tuple[str, bool]:
    """What was asked of the suite and what was seen, as a table, and whether all of it holds."""
    rows: list[tuple[str, str, str, bool]] = []
    worst = 1.0
    multiples = []
    for entry, frame in parts:
        mean = frame.set_index("algorithm")["mean"]
        fewest = best(frame)
        start = entry.label.split(",")[0]
        if start in ASKED:
            seen = mean[ONE_RULE]
            rows.append(
                (f"{ONE_RULE}, {start}", f"≤ {ASKED[start]}", f"{seen:,.0f}", seen <= ASKED[start])
            )
            same = mean[[*DEFAULT, *(each.name for each in TRACKING)]].min()
            for each in TRACKING:
                ratio = mean[each.name] / same
                what = f"{each.name}, {start}, beside the best with the same threshold"
                rows.append((what, "≤ 1.35×", f"{ratio:.2f}×", ratio <= 1.35))
        if "N = 50" in entry.label or "N = 100" in entry.label:
            ratio = fewest["mean"] / mean[PAPER.name]
            what = (
                f"{fewest['algorithm']} beside m-LinGapE with the paper's threshold, {entry.label}"
            )
            rows.append((what, "≤ 0.2×", f"{ratio:.3f}×", ratio <= 0.2))
        ratio = mean[entry.auto] / fewest["mean"]
        rows.append(
            (f"auto beside the best, {entry.label}", "≤ 1.15×", f"{ratio:.2f}×", ratio <= 1.15)
        )
        if entry.kind != LIES:
            multiples.append(mean[entry.auto] / entry.limit())
            most = AUTO_AT_N_100 if "N = 100" in entry.label else AUTO_AT_MOST
            what = f"auto beside the limit, {entry.label}"
            rows.append((what, f"≤ {most}×", f"{multiples[-1]:.2f}×", multiples[-1] <= most))
        if entry.kind != RECORDS:
            worst = min(worst, *(improbability(e, runs, DELTA) for e in frame["errors"]))
    average = float(np.exp(np.mean(np.log(multiples))))
    rows.append(
        (
            "auto beside the limit, geometric mean",
            f"≤ {AUTO_ON_AVERAGE}×",
            f"{average:.2f}×",
            average <= AUTO_ON_AVERAGE,
        )
    )
    rows.append(
        (
            "least p-value of 'errs at most δ', all algorithms",
            f"> {SIGNIFICANT}",
            f"{worst:.2g}",
            worst > SIGNIFICANT,
        )
    )
    lines = ["| | target | measured | |", "|---|---|---|---|"]
    lines += [
        f"| {what} | {asked} | {seen} | {'yes' if holds else '**no**'} |"
        for what, asked, seen, holds in rows
    ]
    return "\n".join(lines), all(holds for *_, holds in rows)


def draw(parts: list[tuple[Entry, pd.DataFrame]]) -> None:
    """Every algorithm's mean as a multiple of the limit, an instance a line."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    known = [(entry, rows) for entry, rows in parts if not rows["limit"].isna().any()]
    figure, ax = plt.subplots(figsize=(9, 0.48 * len(known) + 1.4), layout="constrained")
    for y, (entry, rows) in enumerate(reversed(known)):
        whole = rows[rows["cut"] == 0]
        ratio = whole.set_index("algorithm")["mean"] / whole["limit"].iloc[0]
        others = ratio.drop([entry.auto, PAPER.name], errors="ignore")
        ax.plot(
            others,
            [y] * len(others),
            "o",
            color="0.65",
            markersize=5,
            label="other proven algorithms" * (y == 0),
        )
        ax.plot(
            ratio.get(PAPER.name),
            y,
            "s",
            color="#D55E00",
            markersize=6,
            label="m-LinGapE, the paper's threshold" * (y == 0),
        )
        ax.plot(ratio[entry.auto], y, "D", color="#0072B2", markersize=7, label="auto" * (y == 0))
    ax.set_yticks(range(len(known)), [entry.label for entry, _ in reversed(known)], fontsize=8)
    ax.set_xscale("log")
    ax.axvline(1.0, color="black", linewidth=0.8)
    ax.set_xlabel("mean evaluations, as a multiple of the limit")
    ax.grid(axis="x", which="both", color="0.92")
    ax.set_axisbelow(True)
    figure.legend(loc="outside upper center", ncols=3, fontsize=8)
    figure.savefig(PICTURE, dpi=130)
    plt.close(figure)


def written(page: str, name: str, content: str) -> str:
    """The page with what stands between the marks of this name replaced."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{content}\n\n{end}{rest.split(end)[1]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--kept", type=Path, default=ROOT / "results" / "bench-samples.csv")
    parser.add_argument(
        "--write", action="store_true", help="the table and the picture of the docs"
    )
    options = parser.parse_args()
    options.kept.parent.mkdir(exist_ok=True)
    parts = [(entry, measured(entry, options.runs, options.kept)) for entry in suite()]
    seen, holds = claims(parts, options.runs)
    print(f"\n{table(parts)}\n\n{seen}")
    if options.write:
        PAGE.write_text(written(PAGE.read_text(), "table", table(parts, whole=False)))
        draw(parts)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
