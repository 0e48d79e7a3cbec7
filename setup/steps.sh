# shellcheck shell=bash
# The steps that ./octlm takes before it hands over to the program. Each looks first, does only what
# is missing, says what it does and how large it is, and writes its stamp last, so that a step that
# was interrupted is done again. A stamp is a copy of the step's input: a changed input is seen.
#
# REQUIRES: $OCTLM_ROOT is the checkout, and stdout is already turned to stderr.

readonly root="${OCTLM_ROOT:?}"
readonly stamps="$root/build/setup" # of the steps outside the environment and the build tree
readonly venv="$root/.venv"         # holds its own stamps, so that removing it removes them
readonly release="$root/build/release"
readonly program="$release/octlm"

say() { printf '[octlm] %s\n' "$*" >&2; }
refuse() { local code="$1"; shift; say "$*"; exit "$code"; }

# What a command needs.

asks_for_help() {
  local argument
  for argument in "$@"; do
    case "$argument" in -h | --help) return 0 ;; esac
  done
  return 1
}

asks_for_dry_run() { # then nothing is fetched, and no reference is needed
  local argument
  for argument in "$@"; do
    [[ "$argument" != --dry-run ]] || return 0
  done
  return 1
}

level_of() { # prints the level of the environment that a command of the program and its arguments need
  local argument previous="" level=build
  case "$1" in run | record | reduce) level=reference ;; esac
  if asks_for_dry_run "${@:2}"; then level=build; fi
  for argument in "${@:2}"; do
    case "$previous $argument" in
      *" --reference="* | "--reference "*) [[ "${argument#--reference=}" == transformers ]] || level=build ;;
    esac
    previous="$argument"
  done
  echo "$level"
}

# Debian packages.

debian_packages() {
  local list="$root/setup/debian-packages.txt" missing
  cmp -s "$list" "$stamps/debian-packages" && return
  if command -v dpkg-query >/dev/null; then
    mapfile -t missing < <(missing_packages "$list")
    ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
  else
    say "not a Debian system: what setup/debian-packages.txt lists is taken to be installed"
  fi
  cp "$list" "$stamps/debian-packages"
}

missing_packages() { # prints the packages of the list file $1 that dpkg does not show as installed
  local wanted
  mapfile -t wanted < <(sed 's/[[:space:]]*#.*//; /^[[:space:]]*$/d' "$1")
  comm -23 <(printf '%s\n' "${wanted[@]}" | sort) \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/^installed //p' | sort)
}

install_packages() {
  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || refuse 4 "Debian packages are missing, and neither root nor sudo is here to install them: apt-get install $*"
    as_root=(sudo)
    [[ -t 0 ]] || as_root=(sudo -n)
  fi
  local command=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@")
  say "Debian packages: $# of the list are missing$(packages_size "$@"): ${command[*]}"
  confirmed || refuse 4 "not installed; octlm needs: apt-get install $*"
  [[ -n "$(find /var/lib/apt/lists -name '*_Packages*' -print -quit 2>/dev/null)" ]] || "${as_root[@]}" apt-get update || true
  "${command[@]}" </dev/null && return
  say "that failed; trying once more with fresh package lists"
  { "${as_root[@]}" apt-get update && "${command[@]}" </dev/null; } ||
    refuse 4 "the Debian packages could not be installed (no network, or no permission?); octlm needs: apt-get install $*"
}

packages_size() { # prints ": 31.2 MB to download, 136 MB on disk", as apt-get reckons; "" when it cannot
  LC_ALL=C apt-get install --assume-no --no-install-recommends "$@" 2>/dev/null </dev/null |
    sed -n 's/^Need to get \(.*\) of archives\.$/: \1 to download/p; s/^After this operation, \(.*\) of additional disk space will be used\.$/, \1 on disk/p' |
    tr -d '\n'
}

confirmed() { # on a terminal asks once; otherwise goes ahead
  [[ -t 0 && -t 2 ]] || return 0
  local answer
  read -r -p '[octlm] run it? [Y/n] ' answer >&2
  [[ -z "$answer" || "$answer" == [Yy]* ]]
}

# Python environment.
# Three levels, each contained in the next: build, checkpoints, reference.

requirements_of() {
  case "$1" in
    build) echo "$root/setup/requirements-build.txt" ;;
    checkpoints) echo "$root/setup/checkpoints/requirements.txt" ;;
    reference) echo "$root/reference/requirements.txt" ;;
  esac
}

describe_missing() { # prints "12 packages are missing, 180 MB" of the level $1, by setup/sizes.tsv; why so much, for torch
  local wanted size names count=0 bytes=0 gpu=0
  while IFS=$'\t' read -r wanted size names; do
    count=$((count + 1)) bytes=$((bytes + size))
    [[ "$names" != nvidia-* && "$names" != triton && "$names" != torch ]] || gpu=$((gpu + size))
  done < <(missing_distributions "$1")
  printf '%d packages are missing, %s' "$count" "$(in_words "$bytes")"
  ((gpu < 1000000000)) || printf ' (%s of it PyTorch with its GPU libraries: the registry has no build without them)' "$(in_words "$gpu")"
}

missing_distributions() { # prints "NAME==VERSION<tab>BYTES<tab>NAME" of what level $1 lists and .venv lacks
  local name version size there listed
  there="$(find "$venv"/lib/python*/site-packages -maxdepth 1 -name '*.dist-info' -printf '%f\n' 2>/dev/null |
    sed 's/\.dist-info$//' | tr '[:upper:]_' '[:lower:]-')" # NAME-VERSION
  listed="$(sed -n 's/^\([a-z0-9-]*==[^ ]*\).*/\1/p' "$(requirements_of "$1")")"
  while IFS=$'\t' read -r name version size; do
    [[ $'\n'"$listed"$'\n' == *$'\n'"$name==$version"$'\n'* ]] || continue
    [[ $'\n'"$there"$'\n' == *$'\n'"$name-$version"$'\n'* ]] || printf '%s==%s\t%s\t%s\n' "$name" "$version" "$size" "$name"
  done <"$root/setup/sizes.tsv"
}

in_words() { # bytes as "4.9 GB", "12 MB"
  if (($1 >= 1000000000)); then
    printf '%d.%d GB' $(($1 / 1000000000)) $(($1 / 100000000 % 10))
  else
    printf '%d MB' $((($1 + 999999) / 1000000))
  fi
}

python_environment() { # brings .venv to at least the level $1
  virtual_environment
  level_current "$1" && return
  if ! level_current build; then
    say "python environment, to build: $(describe_missing build)"
    "$venv/bin/python" -I -m pip install --quiet --no-deps --require-hashes -r "$(requirements_of build)" ||
      refuse 4 "python packages could not be installed (no network?); run the same command again to go on"
    stamp_level build
  fi
  [[ "$1" == build ]] || install_level "$1"
}

install_level() { # checkpoints or reference, with the uv of the build level
  local verb=(install -r)
  [[ "$1" == reference ]] && verb=(sync) # it holds the others, so nothing else belongs there
  say "python environment, $1: $(describe_missing "$1")"
  UV_PYTHON_DOWNLOADS=never "$venv/bin/uv" pip "${verb[0]}" --python "$venv/bin/python" \
    --require-hashes "${verb[@]:1}" "$(requirements_of "$1")" ||
    refuse 4 "python packages could not be installed (no network?); run the same command again to go on"
  [[ "$1" == reference ]] && stamp_level checkpoints
  stamp_level "$1"
}

level_current() { cmp -s "$(requirements_of "$1")" "$venv/octlm-$1"; }
stamp_level() { cp "$(requirements_of "$1")" "$venv/octlm-$1"; }

venv_identity() { # the interpreter behind .venv, and where .venv was made
  printf '%s %s\n' "$(readlink -f "$venv/bin/python")" "$venv"
}

virtual_environment() {
  [[ -x "$venv/bin/python" && -f "$venv/octlm-venv" && "$(<"$venv/octlm-venv")" == "$(venv_identity)" ]] && return
  if [[ -e "$venv" && ! -f "$venv/octlm-begun" ]]; then
    refuse 4 "$venv was not made by octlm: move it away, octlm needs the place"
  fi
  local python
  python="$(choose_python)"
  say "python environment: making .venv with $python"
  rm -rf "$venv"
  mkdir "$venv"
  touch "$venv/octlm-begun"
  "$python" -I -m venv "$venv" || refuse 4 "$python could not make a virtual environment in $venv"
  venv_identity >"$venv/octlm-venv"
}

choose_python() { # prints the first python3 on PATH if it fits, else Debian's
  local first debian=/usr/bin/python3 fit
  first="$(command -v python3 || true)"
  if [[ -n "$first" && "$first" != "$debian" ]]; then
    fit="$("$first" -I "$root/setup/python_probe.py" 2>/dev/null || echo "? does not run")"
    [[ "$fit" == *" "* ]] || { echo "$first" && return; }
    say "$first (Python ${fit%% *}) ${fit#* }: taking $debian instead"
  fi
  fit="$("$debian" -I "$root/setup/python_probe.py" 2>/dev/null || echo "? is not there")"
  [[ "$fit" == *" "* ]] && refuse 4 "$debian (Python ${fit%% *}) ${fit#* }: octlm needs Python 3.10 to 3.13 with headers and a shared library"
  echo "$debian"
}

# Build.

build() { # builds the target $1 if anything changed since it was last built
  target_current "$1" && return
  configure
  say "building $1 in build/release$(steps_to_build "$1")"
  touch "$release/octlm-building"
  (cd "$root" && cmake --build --preset release --target "$1") || refuse 4 "the build of $1 failed: see above"
  mv "$release/octlm-building" "$release/octlm-built-$1"
}

steps_to_build() { # prints ": 196 steps" as the build tool reckons; "" when it does not say
  local last
  last="$(cd "$root" && ninja -C "$release" -n "$1" 2>/dev/null | sed -n 's/^\[[0-9]*\/\([0-9]*\)\].*/\1/p' | tail -n 1)"
  [[ -z "$last" ]] || printf ': %s steps' "$last"
}

target_current() { # looks at files and folders, for a removed file changes only its folder
  local stamp="$release/octlm-built-$1"
  [[ -f "$stamp" && -f "$release/octlm-python" && "$(<"$release/octlm-python")" == "$(<"$venv/octlm-venv")" ]] || return
  [[ -z "$(find "$root"/{formats,model,verify,reference,experiments,bench,cmake,setup,CMakeLists.txt,CMakePresets.json} \
    -name __pycache__ -prune -o -newer "$stamp" -print -quit 2>/dev/null)" ]]
}

configure() { # a build tree made for another interpreter, or moved, starts afresh
  [[ -f "$release/octlm-python" && "$(<"$release/octlm-python")" == "$(<"$venv/octlm-venv")" ]] && return
  say "configuring build/release"
  (cd "$root" && cmake --preset release --fresh -DOCTLM_PYTHON="$venv/bin/python") ||
    refuse 4 "cmake could not configure the build: see above"
  cp "$venv/octlm-venv" "$release/octlm-python"
}

# Checkpoints.

missing_checkpoints() { # prints what the run selected by the arguments needs and lacks
  # Arguments that the program refuses need nothing: it says why when it gets them for the run.
  "$program" missing-checkpoints "$@" 2>/dev/null || true
}

fetch() { # the checkpoints package; stdout is the folder
  PYTHONPATH="$root/setup" "$venv/bin/python" -m checkpoints fetch "$@"
}

fetch_all() { # fetches the named checkpoints; without a network goes on, for what needs them says so
  local name code
  for name in "$@"; do
    code=0
    fetch "$name" || code=$?
    ((code == 0 || code == 4)) || refuse 4 "the checkpoint $name could not be made"
  done
}
