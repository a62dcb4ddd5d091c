                *) return 1 ;;
            esac
        elif [[ $valued == *" $word "* ]]; then
            [[ ${COMP_WORDS[i + 1]} == '=' ]] && ((i++))
            ((i++))
            if ((i >= COMP_CWORD)); then
                # The value of this flag is being typed.
                [[ $named == *" $word "* ]] || return 1
                at=$count
            fi
        elif [[ $word != -* ]]; then
            ((count++))
        fi
    done
    [[ $cur == '=' ]] && cur=
    [[ -n $verb && $cur != -* ]] || return 1
    ((count == at)) || { [[ -n $many ]] && ((count > at)); } || return 1
    # Don't fall back to file names if no session matches.
    compopt +o default +o bashdefault 2>/dev/null
    COMPREPLY=($(compgen -W "$("$1" completions --sessions "$which" 2>/dev/null)" -- "$cur"))
    # A session was expected, even if none matches.
    return 0
}

_kennel_or_session() {
    _kennel_session "$@" || _kennel "$@"
}
