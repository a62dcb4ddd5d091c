import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Whether the window is as a media query says. */
export function useMedia(media: string): boolean {
  const matches = useSignal(matchMedia(media).matches);
  useEffect(() => {
    const list = matchMedia(media);
    const look = () => void (matches.value = list.matches);
    look();
    list.addEventListener("change", look);
    return () => list.removeEventListener("change", look);
  }, [media]);
  return matches.value;
}
