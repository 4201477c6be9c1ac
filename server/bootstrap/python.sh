# Sourced by the scripts in bin/ and hooks/: where a Python to run may be.
# Promises: tries the names on PATH, newest first, then the versions that pyenv and uv keep, and believes
# none before it ran: a pyenv shim exists for versions that are not there.

python_places() { # one candidate a line, best first
  for name in python3.14 python3.13 python3.12 python3 python; do
    command -v "$name" || :
  done
  for place in "${PYENV_ROOT:-${HOME-}/.pyenv}"/versions/*/bin/python3 \
    "${UV_PYTHON_INSTALL_DIR:-${XDG_DATA_HOME:-${HOME-}/.local/share}/uv/python}"/*/bin/python3 \
    /opt/homebrew/bin/python3 /usr/local/bin/python3; do
    if [ -x "$place" ]; then printf '%s\n' "$place"; fi
  done
}

find_python() { # sets $python to one that is 3.8 or newer, uv's own as a last resort; else false
  while IFS= read -r python; do
    "$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 8))' </dev/null >/dev/null 2>&1 && return 0
  done <<LIST
$(python_places)
LIST
  python=$(uv run --quiet --no-project --python '>=3.12' \
    python -c 'import sys; print(sys.executable)' </dev/null 2>/dev/null) || :
  [ -n "$python" ]
}
