import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { Answer } from "../../answer/answer.tsx";
import { ApiError, segment } from "../../api/http.ts";
import type { MemberView, SessionView } from "../../api/types.ts";
import { useFetched } from "../../state/fetched.ts";
import { isOver, sessions } from "../../state/live.ts";
import { mayChange } from "../../state/me.ts";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Empty, Failed, Loading } from "../../ui/states.tsx";
import { promptOf, rememberPrompt } from "./sent-prompts.ts";
import { Compose } from "./compose.tsx";
import { Facts } from "./facts.tsx";
import { History } from "./history.tsx";
import { affectsMembers } from "./members.ts";
import { RemoveMember } from "./remove.tsx";
import { MemberState } from "./member-state.tsx";

/** One member: a prompt form, live answers, and previous prompts. */
export function Member({ name }: { name: string }) {
  const { value, error, refetch } = useFetched<MemberView>(`/v1/members/${segment(name)}`, { when: affectsMembers });
  const removing = useSignal(false);
  const member = value.value;
  const gone = error.value instanceof ApiError && error.value.status === 404;
  return (
    <>
      <div class="page-head">
        <a class="button plain icon-only" href="/members" aria-label="All members" title="All members">
          <Icon name="left" />
        </a>
        <h1 class="foreign">{name}</h1>
        {member && !gone && <MemberState member={member} />}
        <span class="grow" />
        {member && !gone && mayChange.value && (
          <Button kind="danger" onClick={() => void (removing.value = true)}>
            Remove…
          </Button>
        )}
      </div>
      {gone ? (
        <Empty icon="members" title={`No member named ${name}`}>
          <p>
            It may have been removed. <a href="/members">All members</a>
          </p>
        </Empty>
      ) : member ? (
        <MemberContent key={name} member={member} />
      ) : error.value ? (
        <Failed what={`Couldn’t load ${name}`} error={error.value} retry={refetch} />
      ) : (
        <Loading what={`Loading ${name}…`} />
      )}
      {removing.value && member && <RemoveMember member={member} close={() => void (removing.value = false)} />}
    </>
  );
}

function MemberContent({ member }: { member: MemberView }) {
  const prompts = sessions.value.filter((session) => session.spec.agent?.member === member.name);
  const shown = useShown(prompts, member);
  return (
    <div class="member-page">
      <div class="stack">
        {mayChange.value && (
          <div class="card">
            <div class="body">
              <Compose
                to={member.name}
                label={`Ask ${member.name}`}
                placeholder="What should the agent do?"
                hasConversation={member.conversation !== null}
                target={() => ({ member: member.name })}
                asked={(session, prompt) => {
                  rememberPrompt(session.session, prompt);
                  shown.add(session.session);
                }}
              />
            </div>
          </div>
        )}
        {shown.ids.map((id) => (
          <Answer key={id} session={id} prompt={promptOf(id)} />
        ))}
        <History prompts={prompts.filter((it) => isOver(it) && !shown.ids.includes(it.session))} open={shown.add} />
      </div>
      <Facts member={member} />
    </div>
  );
}

/** Returns the prompts to show in full, newest first: live ones, and those that were live since the page was opened. */
function useShown(prompts: SessionView[], member: MemberView): { ids: string[]; add: (id: string) => void } {
  const opened = useSignal<readonly string[]>([]);
  const add = (id: string) => {
    if (!opened.value.includes(id)) opened.value = [...opened.value, id];
  };
  const live = prompts.filter((session) => !isOver(session) && !session.spec.agent?.interactive).map((session) => session.session);
  const known = new Set([...opened.value, ...live]);
  // A prompt that just started may not be in the session list yet.
  const chat = prompts.some((session) => session.session === member.busy_with && session.spec.agent?.interactive);
  if (member.busy_with && !chat) known.add(member.busy_with.split("_")[0] ?? member.busy_with);
  const ids = [...known].sort((a, b) => (a < b ? 1 : -1));
  useEffect(() => ids.forEach(add), [ids.join()]);
  return { ids, add };
}
