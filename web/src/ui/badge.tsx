import type { SessionView, VerdictKind } from "../api/types.ts";
import { sessionState, type Tone, verdict, verdictTone } from "./labels.ts";

export function Badge({ tone, word, bare }: { tone: Tone; word: string; bare?: boolean }) {
  return <span class={`badge ${tone}${bare ? " bare" : ""}`}>{word}</span>;
}

/** The state of a session. */
export function SessionStateBadge({ session }: { session: SessionView }) {
  return <Badge {...sessionState(session)} />;
}

export function VerdictBadge({ kind }: { kind: VerdictKind }) {
  return <Badge tone={verdictTone(kind)} word={verdict(kind)} />;
}
