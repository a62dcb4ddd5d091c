import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { follow } from "../api/events.ts";
import { type Refusal, segment } from "../api/http.ts";
import { advance, type Course, NOTHING } from "./course.ts";

export interface Followed {
  course: Signal<Course>;
  /** Whether it is heard right now. */
  heard: Signal<boolean>;
  /** Why it can't be had at all. */
  refused: Signal<Refusal | null>;
}

/** Follows what an agent does, from the beginning of its latest attempt to the verdict, over restarts of the daemon. */
export function useCourse(session: string): Followed {
  const course = useSignal<Course>(NOTHING);
  const heard = useSignal(false);
  const refused = useSignal<Refusal | null>(null);
  useEffect(() => {
    course.value = NOTHING;
    refused.value = null;
    return follow(
      `/v1/sessions/${segment(session)}/answer`,
      {
        frames: (frames) => void (course.value = advance(course.value, frames)),
        opened: () => void (heard.value = true),
        lost: () => void (heard.value = false),
        ended: (why) => void (refused.value = why),
      },
      "verdict",
    );
  }, [session]);
  return { course, heard, refused };
}
