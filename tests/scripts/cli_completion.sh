#!/usr/bin/env bash
# Completion: what hvi offers is what it would take, and bash, zsh and fish hand it on.
set -euo pipefail
. "$HVI_SOURCE_DIR/tests/cli/common.sh"
folder=$HVI_SOURCE_DIR/completion

# offers 'NAME ...' WORD...: hvi complete offers exactly these names.
offers() {
  local names=$1
  shift
  expect 0 complete "$@"
  local got
  got=$(cut -f1 out | tr '\n' ' ')
  [[ $got == "${names:+$names }" ]] || fail "hvi complete $*: '$got', not '$names'"
}
offers 'solve' so
offers 'env evaluate' e
offers 'list info replay bench' env ''
offers 'list info replay bench' help env ''
offers '' help solve ''
offers '--alternating --alpha' solve --al
offers '--alternating' solve pennies --alpha .5 --al
offers 'gd gn gda gtd2' solve pennies --method g
offers '--method=gd --method=gn --method=gda --method=gtd2' solve --method=g
offers 'plain optimistic averaged proximal' solve --target ''
offers 'theorem best adaptive' solve --eta ''
offers '' solve --tol ''
offers 'pennies performative-linear performative-mean :files' solve p
offers 'lqr pendulum half_cheetah ant ant-v5' env info ''
offers ':files' policy train lqr -o ''
offers ':folders' reproduce --out ''
offers 'pennies pennies-time pennies-random :files' reproduce rps pen
offers 'weight=' solve pennies --set w
offers 'signs=mended signs=printed' solve pennies --set signs=
offers '' solve --set w
offers '--rounding' solve --rou
offers '--no-rounding' solve --no-r
offers 'games bellman mlp sac evaluate gpu sac-gpu solve' bench ''
offers '--help' env info lqr --h
offers 'bash zsh fish' completion ''

# no list can drift: what --help shows is offered, and nothing else
expect 0 man --pages
mapfile -t pages < <(sed -n 's/^hvi-//p' out)
for page in "${pages[@]}"; do
  IFS=- read -ra words <<<"$page"
  "$HVI" "${words[@]}" --help | grep -Eo '^  (    |-[a-z], )--[a-z0-9-]+' | grep -o -- '--[a-z0-9-]*' | sort >help
  "$HVI" complete "${words[@]}" -- | cut -f1 | grep -v '^--no-' | sort >offered
  diff help offered || fail "'hvi ${words[*]} --help' and what is completed differ"
done

for shell in bash zsh fish; do
  expect 0 completion $shell
  cmp -s out "$folder/$shell" || fail "completion $shell is not completion/$shell"
done
refused 2 "bash, zsh, fish" completion tcsh

PATH=${HVI%/*}:$PATH
touch game.yaml run.csv
mkdir results

# in_bash 'REPLY ...' WORD...: as the shell would, words cut at = and :
in_bash() {
  local want=$1 got
  shift
  got=$(
    compopt() { :; } # is for a shell that is reading a line
    set +eu
    source "$folder/bash"
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _hvi hvi
    echo "${COMPREPLY[*]}"
  )
  [[ $got == "$want" ]] || fail "bash, $*: '$got', not '$want'"
}
in_bash 'solve' hvi so
in_bash '--alternating --alpha' hvi solve --al
in_bash 'gd gn gda gtd2' hvi solve --method = g
in_bash 'plain optimistic averaged proximal' hvi solve --target =
in_bash 'mended printed' hvi solve pennies --set signs =
in_bash 'game.yaml' hvi solve ga
in_bash 'run.csv' hvi solve pennies --trace ru
in_bash 'results' hvi reproduce -o re

if command -v fish >/dev/null; then
  # in_fish 'CANDIDATE ...' LINE
  in_fish() {
    local got
    got=$(HOME=$scratch fish --no-config -c "source '$folder/fish'; complete -C '$2'" | cut -f1 | tr '\n' ' ')
    [[ $got == "$1 " ]] || fail "fish, $2: '$got', not '$1'"
  }
  in_fish 'solve' 'hvi so'
  in_fish '--alpha --alternating' 'hvi solve --al'
  in_fish 'gd gda gn gtd2' 'hvi solve --method g'
  in_fish 'game.yaml' 'hvi solve ga'
  in_fish 'results/' 'hvi reproduce -o re'
  in_fish 'bench info list replay' 'hvi env '
else
  echo "fish is not installed: its completion was not tried"
fi

if command -v zsh >/dev/null; then
  zsh -n "$folder/zsh" || fail "zsh does not read its completion"
  cat >ask.zsh <<'ZSH'
# the line that Tab makes of $1, in an interactive shell
zmodload zsh/zpty
zpty shell 'PS1="> " TERM=dumb zsh -f -i'
zpty -w shell "autoload -Uz compinit; compinit -u -D; source '$FOLDER/zsh'; echo rea''dy"
zpty -r shell text $'*\nready*'
zpty -w -n shell "$1"$'\t\x01echo "<\x05>"\n'
zpty -r shell text $'*\n<*>*'
print -r -- "${${text##*$'\n'<}%%>*}"
ZSH
  # in_zsh 'LINE' BEGINNING
  in_zsh() {
    local got
    got=$(FOLDER=$folder timeout 60 zsh -f ask.zsh "$2")
    [[ $got == "$1" ]] || fail "zsh, $2: '$got', not '$1'"
  }
  in_zsh 'hvi solve' 'hvi sol'
  in_zsh 'hvi solve --method' 'hvi solve --meth'
  in_zsh 'hvi solve --target optimistic' 'hvi solve --target o'
  in_zsh 'hvi solve --target=optimistic' 'hvi solve --target=o'
  in_zsh 'hvi solve pennies --set weight=' 'hvi solve pennies --set w'
  in_zsh 'hvi solve game.yaml' 'hvi solve ga'
  in_zsh 'hvi reproduce -o results' 'hvi reproduce -o re'
else
  echo "zsh is not installed: its completion was not tried"
fi
