import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { follow } from "../api/events.ts";
import { type ApiError, segment } from "../api/http.ts";
import { advance, type Transcript, EMPTY_TRANSCRIPT } from "./transcript.ts";

export interface Followed {
  transcript: Signal<Transcript>;
  /** Whether the answer stream is connected. */
  isConnected: Signal<boolean>;
  /** Why the daemon refused the stream. */
  refused: Signal<ApiError | null>;
}

/** Follows the answer stream from the start of the latest attempt to the verdict, across daemon restarts. */
export function useTranscript(session: string): Followed {
  const transcript = useSignal<Transcript>(EMPTY_TRANSCRIPT);
  const isConnected = useSignal(false);
  const refused = useSignal<ApiError | null>(null);
  useEffect(() => {
    transcript.value = EMPTY_TRANSCRIPT;
    refused.value = null;
    return follow(
      `/v1/sessions/${segment(session)}/answer`,
      {
        frames: (frames) => void (transcript.value = advance(transcript.value, frames)),
        opened: () => void (isConnected.value = true),
        lost: () => void (isConnected.value = false),
        ended: (why) => void (refused.value = why),
      },
      "verdict",
    );
  }, [session]);
  return { transcript, isConnected, refused };
}
