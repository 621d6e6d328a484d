"""A tool in Python: a table as comma-separated text in, rows as JSON out. It touches nothing."""

import csv
import io
import json

from componentize_py_types import Err
from wit_world.imports.failures import Failure

# A constant: there are no files to read it from when the component runs.
DECLARATION = json.dumps(
    {
        "name": "table",
        "title": "Table",
        "description": "Read a table of comma-separated values, whose first line names the columns",
        "input": {
            "type": "object",
            "properties": {"text": {"type": "string", "maxLength": 100000}},
            "required": ["text"],
            "additionalProperties": False,
        },
        "output": {"type": "array", "items": {"type": "object"}},
        "class": "read",
        "capabilities": {},
    }
)


class WitWorld:
    """The exports of the component."""

    def declaration(self) -> str:
        return DECLARATION

    def call(self, arguments: str) -> str:
        try:
            rows = list(csv.DictReader(io.StringIO(json.loads(arguments)["text"]), strict=True))
        except csv.Error as error:
            raise Err(Failure(message=f"the table cannot be read: {error}", again=False)) from None
        for number, row in enumerate(rows, start=1):
            if None in row or None in row.values():
                raise Err(Failure(message=f"row {number} has not as many values as there are columns", again=False))
        return json.dumps(rows)
