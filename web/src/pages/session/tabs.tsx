import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";

import type { InspectView, SessionView } from "../../api/types.ts";
import { params, setParam } from "../../state/router.ts";
import { Failed, Loading } from "../../ui/states.tsx";
import { type Tab, Tabs } from "../../ui/tabs.tsx";
import { Answer } from "./answer/answer.tsx";
import { Details } from "./details/details.tsx";
import { Launches } from "./launches/launches.tsx";
import { Processes } from "./processes/processes.tsx";
import { Resources } from "./resources/resources.tsx";
import type { Watched } from "./resources/watch.ts";
import { Timeline } from "./timeline/timeline.tsx";
import { isWide } from "./is-wide.ts";
import { Worktree } from "./worktree/worktree.tsx";

interface Props {
  session: SessionView;
  inspected: InspectView;
  watched: Watched;
}

/** The tabs of the page. On wide screens, processes and resources are beside them. */
export function Parts(props: Props) {
  const { session, inspected } = props;
  const tabs = tabsOf(session, inspected, isWide.value);
  const asked = params.value.get("tab");
  const first = tabs[0]?.id ?? "output";
  const chosen = tabs.find((tab) => tab.id === asked)?.id ?? first;
  return (
    <div class={isWide.value ? "session-columns" : undefined}>
      <Tabs label="Session details" tabs={tabs} chosen={chosen} choose={(id) => setParam("tab", id === first ? null : id)}>
        <Part {...props} name={chosen} />
      </Tabs>
      {isWide.value && (
        <aside class="stack" aria-label="Processes and resources">
          <Processes session={session} inspected={inspected} />
          <Resources session={session} watched={props.watched} />
        </aside>
      )}
    </div>
  );
}

function tabsOf(session: SessionView, inspected: InspectView, wide: boolean): Tab[] {
  const isPrompt = !!session.spec.agent && !session.spec.agent.interactive;
  const count = (number: number) => number > 0 && <span class="muted"> {number}</span>;
  const tabs: (Tab | false)[] = [
    // For a prompt the answer comes first: its raw output is rarely useful.
    isPrompt && { id: "answer", title: "Answer" },
    { id: "output", title: "Output" },
    !wide && { id: "processes", title: <>Processes{count(inspected.members.length)}</> },
    !wide && { id: "resources", title: "Resources" },
    { id: "timeline", title: "Timeline" },
    { id: "launches", title: <>Launches{inspected.launches.length > 1 && count(inspected.launches.length)}</> },
    !!session.spec.worktree && { id: "worktree", title: "Worktree" },
    { id: "details", title: "Details" },
  ];
  return tabs.filter((tab): tab is Tab => tab !== false);
}

function Part({ name, session, inspected, watched }: Props & { name: string }) {
  switch (name) {
    case "answer":
      return <Answer session={session} />;
    case "processes":
      return <Processes session={session} inspected={inspected} />;
    case "resources":
      return <Resources session={session} watched={watched} />;
    case "timeline":
      return <Timeline session={session} inspected={inspected} />;
    case "launches":
      return <Launches session={session} inspected={inspected} />;
    case "worktree":
      return <Worktree session={session} />;
    case "details":
      return <Details session={session} inspected={inspected} />;
    default:
      return <LazyOutput key={session.id} session={session} />;
  }
}

/** The terminal code is large, so it is loaded on first use. */
function LazyOutput({ session }: { session: SessionView }) {
  const output = useSignal<ComponentType<{ session: SessionView }> | null>(null);
  const error = useSignal<unknown>(null);
  useEffect(() => {
    let isShown = true;
    import("./output/output.tsx").then(
      (it) => isShown && void (output.value = it.Output),
      (failed: unknown) => isShown && void (error.value = failed),
    );
    return () => void (isShown = false);
  }, []);
  // The files of a newer version have other names, so retry by reloading the page.
  if (error.value !== null) return <Failed what="Couldn’t load the output view" error={error.value} retry={() => location.reload()} />;
  const Output = output.value;
  return Output ? <Output session={session} /> : <Loading what="Loading output…" />;
}
