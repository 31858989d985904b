# Sourced by ./quickstart and ./test.

setup_venv() { # LOCK: makes .venv from a hashed lock file, once per lock file
  local lock=$1 python stamp=.venv/.made-from wanted
  for python in python3.13 python3.12 python3.11 python3; do
    command -v "$python" >/dev/null 2>&1 && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break
    python=
  done
  [ -n "$python" ] || { echo "Python 3.11 or newer is needed (Debian 12, Ubuntu 24.04: apt install python3 python3-venv)" >&2; return 4; }
  wanted=$(cat pyproject.toml "$lock" | sha256sum | cut -d' ' -f1)-$lock
  [ "$(cat $stamp 2>/dev/null)" = "$wanted" ] && return 0
  echo "setting up .venv from $lock …"
  [ -x .venv/bin/python ] || "$python" -m venv .venv || { echo "python3-venv is needed: apt install python3-venv" >&2; return 4; }
  # shellcheck disable=SC2086
  local pip=".venv/bin/python -m pip --disable-pip-version-check install --quiet --no-warn-script-location"
  { $pip --require-hashes -r "$lock" && $pip --no-deps --no-build-isolation -e .; } || return 4
  echo "$wanted" > $stamp
}

install_packages() { # FILE…: the Debian packages listed there, if root; never the end: what needs a missing one says so by name
  local wanted missing=() package
  mapfile -t wanted < <(cat "$@" | sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' | sort -u)
  for package in "${wanted[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "not installed, and only root on Debian or Ubuntu can: ${missing[*]}"
    return 0
  fi
  echo "installing ${missing[*]} …"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >/dev/null 2>&1 \
    || echo "could not install all of: ${missing[*]}"
}
