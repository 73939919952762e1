"""`python -m tests.traces [ID...]`: play scenarios and show what differs; `--write` takes what came as rxagent's own.

Only for ids that stand in the table of differences: what is written there is what is promised from then on, so read
it before it is committed.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys

from .differences import DIFFERENCES
from .expected import compared, differing
from .files import OURS, ours_of, trace_files


def main() -> int:
    """Play the scenarios whose ids begin with one of those given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    failed = 0
    for path in trace_files():
        id = path.stem
        if args.ids and not id.startswith(tuple(args.ids)):
            continue
        file = json.loads(path.read_text())
        if args.write and id in DIFFERENCES:
            OURS.mkdir(exist_ok=True)
            (OURS / f"{id}.json").write_text(json.dumps(differing(file), indent=1, ensure_ascii=False) + "\n")
        found = compared(file, ours_of(id))
        failed += bool(found)
        print(f"{id}: {'as promised' if not found else f'{len(found)} differences'}")
        for one in found[:8]:
            print(f"  {one}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
