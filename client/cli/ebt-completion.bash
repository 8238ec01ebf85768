# Completion of ebt's commands and tables for bash.
_ebt() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $COMP_CWORD == 1 || $previous == --json ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(ebt help --commands 2>/dev/null) --masters --timeout --json -o" -- "$current")
    elif [[ $previous == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(ebt help --commands 2>/dev/null)" -- "$current")
    elif [[ $COMP_CWORD == 2 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(ebt --timeout 1 ls 2>/dev/null)" -- "$current")
    fi
}
complete -o default -F _ebt ebt
