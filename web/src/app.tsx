import { useEffect } from "preact/hooks";

import { Shell } from "./shell/shell.tsx";
import { parts } from "./state/router.ts";
import { Page } from "./pages/page.tsx";
import { Toasts } from "./ui/toast.tsx";

const TITLES: Record<string, string> = {
  sessions: "Sessions",
  members: "Members",
  plans: "Plans",
  strays: "Strays",
  worktrees: "Worktrees",
  doctor: "Doctor",
  events: "Events",
};

export function App() {
  const [area = "sessions", one] = parts.value;
  const title = TITLES[area] ?? "Not found";
  useEffect(() => {
    document.title = one ? `${one} · ${title} · Kennel` : `${title} · Kennel`;
  }, [title, one]);
  return (
    <>
      <Shell area={area}>
        <Page />
      </Shell>
      <Toasts />
    </>
  );
}
