#!/bin/sh
# Run the tests: make .venv if there is none, install linkwise with what its tests need, start pytest.
# Arguments go to pytest, as in: sh tests/run.sh tests/model -k urdf
set -eu
cd "$(dirname "$0")/.."

venv="${VENV:-.venv}"
[ -x "$venv/bin/python" ] || [ -d "$venv/Scripts" ] || "${PYTHON:-python3}" -m venv "$venv"
python="$venv/bin/python"
[ -d "$venv/Scripts" ] && python="$venv/Scripts/python.exe" # Windows

# Install again only where pyproject.toml has changed since.
stamp="$venv/.linkwise-dev"
if [ ! -e "$stamp" ] || [ -n "$(find pyproject.toml -newer "$stamp")" ]; then
    "$python" -m pip install -q --disable-pip-version-check -e ".[dev]"
    touch "$stamp"
fi

exec "$python" -m pytest -n auto --dist worksteal "$@"
