# Completion of ./octlm for zsh: source <(./octlm completion zsh)
# Commands and options are read from setup/help, experiments from experiments/registered, at each use.
_octlm() {
  local root command=${words[2]-} previous=${words[CURRENT-1]-}
  local -a found
  root=${${~words[1]}:A:h}
  if (( CURRENT == 2 )); then
    found=($root/setup/help/*.txt(N:t:r) help completion --version)
    found=(${found:#octlm})
  elif [[ ${words[CURRENT]} == -* ]]; then
    found=(${(f)"$(sed -n 's/^  \(-[a-z],\)\{0,1\}\(--[a-z-]*\).*/\2/p' $root/setup/help/$command.txt 2>/dev/null)"})
  elif [[ $previous == --device ]]; then
    found=(cpu cuda)
  elif [[ $previous == --require ]]; then
    found=(weights cuda reference)
  elif [[ $command == completion ]]; then
    found=(bash zsh)
  elif [[ $command == fetch ]]; then
    found=(smollm2-135m-instruct qwen3-0.6b-synthetic qwen3-mini-synthetic)
  elif [[ " run show check register amend withdraw record " == *" $command "* ]]; then
    found=($root/experiments/registered/*.json(N:t:r))
  fi
  compadd -a found
  (( CURRENT == 2 )) || _files
}
compdef _octlm octlm ./octlm
