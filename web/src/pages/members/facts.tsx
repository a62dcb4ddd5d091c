import { tokens } from "../../answer/usage.tsx";
import type { MemberView } from "../../api/types.ts";
import { Copy } from "../../ui/copy.tsx";
import { commandLine, cost, formatTime } from "../../ui/format.ts";
import { LastVerdict, permissionText } from "./member-state.tsx";

/** Shows a member’s settings and total usage. */
export function Facts({ member }: { member: MemberView }) {
  const { settings, usage } = member;
  return (
    <aside class="card" aria-label={`About ${member.name}`}>
      <div class="body">
        <dl class="facts">
          <dt>Agent</dt>
          <dd class="foreign">{settings.agent}</dd>
          <dt>Model</dt>
          <dd class="foreign">{settings.model ?? <span class="muted">default</span>}</dd>
          <dt>Folder</dt>
          <dd class="foreign mono">{member.cwd}</dd>
          <dt>Permissions</dt>
          <dd>{permissionText(settings.permissions)}</dd>
          {settings.turns != null && (
            <>
              <dt>Max. turns</dt>
              <dd>{settings.turns}</dd>
            </>
          )}
          {!!settings.args?.length && (
            <>
              <dt>Arguments</dt>
              <dd class="foreign mono">{commandLine(settings.args)}</dd>
            </>
          )}
          <dt>Conversation</dt>
          <dd class="row">
            {member.conversation ? (
              <>
                <code class="foreign">{member.conversation}</code>
                <Copy text={member.conversation} label="Copy conversation ID" />
              </>
            ) : (
              <span class="muted">none yet</span>
            )}
          </dd>
          <dt>Last prompt</dt>
          <dd>
            <LastVerdict member={member} />
          </dd>
          <dt>Tokens</dt>
          <dd>
            {tokens(usage.input_tokens)} in · {tokens(usage.cached_tokens)} cached · {tokens(usage.output_tokens)} out
          </dd>
          <dt>Cost</dt>
          <dd>{usage.cost_micros > 0 ? cost(usage.cost_micros) : <span class="muted">not reported</span>}</dd>
          <dt>Attempts</dt>
          <dd>{member.attempts.toLocaleString("en")}</dd>
          <dt>Added</dt>
          <dd>{formatTime(member.created_at)}</dd>
        </dl>
      </div>
    </aside>
  );
}
