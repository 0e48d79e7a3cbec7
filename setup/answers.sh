# shellcheck shell=bash
# What ./octlm answers at once, with nothing installed and nothing built: help, the version, completion,
# and what is wrong with this checkout. REQUIRES: setup/steps.sh, sourced before.
# shellcheck disable=SC2154 # root, venv, release and program are its

readonly help_folder="$root/setup/help" # one file a command, as the program prints it; a test compares

answer() { # what the function $1 prints is the answer, and the end
  local text
  text="$("$@")"
  print_answer "$text"
  exit 0
}

print_answer() { # to the program's stdout; a full disk or a closed stream is no silence with exit code 0
  local why
  if ! why="$({ printf '%s\n' "$1" >&3; } 2>&1)"; then
    refuse 4 "standard output: cannot be written: ${why##*: }"
  fi
}

is_command() { [[ "$1" == [a-z]* && "$1" != */* && "$1" != octlm && -f "$help_folder/$1.txt" ]]; }

command_names() {
  local file
  for file in "$help_folder"/*.txt; do
    file="$(basename "$file" .txt)"
    [[ "$file" == octlm ]] || echo "$file"
  done
}

help_text() { # of the command $1; of all of them when it is ""
  if [[ -n "$1" ]] && ! is_command "$1"; then
    refuse 2 "there is no command '$1'$(nearest_command "$1"); ./octlm help lists them"
  fi
  cat "$help_folder/${1:-octlm}.txt"
}

nearest_command() { # prints ", did you mean 'run'?" for a word with the same letters, a prefix or one letter more or less
  local name letters
  letters="$(sorted_letters "$1")"
  while read -r name; do
    if [[ "$name" == "$1"* || "$1" == "$name"* || "$(sorted_letters "$name")" == "$letters" ]] || one_apart "$1" "$name"; then
      printf ", did you mean '%s'?" "$name"
      return
    fi
  done < <(command_names)
}

sorted_letters() { grep -o . <<<"$1" | sort | tr -d '\n'; }

one_apart() { # whether one letter left out of one of the words, or changed in both, makes them equal
  local i
  for ((i = 0; i < ${#1} || i < ${#2}; ++i)); do
    [[ "${1:0:i}${1:i+1}" == "$2" || "$1" == "${2:0:i}${2:i+1}" || "${1:0:i}${1:i+1}" == "${2:0:i}${2:i+1}" ]] && return 0
  done
  return 1
}

version_text() {
  local number commit
  number="$(sed -n 's/^project(octlm VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")"
  commit="$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null || true)"
  [[ -z "$commit" || -z "$(git -C "$root" status --porcelain --untracked-files=no 2>/dev/null)" ]] || commit+=", modified"
  echo "octlm $number${commit:+ ($commit)}"
}

completion_text() {
  case "$1" in
    bash | zsh) cat "$root/setup/completion/octlm.$1" ;;
    *) refuse 2 "completion is for bash or zsh: source <(./octlm completion bash)" ;;
  esac
}

quick_list() { # the registered experiments as their files say; their state in the ledger needs the program
  local file
  for file in "$root"/experiments/registered/*.json; do
    printf '%s  %-16s  %s%s\n' "$(top_member id "$file")" "$(top_member kind "$file")" "$(top_member title "$file")" \
      "$(sed -n 's/^  "tags": \[\(.*\)\],*$/  [\1]/p' "$file" | tr -d '"')"
  done
  say "nothing is built yet: the state in the ledger is left out (any other command builds)"
}

top_member() { sed -n 's/^  "'"$1"'": "\(.*\)",*$/\1/p' "$2"; } # a string at the top of a file as the project lays them out

# doctor: what is there and what is wrong, found without building.
# Findings are lines "MARK<tab>NAME<tab>WORDS", MARK one of ok, !! and -- (a fact).

findings=()
found() { findings+=("$1"$'\t'"$2"$'\t'"$3"); }

diagnose() {
  diagnose_packages
  diagnose_environment
  diagnose_build
}

diagnose_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null; then
    found -- "packages" "not a Debian system: setup/debian-packages.txt lists what is needed"
    return
  fi
  mapfile -t missing < <(missing_packages "$root/setup/debian-packages.txt")
  if ((${#missing[@]} == 0)); then
    found ok "packages" "all of setup/debian-packages.txt are installed"
  else
    found '!!' "packages" "missing: ${missing[*]}; any command that builds installs them, or: apt-get install ${missing[*]}"
  fi
}

diagnose_environment() {
  local level newest=""
  if [[ ! -x "$venv/bin/python" ]]; then
    found '!!' "environment" "no Python environment in .venv; ./octlm run makes it"
    return
  fi
  if [[ ! -f "$venv/octlm-venv" || "$(<"$venv/octlm-venv")" != "$(venv_identity)" ]]; then
    found '!!' "environment" ".venv was made elsewhere, by another Python or not by octlm; any command that builds makes it anew or says why not"
    return
  fi
  for level in build checkpoints reference; do
    if level_current "$level"; then newest="$level"; fi
  done
  case "$newest" in
    reference) found ok "environment" ".venv is complete: it has the reference" ;;
    "") found '!!' "environment" ".venv is not complete, or its lists have changed; the same command as before goes on" ;;
    *) found ok "environment" ".venv has level '$newest'; ./octlm run adds PyTorch and Transformers" ;;
  esac
}

diagnose_build() {
  if [[ -f "$release/octlm-building" ]]; then
    found '!!' "build" "the last build failed or was interrupted; to see why: ./octlm list"
  elif [[ ! -x "$program" ]]; then
    found '!!' "build" "nothing is built in build/release; ./octlm list builds the program"
  elif target_current octlm; then
    found ok "build" "build/release is of these sources"
  else
    found -- "build" "the sources have changed since the last build; the next command builds"
  fi
}

print_diagnosis() { # the findings alone, as the program prints its own: text, or JSON with --json
  local line mark name words wrong=0 separator=""
  [[ " $* " != *" --json "* ]] || printf '{"findings":['
  for line in "${findings[@]}"; do
    IFS=$'\t' read -r mark name words <<<"$line"
    [[ "$mark" != '!!' ]] || wrong=$((wrong + 1))
    if [[ " $* " == *" --json "* ]]; then
      printf '%s{"name":%s,"state":%s,"text":%s}' "$separator" "$(json_string "$name")" \
        "$(json_string "$(state_of "$mark")")" "$(json_string "$words")"
      separator=,
    else
      printf '%-2s %-14s %s\n' "${mark/--/}" "$name" "$words"
    fi
  done
  if [[ " $* " == *" --json "* ]]; then
    printf '],"wrong":%d}\n' "$wrong"
  else
    echo "$wrong to mend, marked !!; what the program itself would tell needs a build"
  fi
}

state_of() {
  case "$1" in
    ok) echo ok ;;
    '!!') echo wrong ;;
    *) echo fact ;;
  esac
}

json_string() { # of one line without control characters
  local text="${1//\\/\\\\}"
  printf '"%s"' "${text//\"/\\\"}"
}
