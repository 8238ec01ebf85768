# Completion for bash: edubba-load's sub-commands, workloads, options and the choices they have.
_edubba_load() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words
    COMPREPLY=()
    case $previous in
        --keys | --distribution | --format)
            words=$(edubba-load --choices "${previous#--}" 2>/dev/null) ;;
        --table) words=$(ebt --timeout 1 ls 2>/dev/null) ;;
        --output) compopt -o default; return ;;
        *) words=$(edubba-load --words 2>/dev/null) ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _edubba_load edubba-load
