import { segment } from "../../api/http.ts";
import type { MemberView, Permissions, AgentSettings } from "../../api/types.ts";
import { Age } from "../../ui/age.tsx";
import { Badge, VerdictBadge } from "../../ui/badge.tsx";
import { PERMISSIONS } from "./agent-fields.tsx";

/** Shows whether a member is busy, since when, and how many prompts are queued. */
export function MemberState({ member }: { member: MemberView }) {
  return (
    <span class="row wrap member-state">
      {member.busy_with ? <Badge tone="good" word="busy" /> : <Badge tone="quiet" word="idle" />}
      {member.busy_with && (
        <span class="small muted">
          with <a href={`/sessions/${segment(member.busy_with)}`}>{member.busy_with}</a>
          {member.busy_since && (
            <>
              {" "}
              for <Age since={member.busy_since} />
            </>
          )}
        </span>
      )}
      {member.waiting > 0 && <Badge tone="info" bare word={`${member.waiting} queued`} />}
    </span>
  );
}

export function LastVerdict({ member }: { member: MemberView }) {
  if (!member.last_verdict) return <span class="muted small">{member.busy_with ? "first prompt" : "no prompts yet"}</span>;
  return (
    <span class="row">
      <VerdictBadge kind={member.last_verdict} />
      {member.last_at && (
        <span class="small muted">
          <Age since={member.last_at} /> ago
        </span>
      )}
    </span>
  );
}

export function permissionText(permissions: Permissions | undefined): string {
  return PERMISSIONS.find(([value]) => value === (permissions ?? "default"))?.[1] ?? "";
}

/** Returns the agent and its model. */
export function agentText({ agent, model }: AgentSettings): string {
  return model ? `${agent}, ${model}` : agent;
}
