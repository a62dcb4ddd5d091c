import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Whether a media query matches; updates when it changes. */
export function useMedia(media: string): boolean {
  const matches = useSignal(matchMedia(media).matches);
  useEffect(() => {
    const list = matchMedia(media);
    const update = () => void (matches.value = list.matches);
    update();
    list.addEventListener("change", update);
    return () => list.removeEventListener("change", update);
  }, [media]);
  return matches.value;
}
