import { segment } from "../../api/http.ts";
import type { MemberAnswer } from "../../api/types.ts";
import { isNothing, UsageLine } from "../../answer/usage.tsx";
import { mayChange } from "../../state/me.ts";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Empty, Failed, Loading } from "../../ui/states.tsx";
import { useMembers } from "./members.ts";
import { LastVerdict, MemberStanding, seatText } from "./standing.tsx";

export function MemberList({ add, ask }: { add: () => void; ask: () => void }) {
  const { value, error, again } = useMembers();
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
              Add a member
            </Button>
          </>
        )}
      </div>
      {members === null ? (
        error.value ? (
          <Failed what="The members can’t be had" error={error.value} again={again} />
        ) : (
          <Loading what="Loading the members…" />
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

/** Who is at work comes first, then by name. */
function byState(a: MemberAnswer, b: MemberAnswer): number {
  return Number(!!b.busy_with) - Number(!!a.busy_with) || a.name.localeCompare(b.name);
}

function None({ add }: { add: () => void }) {
  return (
    <Empty icon="members" title="There are no members">
      <p>A member is a named seat for an agent, with a folder and a conversation that goes on from prompt to prompt.</p>
      {mayChange.value && (
        <Button kind="primary" icon="plus" onClick={add}>
          Add a member
        </Button>
      )}
      <p class="small">
        In a shell: <code>kennel member add anna --agent claude</code>
      </p>
    </Empty>
  );
}

function Card({ member }: { member: MemberAnswer }) {
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
      <MemberStanding member={member} />
      <p class="small muted row cut">
        <span class="foreign">{seatText(member.seat)}</span>
      </p>
      <p class="small muted row">
        <Icon name="folder" />
        <span class="cut foreign mono" title={member.cwd}>
          {member.cwd}
        </span>
      </p>
      <div class="row small muted foot">
        <span class="grow cut">{isNothing(member.usage) ? "nothing used yet" : <UsageLine usage={member.usage} />}</span>
        {member.conversation && <Copy text={member.conversation} label={`Copy the conversation’s id, ${member.conversation}`} />}
      </div>
    </li>
  );
}
