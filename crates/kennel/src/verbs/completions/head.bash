# Completes names and ids of sessions where a session is expected; fails elsewhere.
_kennel_session() {
    local cur=${COMP_WORDS[COMP_CWORD]} verb= which= at=0 many= valued= named= count=1 i word
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ -z $verb ]]; then
            case $word in
                --home | --config)
                    [[ ${COMP_WORDS[i + 1]} == '=' ]] && ((i++))
                    ((i++))
                    continue
                    ;;
                -*) continue ;;
            esac
            verb=$word
            case $verb in
