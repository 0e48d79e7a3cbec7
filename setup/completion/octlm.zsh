# Completion of ./octlm for zsh: source <(./octlm completion zsh)
# Commands and options are read from setup/help, experiments, tags and checkpoints from experiments/registered, kinds
# from experiments/kinds, at each use.
_octlm_lines() { sed -n "$@" 2>/dev/null; }
_octlm() {
  local root command=${words[2]-} previous=${words[CURRENT-1]-} word=${words[CURRENT]-}
  local -a found experiments tags models runs commands
  root=${${~words[1]}:A:h}
  commands=($root/setup/help/*.txt(N:t:r))
  commands=(${commands:#octlm})
  if (( CURRENT == 2 )); then
    found=($commands help completion --version)
    compadd -a found
    return
  fi
  if [[ $word == --*=* ]]; then # "--device=cpu" is one word
    previous=${word%%=*}
    compset -P '*='
  elif [[ $word == -* ]]; then
    found=(${(f)"$(_octlm_lines 's/^  \(-[a-z],\)\{0,1\}\(-[A-Za-z_-]*\).*/\2/p' $root/setup/help/$command.txt)"})
    compadd -a found
    return
  fi
  experiments=($root/experiments/registered/*.json(N:t:r))
  tags=(${(uf)"$(_octlm_lines 's/^  "tags": \[\(.*\)\],*$/\1/p' $root/experiments/registered/*.json | tr -d '" ' | tr ',' '\n')"})
  models=(${(uf)"$(_octlm_lines 's/^  "model": {"id": "\([^"]*\)".*/\1/p' $root/experiments/registered/*.json)"})
  runs=(reports/*/results.jsonl(N:h) reports/published/*/results.jsonl(N:h))
  case $previous in
    --device) found=(cpu cuda) ;;
    --require) found=(weights cuda reference) ;;
    --subject) found=(octlm) ;;
    --reference) found=(transformers) ;;
    --resume) found=($runs) ;;
    --path) found=(full cached:half cached:every chunked:) ;;
    --mode) found=(literal native) ;;
    --prior-results) found=(none declared) ;;
    --out | --junit | -k | --subject-timeout | --reason | --source | --dtype) ;;
    --model)
      found=($models)
      if [[ " run check reduce record " == *" $command "* ]]; then
        found=(${^found}=)
        compadd -S '' -a found
        _files -/
        return
      fi
      ;;
    *)
      case $command in
        run) found=($experiments tag:${^tags}) ;;
        show | check | register | amend | withdraw | record) found=($experiments) ;;
        report | compare | publish | reduce) found=($runs) ;;
        new) found=(${(f)"$(_octlm_lines 's/^ *\(return {\)\{0,1\}\.name = "\([a-z_]*\)",$/\2/p' $root/experiments/kinds/*.cpp)"}) ;;
        fetch) found=(smollm2-135m-instruct qwen3-0.6b-synthetic qwen3-mini-synthetic) ;;
        completion) found=(bash zsh) ;;
        help) found=($commands) ;;
      esac
      ;;
  esac
  compadd -a found
  _files
}
compdef _octlm octlm ./octlm
