#!/bin/sh
# Writes dist/rolltop.cdx.json (CycloneDX 1.6): the packages of a base install, with versions and licences;
# prints how many have which licence, and which name none.
set -eu
cd "$(dirname "$0")/.."
export UV_SYSTEM_CERTS=1 UV_NO_PROGRESS=1
uv=$PWD/.venv/bin/uv
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$uv" venv --quiet --python .venv/bin/python "$folder/base"
"$uv" pip sync --quiet --python "$folder/base/bin/python" --require-hashes requirements/core.txt
"$uv" venv --quiet --python .venv/bin/python "$folder/tool"
"$uv" pip sync --quiet --python "$folder/tool/bin/python" --require-hashes requirements/sbom.txt
mkdir -p dist
"$folder/tool/bin/cyclonedx-py" environment --pyproject pyproject.toml --output-reproducible --short-PURLs \
    --output-format JSON --output-file dist/rolltop.cdx.json "$folder/base/bin/python"
.venv/bin/python - <<'PYTHON'
import json
from collections import Counter
from pathlib import Path

found = json.loads(Path("dist/rolltop.cdx.json").read_text(encoding="utf-8"))["components"]


def licence(component):
    given = component.get("licenses", [])
    texts = [one.get("expression") or one["license"].get("id") or one["license"]["name"] for one in given]
    return ", ".join(sorted(set(texts)))


counts = Counter(map(licence, found))
for name, count in sorted(counts.items()):
    print(f"{count:4}  {name or 'none named'}")
missing = [component["name"] for component in found if not licence(component)]
print(f"Name none in their metadata: {', '.join(missing)}" if missing else "Each names one.")
PYTHON
