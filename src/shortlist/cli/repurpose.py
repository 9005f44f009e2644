"""``shortlist repurpose``: a drug screen from files to a shortlist."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from shortlist.cli.layout import say, say_json
from shortlist.cli.screen_files import note, noting_warnings, read_screen, select_drugs

EXAMPLES = """[bold]Examples[/bold]
$ shortlist repurpose --synthetic
$ shortlist repurpose --network net.bnet --patients P.csv --controls C.csv \\
    --signatures S.csv --labels labels.csv -m 5 --epsilon 0.1 --out screen

Patients and controls: genes × samples (CSV, Parquet, GCT, GCTX, h5ad).
Signatures: genes × drugs, each cell 0, 1 or empty.
Labels: a drug in the first column, 1, -1 or 0 in the last; a column
drug_name, if there is one, names the drugs.

Same data, same seed: the same pulls. They are kept in FOLDER/pulls.csv,
and an interrupted run goes on where it stopped. Another
answer is not overwritten unless --force is given."""

PULLS = "pulls.csv"

DATA, QUESTION, ANSWER = "The data", "The question", "The answer"
EXISTING: dict[str, Any] = {"exists": True, "dir_okay": False, "rich_help_panel": DATA}


def repurpose(
    network: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A Boolean network; given several times, an ensemble: each pull draws one.",
            **EXISTING,
        ),
    ] = None,
    patients: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Expression of patients.", **EXISTING)
    ] = None,
    controls: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Expression of controls.", **EXISTING)
    ] = None,
    signatures: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Binary signatures.", **EXISTING)
    ] = None,
    full_signatures: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Real-valued signatures, for the baseline.", **EXISTING),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Features × drugs, for the linear model; the signatures if not given.",
            **EXISTING,
        ),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What is known of drugs.", **EXISTING)
    ] = None,
    drugs: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME",
            help="Only these; [bold]labelled[/bold] for those with a label 1 or -1.",
            rich_help_panel=DATA,
        ),
    ] = None,
    synthetic: Annotated[
        bool,
        typer.Option(
            "--synthetic", help="A data set made by code, instead of files.", rich_help_panel=DATA
        ),
    ] = False,
    m: Annotated[
        int, typer.Option("-m", metavar="M", help="How many drugs.", rich_help_panel=QUESTION)
    ] = 5,
    sigma: Annotated[
        float,
        typer.Option(
            metavar="σ",
            help="The noise. Rewards lie in [0, 1]: 0.5 is proven, less is your claim.",
            rich_help_panel=QUESTION,
        ),
    ] = 0.5,
    delta: Annotated[
        float,
        typer.Option(metavar="δ", help="The risk of a wrong answer.", rich_help_panel=QUESTION),
    ] = 0.05,
    epsilon: Annotated[
        float,
        typer.Option(
            metavar="ε",
            help="The slack in the means. At 0 drugs of equal means are never told apart.",
            rich_help_panel=QUESTION,
        ),
    ] = 0.1,
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="See `shortlist algorithms`; m-LinGapE, or LUCB if classical.",
            rich_help_panel=QUESTION,
        ),
    ] = None,
    classical: Annotated[
        bool,
        typer.Option(
            "--classical",
            help="Use no features: nothing is assumed of the means.",
            rich_help_panel=QUESTION,
        ),
    ] = False,
    max_evaluations: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Stop then, unsure.", rich_help_panel=QUESTION),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Same seed, same pulls.", rich_help_panel=ANSWER)
    ] = 0,
    repeats: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Walks of each drug and patient, to check the answer and for the picture.",
            rich_help_panel=ANSWER,
        ),
    ] = 10,
    out: Annotated[
        Path,
        typer.Option(
            file_okay=False,
            metavar="FOLDER",
            help="For the table, the picture and the pulls.",
            rich_help_panel=ANSWER,
        ),
    ] = Path("screen"),
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite an earlier answer.", rich_help_panel=ANSWER),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON.", rich_help_panel=ANSWER)
    ] = False,
) -> None:
    """Find the m drugs that best reverse a disease in a Boolean network.

    A pull simulates one random patient under one drug and scores the outcome
    against healthy controls. The answer is a shortlist with its guarantee, beside
    the ranking of L1000 CDS².
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
            "--signatures, or --synthetic for a try without data."
        )
    from shortlist.files.writing import make_folder
    from shortlist.repurposing.outcome import Outcome
    from shortlist.repurposing.screen import DrugScreen

    with noting_warnings():
        data = _synthetic(seed) if synthetic else read_screen(files)
        select_drugs(data, drugs)
    _check_free(make_folder(out), force)
    screen = DrugScreen(**data, seed=seed, cache=out / PULLS)
    with noting_warnings():
        study = screen.study(
            m, sigma=sigma, delta=delta, epsilon=epsilon, algorithm=algorithm, classical=classical
        )
    if not as_json:
        say(_heading(screen))
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


def _synthetic(seed: int) -> dict[str, Any]:
    from shortlist.repurposing.synthetic_data import synthetic

    made = synthetic(seed=seed)
    return {
        "network": made.networks,
        "patients": made.patients,
        "controls": made.controls,
        "signatures": made.signatures,
        "full_signatures": made.full_signatures,
        "features": made.features,
        "labels": made.labels,
    }


def _check_free(folder: Path, force: bool) -> None:
    """Refuse a folder whose files are not of a screen, before the work rather than after it.

    Beside pulls of this screen there may be its answer. The same answer is no loss, and another
    one is refused when it is written: by then all pulls are kept.
    """
    from shortlist.errors import InvalidSetting
    from shortlist.repurposing.outcome import PICTURE, TABLE

    for name in (TABLE, f"{PICTURE}.png", f"{PICTURE}.svg"):
        if not force and not (folder / PULLS).exists() and os.path.lexists(folder / name):
            raise InvalidSetting(
                f"{folder / name} is there already: name another folder, or pass --force to "
                "overwrite it."
            )


def _heading(screen: Any) -> str:
    genes, patients = screen.initial.shape
    known = screen.differential.notna().sum()
    several = "" if len(screen.networks) == 1 else f", {len(screen.networks)} networks"
    return (
        f"{len(screen.drugs)} drugs, {patients} patients, {genes} genes{several}; the goal has "
        f"{known} genes, {int(screen.differential.sum())} of them on"
    )
