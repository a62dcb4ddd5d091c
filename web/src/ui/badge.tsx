import type { SessionView, VerdictKind } from "../api/types.ts";
import { standing, type Tone, verdict, verdictTone } from "./words.ts";

export function Badge({ tone, word, bare }: { tone: Tone; word: string; bare?: boolean }) {
  return <span class={`badge ${tone}${bare ? " bare" : ""}`}>{word}</span>;
}

/** Where a session stands. */
export function Standing({ session }: { session: SessionView }) {
  return <Badge {...standing(session)} />;
}

export function VerdictBadge({ kind }: { kind: VerdictKind }) {
  return <Badge tone={verdictTone(kind)} word={verdict(kind)} />;
}
