import "./members.css";

import { useSignal } from "@preact/signals";

import { Answer } from "../../answer/answer.tsx";
import { params } from "../../state/router.ts";
import { Icon } from "../../ui/icons.tsx";
import { AddMember } from "./add.tsx";
import { AskAgent } from "./ask-agent.tsx";
import { promptOf } from "./sent-prompts.ts";
import { MemberList } from "./list.tsx";
import { Member } from "./member.tsx";

/** `/members`, `/members/NAME`, and `/members?prompt=ID` for a prompt without a member. */
export function MembersPage({ parts: [name] }: { parts: string[] }) {
  const open = useSignal<"add" | "ask" | null>(null);
  const close = () => void (open.value = null);
  const prompt = params.value.get("prompt");
  if (name !== undefined) return <Member key={name} name={name} />;
  return (
    <>
      {prompt ? (
        <Prompt key={prompt} id={prompt} />
      ) : (
        <MemberList add={() => void (open.value = "add")} ask={() => void (open.value = "ask")} />
      )}
      {open.value === "add" && <AddMember close={close} />}
      {open.value === "ask" && <AskAgent close={close} />}
    </>
  );
}

function Prompt({ id }: { id: string }) {
  return (
    <>
      <div class="page-head">
        <a class="button plain icon-only" href="/members" aria-label="All members" title="All members">
          <Icon name="left" />
        </a>
        <h1>
          Prompt <span class="muted mono foreign">{id}</span>
        </h1>
      </div>
      <Answer session={id} prompt={promptOf(id)} />
    </>
  );
}
