"""The published figures: figures.json beside this file. run.py --figures updates them, scripts/plot-figures draws them and writes the tables of README.md.

Each row has the name that it has in run.py, and the figures of the columns that it publishes. Rows that no program here writes are edited by hand.
"""

import datetime
import json
from pathlib import Path

FILE = Path(__file__).resolve().parent / "figures.json"


def read(path: Path = FILE) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def write(data: dict, path: Path = FILE) -> None:
    """One line for each row, so that a diff shows which figures changed."""
    out = ["{", ' "tables": [']
    for number, table in enumerate(data["tables"]):
        out.append("  {")
        for name, value in table.items():
            if name != "rows":
                out.append(f"   {json.dumps(name)}: {json.dumps(value)},")
        out.append('   "rows": [')
        rows = table["rows"]
        out += [f"    {json.dumps(row)}{',' if i + 1 < len(rows) else ''}" for i, row in enumerate(rows)]
        out += ["   ]", "  }" + ("," if number + 1 < len(data["tables"]) else "")]
    out += [" ]", "}"]
    path.write_text("\n".join(out) + "\n", encoding="utf-8")


def update(data: dict, measured: dict[str, dict[str, float]], where: str, date: str = "") -> list[str]:
    """Puts what was measured, {row: {column: figure}}, into the tables. Returns a line about each table that this run has a part in.

    A table changes as a whole, so that its figures are of one run: not if a row, or a column that a row publishes, was not measured."""
    said = []
    for table in data["tables"]:
        lacks = [f"{row['name']} ({column})" for row in table["rows"] for column in row["values"] if column not in measured.get(row["name"], {})]
        if len(lacks) == sum(len(row["values"]) for row in table["rows"]):
            continue
        if lacks:
            said.append(f"{table['command']}: not changed, for this run lacks {', '.join(lacks)}")
            continue
        for row in table["rows"]:
            row["values"] = {column: round(measured[row["name"]][column], row["decimals"]) for column in row["values"]}
        table["date"] = date or datetime.date.today().isoformat()
        table["where"] = where
        said.append(f"{table['command']}: {len(table['rows'])} rows changed")
    return said
