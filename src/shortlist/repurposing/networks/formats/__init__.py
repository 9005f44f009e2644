"""Read and write files of Boolean networks; the suffix of the name selects the format."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from shortlist.errors import InvalidNetwork, unknown_name
from shortlist.files.writing import write_file
from shortlist.repurposing.networks.abstract_network import AbstractNetwork, abstract
from shortlist.repurposing.networks.formats.rein import format_rein, parse_rein
from shortlist.repurposing.networks.formats.sbml import format_sbml, parse_sbml
from shortlist.repurposing.networks.formats.text import (
    format_bnet,
    format_rules,
    format_sif,
    parse_bnet,
    parse_rules,
    parse_sif,
    read_text,
)
from shortlist.repurposing.networks.network import BooleanNetwork

# Formats for any functions of genes: how each is read and written.
FUNCTIONS = {
    ".bnet": (parse_bnet, format_bnet),
    ".sbml": (parse_sbml, format_sbml),
    ".xml": (parse_sbml, format_sbml),
}
# .net and .sif contain regulation rules of RE:IN.
SUFFIXES = (".net", *FUNCTIONS, ".sif")


def read(
    path: str | PathLike[str], *, rules: int | Mapping[str, int] | None = None
) -> BooleanNetwork:
    """Read a Boolean network.

    Parameters
    ----------
    path : path
        ``.net`` (RE:IN), ``.bnet``, ``.sbml`` or ``.xml`` (SBML-qual, with the extra ``sbml``), or
        ``.sif`` (signed edges; the rules come from the file of the same name that ends in
        ``.noa``, or from ``rules``).
    rules : int or mapping of str to int, optional
        For ``.sif``: the regulation rule of all genes, or of each.

    Raises
    ------
    InvalidNetwork
        With the file, and the line or the gene. A ``.net`` file that leaves edges or rules open
        is one for ``read_abstract``.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write(BooleanNetwork({"A": "!B", "B": "A"}), folder / "ring.bnet")
    >>> read(folder / "ring.bnet")
    BooleanNetwork(2 genes, 2 edges)
    """
    path = Path(path)
    suffix = _suffix(path)
    if rules is not None and suffix != ".sif":
        raise InvalidNetwork(f"rules are for .sif files; {path.name} has its own functions.")
    if suffix in FUNCTIONS:
        return FUNCTIONS[suffix][0](read_text(path), path.name)
    if suffix == ".sif":
        text = read_text(path)
        beside = path.with_suffix(".noa")
        if rules is None and not beside.exists():
            raise InvalidNetwork(
                f"{path.name} has edges but no rules: put {beside.name} beside it, or give rules, "
                "such as 8 for 'any activator on'."
            )
        rule_of = parse_rules(read_text(beside), beside.name) if rules is None else rules
        return parse_sif(text, rule_of, path.name).network()
    abstract = read_abstract(path)
    if not abstract.is_determined:
        optional = sum(edge.optional for edge in abstract.edges)
        several = sum(len(possible) > 1 for possible in abstract.rules.values())
        raise InvalidNetwork(
            f"{path.name} leaves {optional} edges optional and the rules of {several} genes open, "
            "so it is not one network: give a file in which every choice is made, such as a .bnet, "
            "or choose a network of those that read_abstract finds."
        )
    return abstract.network()


def read_abstract(path: str | PathLike[str]) -> AbstractNetwork:
    """Read a ``.net`` file with its choices: optional edges, several rules per gene."""
    path = Path(path)
    return parse_rein(read_text(path), path.name)


def write(network: BooleanNetwork | AbstractNetwork, path: str | PathLike[str]) -> None:
    """Write a network in the format that the end of ``path`` names; see ``read``.

    ``.bnet`` and ``.sbml`` take any network, and are what mpbn, bonesis, MaBoSS and AEON read.
    ``.net`` and ``.sif`` take those whose functions are regulation rules of RE:IN; ``.sif`` writes
    the rules beside it, to a file that ends in ``.noa``.
    """
    path = Path(path)
    suffix = _suffix(path)
    if suffix in (".net", ".sif"):
        rules = network if isinstance(network, AbstractNetwork) else abstract(network)
        if suffix == ".net":
            write_file(path, format_rein(rules).encode())
            return
        if not rules.is_determined:
            raise InvalidNetwork(".sif cannot store choices: choose with .network() first.")
        write_file(path, format_sif(rules).encode())
        write_file(path.with_suffix(".noa"), format_rules(rules).encode())
        return
    if isinstance(network, AbstractNetwork):
        network = network.network()
    write_file(path, FUNCTIONS[suffix][1](network).encode())


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise unknown_name(f"network format of {path.name}", suffix, SUFFIXES)
    return suffix
