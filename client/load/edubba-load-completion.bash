# Completion for bash: edubba-load's sub-commands, workloads, options and the choices they have.
_edubba_load() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words
    # COMP_WORDS is cut at '=' too: --format=json is three words.
    [[ $current == = ]] && current=
    [[ $previous == = ]] && previous=${COMP_WORDS[COMP_CWORD - 2]}
    COMPREPLY=()
    case $previous in
        --keys | --distribution | --format) words=$(edubba-load --words "$previous" 2>/dev/null) ;;
        lab) words=$(edubba-load --words lab 2>/dev/null) ;;
        --table) words=$(ebt --timeout 1 ls 2>/dev/null) ;;
        --output | --html | --json) compopt -o default 2>/dev/null; return ;;
        *) words=$(edubba-load --words 2>/dev/null) ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _edubba_load edubba-load
