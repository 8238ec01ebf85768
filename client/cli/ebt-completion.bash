# Completion for bash: ebt's options and commands, tables, and the words a command takes.
_ebt() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local index=1 masters=() command words
    COMPREPLY=()
    # COMP_WORDS is cut at '=' and ':' too; options stand before the command.
    while ((index < COMP_CWORD)); do
        case ${COMP_WORDS[index]} in
            --masters | -masters) masters=(--masters "$(_ebt_value "$index")") ;;&
            --masters | -masters | --timeout | -timeout | -o) _ebt_skip_value ;;
            -*) ((index += 1)) ;;
            *) break ;;
        esac
    done
    command=${COMP_WORDS[index]}
    if ((index >= COMP_CWORD)); then
        words=
        [[ $previous == --masters || $previous == --timeout || $previous == -o ]] ||
            words="$(ebt help --commands 2>/dev/null) --masters --timeout --json --escaped -o --version --help"
    elif [[ $command == help ]]; then
        words=$(ebt help --commands 2>/dev/null)
    elif [[ $command == debug ]]; then
        words=bundle
    elif [[ $command == documents ]] && ((COMP_CWORD == index + 1)); then
        words=prefix=
        compopt -o nospace 2>/dev/null
    elif [[ $command == hot-tablets ]] && ((COMP_CWORD > index)); then
        words="last= $(ebt "${masters[@]}" --timeout 1 ls 2>/dev/null)"
        [[ $current == l* ]] && compopt -o nospace 2>/dev/null
    elif [[ $command == drain ]]; then
        words="--undo --no-wait"
        ((COMP_CWORD == index + 1)) && words=$(ebt "${masters[@]}" --timeout 1 --json servers 2>/dev/null |
            sed -nE 's/.*"server":"([0-9]+)".*/\1/p')
    elif [[ $command == servers || $command == masters || $command == document* || $previous == = ]]; then
        words=
    elif ((COMP_CWORD == index + 1)); then
        words=$(ebt "${masters[@]}" --timeout 1 ls 2>/dev/null)
    else # columns= prefix= on ...: what the usage names in small letters
        words=$(ebt help "$command" 2>/dev/null | sed '/^$/q' | grep -oE '\b[a-z-]+=|\b(on|off|never)\b')
        [[ $words == *= ]] && compopt -o nospace 2>/dev/null
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

# An option's value is one word, or what was cut into several: tcp : //host : port.
_ebt_skip_value() {
    ((index += 2))
    while ((index < COMP_CWORD)) && [[ ${COMP_WORDS[index]} == [:=]* || ${COMP_WORDS[index - 1]} == [:=] ]]; do
        ((index += 1))
    done
}

_ebt_value() {
    local index=$1 start=$(($1 + 1))
    _ebt_skip_value
    printf %s "${COMP_WORDS[@]:start:index - start}"
}
complete -o default -F _ebt ebt
