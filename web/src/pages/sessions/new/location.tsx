import { useComputed } from "@preact/signals";

import { sessions } from "../../../state/live.ts";
import { Check, LineField } from "./field.tsx";
import type { Form } from "./form.ts";
import { recentFolders } from "./recent.ts";

const OFFERED = 20;

/** The form fields for the folder, name and worktree. */
export function LocationFields({ form }: { form: Form }) {
  const folders = useComputed(() => {
    const used = sessions.value.map((session) => session.spec.worktree?.repo.replace(/\/\.git$/, "") ?? session.spec.cwd ?? "");
    return [...new Set([...recentFolders(), ...used])].filter((folder) => folder.startsWith("/")).slice(0, OFFERED);
  });
  const isMember = form.draft.value.kind === "prompt" && form.draft.value.target.startsWith("member:");
  return (
    <>
      <div class="columns">
        <LineField
          form={form}
          field="folder"
          label="Folder"
          mono
          list="new-session-folders"
          placeholder={isMember ? "The member’s folder" : "/home/me/project"}
        />
        <LineField form={form} field="name" label="Name" placeholder="Optional" />
      </div>
      <datalist id="new-session-folders">
        {folders.value.map((folder) => (
          <option key={folder} value={folder} />
        ))}
      </datalist>
      <div class="columns">
        <div class="row wrap checks">
          <Check form={form} field="worktree" label="Use a separate git worktree" />
        </div>
        {form.draft.value.worktree && (
          <LineField form={form} field="branch" label="Branch" mono placeholder="New branch kennel/ID" />
        )}
      </div>
    </>
  );
}
