"""Print which commit and tools made the files of a folder: an in-toto statement (SLSA), unsigned.

`scripts/release` calls it; whoever publishes signs the file with a key of their own."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import subprocess
import sys
from pathlib import Path

TOOLS = ("build", "twine", "cyclonedx-bom")


def statement(folder: Path) -> dict[str, object]:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    files = sorted(path for path in folder.iterdir() if path.name != "provenance.json")
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": path.name, "digest": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}}
            for path in files
        ],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "scripts/release",
                "externalParameters": {"commit": commit.stdout.strip()},
                "resolvedDependencies": [
                    {"name": name, "version": importlib.metadata.version(name)} for name in TOOLS
                ],
            },
            "runDetails": {"builder": {"id": f"{platform.system()}, Python {platform.python_version()}"}},
        },
    }


if __name__ == "__main__":
    print(json.dumps(statement(Path(sys.argv[1])), indent=2))
