# Sourced by ./quickstart and ./test: makes .venv from the hashed lock file, once per lock file.
# usage: setup_venv requirements.lock
setup_venv() {
  local lock=$1 python stamp
  for python in python3.13 python3.12 python3.11 python3; do
    command -v "$python" >/dev/null 2>&1 && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break
    python=
  done
  [ -n "$python" ] || { echo "Python 3.11 or newer is needed (Debian 12, Ubuntu 24.04: apt install python3 python3-venv)" >&2; return 4; }
  stamp=.venv/.made-from
  local wanted; wanted=$(cat pyproject.toml "$lock" | sha256sum | cut -d' ' -f1)-$lock
  [ "$(cat $stamp 2>/dev/null)" = "$wanted" ] && return 0
  echo "setting up .venv from $lock …"
  [ -x .venv/bin/python ] || "$python" -m venv .venv || { echo "python3-venv is needed: apt install python3-venv" >&2; return 4; }
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock" || return 4
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . || return 4
  echo "$wanted" > $stamp
}
