"""Share of SMILES that come back from a graph as the same canonical SMILES.

    python -m benchmarks.smiles_round_trip --qm9 qm9.csv.gz --output docs/results/smiles.json

10,000 rows of QM9, spread evenly over the file, and 2,000 drug-like molecules of the NCI set that
comes with RDKit, with aromatic rings or charges; each in Kekulé form and with aromatic bonds. A
text is *refused* with a reason, or must come back as RDKit's canonical SMILES of the input. Counts
are given for all of them, and for the *plain* ones, of H, C, N, O, F, P, S, Cl, Br without stereo
marks.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ELEMENTS = {"H", "C", "N", "O", "F", "P", "S", "Cl", "Br"}
N_QM9, N_DRUGLIKE = 10_000, 2_000
_COUNTED = ("texts", "plain", "aromatic", "charged", "refused", "plain refused")
SIZES = range(10, 51)  # heavy atoms of a drug-like molecule


def qm9(path: Path, n: int = N_QM9) -> list[str]:
    """n rows of the file, spread evenly."""
    with gzip.open(path, "rt") as file:
        texts = [row["smiles"] for row in csv.DictReader(file)]
    return texts[:: len(texts) // n][:n]


def druglike(n: int = N_DRUGLIKE) -> list[str]:
    """The first n molecules of the NCI set with 10 to 50 atoms and aromatic rings or charges."""
    from rdkit import Chem, RDConfig, rdBase

    out: list[str] = []
    with rdBase.BlockLogs(), (Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi").open() as file:
        for line in file:
            text = line.split()[0]
            mol = Chem.MolFromSmiles(text)
            if len(out) == n:
                break
            if mol is None or mol.GetNumAtoms() not in SIZES or "." in text:
                continue
            if any(a.GetIsAromatic() or a.GetFormalCharge() for a in mol.GetAtoms()):
                out.append(text)
    return out


def round_trips(texts: Iterable[str], *, aromatic: bool) -> dict[str, Any]:
    """Counts, reasons of refusals, and every SMILES that came back changed."""
    from rdkit import Chem

    from bogrape.errors import InvalidInputError
    from bogrape.molecules import from_smiles, to_smiles

    counts = Counter(dict.fromkeys(_COUNTED, 0))
    reasons: Counter[str] = Counter()
    wrong: list[tuple[str, str]] = []
    for text in texts:
        mol = Chem.MolFromSmiles(text)
        plain = not set("@/\\") & set(text) and {a.GetSymbol() for a in mol.GetAtoms()} <= ELEMENTS
        counts["texts"] += 1
        counts["plain"] += plain
        counts["aromatic"] += any(atom.GetIsAromatic() for atom in mol.GetAtoms())
        counts["charged"] += any(atom.GetFormalCharge() for atom in mol.GetAtoms())
        try:
            graph = from_smiles(text, "organic", aromatic=aromatic)
        except InvalidInputError as error:
            counts["refused"] += 1
            counts["plain refused"] += plain
            reasons[_kind(str(error))] += 1
            continue
        back = to_smiles(graph)
        if back != Chem.MolToSmiles(mol):
            wrong.append((text, back))
    return {**counts, "changed": wrong, "reasons": dict(reasons.most_common())}


def _kind(message: str) -> str:
    """The reason of a refusal, without the particulars of one molecule."""
    reason = message.partition(": got ")[2].partition("; try")[0].partition(" besides")[0]
    return re.sub(r" \(atom \d+\)| at atom \d+", "", reason)


def main(arguments: list[str] | None = None) -> None:
    """Print the counts and write them to a file."""
    from rdkit import rdBase

    parser = argparse.ArgumentParser(description="Round trips of SMILES through graphs.")
    parser.add_argument("--qm9", type=Path, required=True, help="qm9.csv.gz")
    parser.add_argument("--output", type=Path, required=True, help="a JSON file to write")
    given = parser.parse_args(arguments)
    sets = {"QM9": qm9(given.qm9), "drug-like": druglike()}
    found = {
        f"{name}, {kind}": round_trips(texts, aromatic=kind == "aromatic bonds")
        for name, texts in sets.items()
        for kind in ("Kekulé form", "aromatic bonds")
    }
    out = {"rdkit": rdBase.rdkitVersion, "round_trips": found}
    text = json.dumps(out, indent=1, ensure_ascii=False)
    given.output.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
