#!/bin/sh
# Run the tests: make .venv if there is none, install linkwise with what its tests need, start pytest.
# Arguments go to pytest, as in: sh tests/run.sh tests/model -k urdf
set -eu
cd "$(dirname "$0")/.."

venv="${VENV:-.venv}"
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"

# Install again only where pyproject.toml has changed since.
stamp="$venv/.linkwise-dev"
if [ ! -e "$stamp" ] || [ -n "$(find pyproject.toml -newer "$stamp")" ]; then
    "$venv/bin/python" -m pip install -q --disable-pip-version-check -e ".[dev]"
    touch "$stamp"
fi

exec "$venv/bin/python" -m pytest -n auto "$@"
