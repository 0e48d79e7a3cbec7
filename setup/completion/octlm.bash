# Completion of ./octlm for bash: source <(./octlm completion bash)
# Commands and options are read from setup/help, experiments from experiments/registered, at each use.
_octlm() {
  local word="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}" command="${COMP_WORDS[1]-}" root words=""
  root="$(dirname "$(readlink -f "$(command -v -- "${COMP_WORDS[0]/#\~/$HOME}" 2>/dev/null || echo "${COMP_WORDS[0]}")")")"
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    words="$(cd "$root/setup/help" 2>/dev/null && printf '%s\n' *.txt | sed 's/\.txt$//; /^octlm$/d') help completion --version"
  elif [[ "$word" == -* ]]; then
    words="$(sed -n 's/^  \(-[a-z],\)\{0,1\}\(--[a-z-]*\).*/\2/p' "$root/setup/help/$command.txt" 2>/dev/null)"
  elif [[ "$previous" == --device ]]; then
    words="cpu cuda"
  elif [[ "$previous" == --require ]]; then
    words="weights cuda reference"
  elif [[ "$command" == completion ]]; then
    words="bash zsh"
  elif [[ "$command" == fetch ]]; then
    words="smollm2-135m-instruct qwen3-0.6b-synthetic qwen3-mini-synthetic"
  elif [[ " run show check register amend withdraw record " == *" $command "* ]]; then
    words="$(cd "$root/experiments/registered" 2>/dev/null && printf '%s\n' *.json | sed 's/\.json$//')"
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o bashdefault -o default -F _octlm octlm ./octlm
