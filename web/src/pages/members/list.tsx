import { segment } from "../../api/http.ts";
import type { MemberView } from "../../api/types.ts";
import { isZeroUsage, UsageLine } from "../../answer/usage.tsx";
import { mayChange } from "../../state/me.ts";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Empty, Failed, Loading } from "../../ui/states.tsx";
import { useMembers } from "./members.ts";
import { LastVerdict, MemberState, agentText } from "./member-state.tsx";

export function MemberList({ add, ask }: { add: () => void; ask: () => void }) {
  const { value, error, refetch } = useMembers();
  const members = value.value;
  return (
    <>
      <div class="page-head">
        <h1>Members</h1>
        {members && members.length > 0 && <span class="muted">{members.length}</span>}
        <span class="grow" />
        {mayChange.value && (
          <>
            <Button icon="send" onClick={ask}>
              Ask an agent…
            </Button>
            <Button kind="primary" icon="plus" onClick={add}>
              Add member
            </Button>
          </>
        )}
      </div>
      {members === null ? (
        error.value ? (
          <Failed what="Couldn’t load members" error={error.value} retry={refetch} />
        ) : (
          <Loading what="Loading members…" />
        )
      ) : members.length === 0 ? (
        <None add={add} />
      ) : (
        <ul class="member-cards">
          {[...members].sort(byState).map((member) => (
            <Card key={member.name} member={member} />
          ))}
        </ul>
      )}
    </>
  );
}

/** Sorts busy members first, then by name. */
function byState(a: MemberView, b: MemberView): number {
  return Number(!!b.busy_with) - Number(!!a.busy_with) || a.name.localeCompare(b.name);
}

function None({ add }: { add: () => void }) {
  return (
    <Empty icon="members" title="No members yet">
      <p>A member is a saved agent with a name, a folder, and a conversation that continues from prompt to prompt.</p>
      {mayChange.value && (
        <Button kind="primary" icon="plus" onClick={add}>
          Add member
        </Button>
      )}
      <p class="small">
        From the command line: <code>kennel member add anna --agent claude</code>
      </p>
    </Empty>
  );
}

function Card({ member }: { member: MemberView }) {
  return (
    <li class={`card member-card ${member.busy_with ? "busy" : ""}`} data-member={member.name}>
      <div class="row">
        <h2 class="grow cut">
          <a class="whole foreign" href={`/members/${segment(member.name)}`}>
            {member.name}
          </a>
        </h2>
        <LastVerdict member={member} />
      </div>
      <MemberState member={member} />
      <p class="small muted row cut">
        <span class="foreign">{agentText(member.settings)}</span>
      </p>
      <p class="small muted row">
        <Icon name="folder" />
        <span class="cut foreign mono" title={member.cwd}>
          {member.cwd}
        </span>
      </p>
      <div class="row small muted foot">
        <span class="grow cut">{isZeroUsage(member.usage) ? "no usage yet" : <UsageLine usage={member.usage} />}</span>
        {member.conversation && <Copy text={member.conversation} label={`Copy conversation ID ${member.conversation}`} />}
      </div>
    </li>
  );
}
