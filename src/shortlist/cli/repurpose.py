"""``shortlist repurpose``: the drugs that best reverse a disease, from files to a shortlist."""

from __future__ import annotations

import csv
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.advice import CommandLine, read_by
from shortlist.cli.output import decimal, note, noting_warnings, say, say_json
from shortlist.errors import InvalidExpression, InvalidSetting, unknown_among_many

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """[bold]Examples[/bold]
$ shortlist repurpose --synthetic
$ shortlist repurpose --network net.bnet --patients P.csv --controls C.csv \\
    --signatures S.csv --labels labels.csv -m 5 --epsilon 0.1 --out screen

Patients and controls: genes × samples (CSV, Parquet, GCT, GCTX, h5ad).

Signatures: genes × drugs, each cell 0, 1 or empty.

Labels: a drug in the first column, 1, -1 or 0 in the last; a column
drug_name, if there is one, names the drugs.

Same data, same seed: the same pulls. They are kept in FOLDER/pulls.csv,
and an interrupted run continues where it stopped. A different answer
that is already there is not overwritten unless --force is given."""

PULLS = "pulls.csv"
# What to do, in place of a study's methods: there is no stored study to go on with.
WITHOUT_STUDY = {
    "verify": "`--classical`",
    "guarantee": "`--json`",
    "carry over": "another run",
}


class Screening(CommandLine):
    """A reader who gives this command, and has no study.

    Examples
    --------
    >>> Screening().goes_on("with all results.", sigma=0.14)
    '`--sigma 0.14` goes on with all results.'
    >>> Screening().goes_on("in this study, with the features as a guide only.")
    '`--classical` assumes nothing about the means.'
    """

    has_study = False

    def advise(self, action: str, /, **given: object) -> str:
        """What to do."""
        return WITHOUT_STUDY.get(action) or super().advise(action, **given)

    def continued(self, **changes: object) -> str:
        """The option of this command."""
        sigma = changes.get("sigma")
        if isinstance(sigma, float) and len(changes) == 1:
            return f"`--sigma {sigma:g}`"
        return WITHOUT_STUDY["verify"]

    def goes_on(self, how: str, /, **changes: object) -> str:
        """What goes on, and how; without features it is another study."""
        way = self.continued(**changes)
        classical = way == WITHOUT_STUDY["verify"]
        return f"{way} {'assumes nothing about the means.' if classical else f'goes on {how}'}"


about_data = partial(typer.Option, rich_help_panel="The data")
data_file = partial(about_data, metavar="FILE", exists=True, dir_okay=False)
about_question = partial(typer.Option, rich_help_panel="The question")
about_answer = partial(typer.Option, rich_help_panel="The answer")

NETWORK = "A Boolean network; given several times, an ensemble: each pull draws one."
FEATURES = "Features × drugs, for the linear model; the signatures if not given."
DRUGS = "Only these; [bold]labelled[/bold] for those with a label 1 or -1."
SIGMA = "The noise. Rewards lie in [0, 1], so 0.5 is always valid; less is your own assumption."
EPSILON = "The slack in the means. At 0, drugs with equal means can never be separated."
ALGORITHM = "See `shortlist algorithms`; m-LinGapE, or LUCB if classical."
LAST_STATES = "A walk that meets no fixed point counts by its last state; an error if not given."
CLASSICAL = "Use no features: nothing is assumed about the means."
REPEATS = "Walks of each drug and patient, to check the answer and for the picture."


@read_by(Screening())
def repurpose(
    network: Annotated[list[Path] | None, data_file(help=NETWORK)] = None,
    patients: Annotated[Path | None, data_file(help="Expression of patients.")] = None,
    controls: Annotated[Path | None, data_file(help="Expression of controls.")] = None,
    signatures: Annotated[Path | None, data_file(help="Binary signatures.")] = None,
    full_signatures: Annotated[
        Path | None, data_file(help="Real-valued signatures, for the baseline.")
    ] = None,
    features: Annotated[Path | None, data_file(help=FEATURES)] = None,
    labels: Annotated[Path | None, data_file(help="What is known about drugs.")] = None,
    drugs: Annotated[str | None, about_data(metavar="NAME,NAME", help=DRUGS)] = None,
    synthetic: Annotated[
        bool, about_data("--synthetic", help="A data set made by code, instead of files.")
    ] = False,
    m: Annotated[int, about_question("-m", metavar="M", help="How many drugs.")] = 5,
    sigma: Annotated[float, about_question(parser=decimal, metavar="σ", help=SIGMA)] = 0.5,
    delta: Annotated[
        float, about_question(parser=decimal, metavar="δ", help="The risk of a wrong answer.")
    ] = 0.05,
    epsilon: Annotated[float, about_question(parser=decimal, metavar="ε", help=EPSILON)] = 0.1,
    algorithm: Annotated[str | None, about_question(metavar="NAME", help=ALGORITHM)] = None,
    classical: Annotated[bool, about_question("--classical", help=CLASSICAL)] = False,
    max_evaluations: Annotated[
        int | None,
        about_question(min=1, metavar="N", help="Stop after this many, without a guarantee."),
    ] = None,
    seed: Annotated[int, about_answer(min=0, metavar="N", help="Same seed, same pulls.")] = 0,
    last_states: Annotated[bool, about_question("--last-states", help=LAST_STATES)] = False,
    repeats: Annotated[int, about_answer(min=1, metavar="N", help=REPEATS)] = 10,
    out: Annotated[
        Path,
        about_answer(
            file_okay=False, metavar="FOLDER", help="For the table, the picture and the pulls."
        ),
    ] = Path("screen"),
    force: Annotated[bool, about_answer("--force", help="Overwrite an earlier answer.")] = False,
    as_json: Annotated[bool, about_answer("--json", help="Print JSON.")] = False,
) -> None:
    """Find the m drugs that best reverse a disease in a Boolean network.

    A pull simulates one random patient under one drug and scores the outcome
    against healthy controls. The answer is a shortlist with its guarantee, next
    to the ranking of L1000 CDS².
    """
    files = {
        "network": network,
        "patients": patients,
        "controls": controls,
        "signatures": signatures,
        "full_signatures": full_signatures,
        "features": features,
        "labels": labels,
    }
    if synthetic and any(files.values()):
        raise typer.BadParameter("--synthetic takes the place of files: give one or the other.")
    missing = [name for name in list(files)[:4] if not files[name]]
    if missing and not synthetic:
        raise typer.BadParameter(
            f"--{missing[0]} is missing: a screen needs --network, --patients, --controls and "
            "--signatures, or --synthetic to try it without data."
        )
    if algorithm is not None:
        _check_algorithm(algorithm)
    from shortlist.files.writing import make_folder
    from shortlist.repurposing.outcome import Outcome
    from shortlist.repurposing.phenotype import Semantics
    from shortlist.repurposing.screen import DrugScreen

    with noting_warnings():
        data = _synthetic(seed, list(files)) if synthetic else _read(files)
        _select(data, drugs)
    _check_free(make_folder(out), force)
    semantics = Semantics(unsettled="last" if last_states else "error")
    screen = DrugScreen(**data, seed=seed, cache=out / PULLS, semantics=semantics)
    with noting_warnings():
        study = screen.study(
            m, sigma=sigma, delta=delta, epsilon=epsilon, algorithm=algorithm, classical=classical
        )
    if not as_json:
        genes, sampled = screen.initial.shape
        several = "" if len(screen.networks) == 1 else f", {len(screen.networks)} networks"
        say(
            f"{len(screen.drugs)} drugs, {sampled} patients, {genes} genes{several}; the goal has "
            f"{screen.differential.notna().sum()} genes, {int(screen.differential.sum())} of them "
            "on"
        )
    study.run(screen.objective, max_evaluations=max_evaluations)
    outcome = Outcome(screen, study, screen.simulate(repeats))
    if not as_json:
        say(f"\n{outcome}\n")
    written = [out / PULLS, outcome.write(out, replace=force)]
    try:
        written += outcome.draw(out, replace=force)
    except ImportError as error:  # the study is worth more than its picture
        note(f"no picture: {error}")
    if as_json:
        say_json({**outcome.to_dict(), "files": [str(path) for path in written]})
    else:
        say(f"Written: {', '.join(map(str, written))}")


def _check_algorithm(name: str) -> None:
    """Refuse algorithms that need a setting for which this command has no option."""
    from shortlist.catalog.registry import NEEDING

    if name in NEEDING:
        raise InvalidSetting(
            f"--algorithm {name} needs a setting that this command does not have: name another; "
            "`shortlist algorithms` lists them."
        )


def _synthetic(seed: int, names: list[str]) -> dict[str, Any]:
    from shortlist.repurposing.synthetic_data import synthetic

    made = synthetic(seed=seed)
    return {name: getattr(made, "networks" if name == "network" else name) for name in names}


def _read(files: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a ``DrugScreen``, its drugs named as the file of labels names them."""
    from shortlist import repurposing

    data: dict[str, Any] = {
        name: None if path is None else repurposing.read_expression(path)
        for name, path in files.items()
        if name not in ("network", "labels")
    }
    data["network"] = [repurposing.read(path) for path in files["network"]]
    data["labels"] = None
    if files["labels"] is not None:
        data["labels"], names = read_labels(files["labels"])
        for name in ("signatures", "full_signatures", "features"):
            if data[name] is not None:
                data[name] = data[name].rename(columns=names)
    if data["features"] is not None:
        known = [drug for drug in data["signatures"] if drug in data["features"]]
        without = data["signatures"].shape[1] - len(known)
        if known and without:
            note(f"{without} drugs have no features and are left out.")
            data["signatures"] = data["signatures"][known]
            if data["labels"] is not None:
                data["labels"] = data["labels"][[d in known for d in data["labels"].index]]
    return data


def read_labels(path: Path) -> tuple[pd.Series[float], dict[str, str]]:
    """Labels by drug, and the name of each drug where the file has a column for it."""
    import pandas as pd

    try:
        table = pd.read_csv(
            path, index_col=0, dtype=str, keep_default_na=False, sep=None, engine="python"
        )
    except (csv.Error, ValueError, UnicodeDecodeError) as error:
        raise InvalidExpression(f"{path}: this is not a table of labels ({error}).") from None
    if table.shape[1] == 0:
        raise InvalidExpression(f"{path}: expected a drug and its label on every line.")
    heading = [str(table.index.name or ""), str(table.columns[-1])]
    if heading[0] and pd.to_numeric(heading[1], errors="coerce") in (-1, 0, 1):
        raise InvalidExpression(
            f"{path}, line 1 reads {', '.join(heading)!r}, a drug and its label, where a heading "
            "is expected: put one above it, such as 'drug,label'."
        )
    table.index = table.index.map(str)
    labels = pd.to_numeric(table.iloc[:, -1], errors="coerce")
    bad = labels.isna() & (table.iloc[:, -1].str.strip() != "")
    if bad.any():
        raise InvalidExpression(
            f"{path}: the drug {table.index[bad][0]!r} has {table.iloc[:, -1][bad].iloc[0]!r} in "
            "the last column; expected 1, -1 or 0."
        )
    names: dict[str, str] = {}
    if "drug_name" in table.columns[:-1]:
        names = {str(drug): str(name) for drug, name in table["drug_name"].items()}
    if len(set(names.values())) < len(names):
        note(f"{path}: drug_name repeats a name, so drugs go by their first column.")
        names = {}
    return labels.rename(index=names), names


def _select(data: dict[str, Any], drugs: str | None) -> None:
    """Keep only the drugs that are asked for."""
    if drugs is None:
        return
    every = [str(drug) for drug in data["signatures"].columns]
    if drugs == "labelled":
        if data["labels"] is None:
            raise InvalidSetting("--drugs labelled needs --labels.")
        chosen = [drug for drug, label in data["labels"].items() if label in (-1, 1)]
    else:
        chosen = [name.strip() for name in drugs.split(",") if name.strip()]
    for drug in chosen:
        if drug not in every:
            raise unknown_among_many("drug", drug, every)
    data["signatures"] = data["signatures"][chosen]
    if data["labels"] is not None:
        data["labels"] = data["labels"].reindex(chosen)


def _check_free(folder: Path, force: bool) -> None:
    """Refuse a folder with the answer of something else, before the work rather than after it.

    Beside pulls of this screen there may be its answer. The same answer is no loss, and another
    one is refused when it is written: by then all pulls are kept.
    """
    from shortlist.repurposing.outcome import PICTURE, TABLE

    for name in (TABLE, f"{PICTURE}.png", f"{PICTURE}.svg"):
        if not force and not (folder / PULLS).exists() and os.path.lexists(folder / name):
            raise InvalidSetting(
                f"{folder / name} already exists: name another folder, or pass --force to "
                "overwrite it."
            )
