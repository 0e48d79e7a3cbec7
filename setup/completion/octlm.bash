# Completion of ./octlm for bash: source <(./octlm completion bash)
# Commands and options are read from setup/help, experiments, tags and checkpoints from experiments/registered, kinds
# from experiments/kinds, at each use.
_octlm_experiments() { printf '%s\n' "$1"/experiments/registered/*.json | sed 's|.*/||; s/\.json$//'; }
_octlm_tags() { sed -n 's/^  "tags": \[\(.*\)\],*$/\1/p' "$1"/experiments/registered/*.json | tr -d '" ' | tr ',' '\n' | sort -u; }
_octlm_models() { sed -n 's/^  "model": {"id": "\([^"]*\)".*/\1/p' "$1"/experiments/registered/*.json | sort -u; }
_octlm_kinds() { sed -n 's/^ *\(return {\)\{0,1\}\.name = "\([a-z_]*\)",$/\2/p' "$1"/experiments/kinds/*.cpp; }
_octlm_runs() { printf '%s\n' reports/*/results.jsonl reports/published/*/results.jsonl | sed -n '/\*/!s|/results.jsonl$||p'; }
_octlm() {
  local word="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}" command="${COMP_WORDS[1]-}" root words=""
  root="$(dirname "$(readlink -f "$(command -v -- "${COMP_WORDS[0]/#\~/$HOME}" 2>/dev/null || echo "${COMP_WORDS[0]}")")")"
  COMPREPLY=()
  # bash takes "tag:x" and "--device=x" for three words and completes the last.
  if [[ "$word" == [:=] ]]; then
    previous="$previous$word"
    word=""
  elif [[ "$previous" == [:=] ]]; then
    previous="${COMP_WORDS[COMP_CWORD - 2]}$previous"
  fi
  if ((COMP_CWORD == 1)); then
    words="$(printf '%s\n' "$root"/setup/help/*.txt | sed 's|.*/||; s/\.txt$//; /^octlm$/d') help completion --version"
  elif [[ "$previous" == tag: ]]; then
    words="$(_octlm_tags "$root")"
  elif [[ "$word" == -* ]]; then
    words="$(sed -n 's/^  \(-[a-z],\)\{0,1\}\(-[A-Za-z_-]*\).*/\2/p' "$root/setup/help/$command.txt" 2>/dev/null)"
  else
    case "${previous%=}" in
      --device) words="cpu cuda" ;;
      --require) words="weights cuda reference" ;;
      --subject) words="octlm" ;;
      --reference) words="transformers" ;;
      --resume) words="$(_octlm_runs)" ;;
      --path) words="full cached:half cached:every chunked:" ;;
      --mode) words="literal native" ;;
      --prior-results) words="none declared" ;;
      --out | --junit | -k | --subject-timeout | --reason | --source | --dtype) ;;
      --model)
        words="$(_octlm_models "$root")"
        if [[ " run check reduce record " == *" $command "* ]]; then
          words="${words//$'\n'/=$'\n'}="
          compopt -o nospace 2>/dev/null
        fi
        ;;
      *)
        case "$command" in
          run) words="$(_octlm_experiments "$root") $(_octlm_tags "$root" | sed 's/^/tag:/')" ;;
          show | check | register | amend | withdraw | record) words="$(_octlm_experiments "$root")" ;;
          report | compare | publish | reduce) words="$(_octlm_runs)" ;;
          new) words="$(_octlm_kinds "$root")" ;;
          fetch) words="smollm2-135m-instruct qwen3-0.6b-synthetic qwen3-mini-synthetic" ;;
          completion) words="bash zsh" ;;
          help) words="$(printf '%s\n' "$root"/setup/help/*.txt | sed 's|.*/||; s/\.txt$//; /^octlm$/d')" ;;
        esac
        ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o bashdefault -o default -F _octlm octlm ./octlm
