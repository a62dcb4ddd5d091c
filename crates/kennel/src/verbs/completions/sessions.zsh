# Completes names and ids of sessions.
_kennel_session() {
    local -a sessions
    sessions=(${(f)"$(_call_program sessions kennel completions --sessions all 2>/dev/null)"})
    _describe -t sessions session sessions
}
