import { useSignal } from "@preact/signals";
import { type ComponentType } from "preact";
import { useEffect } from "preact/hooks";

import type { SessionView } from "../../../api/types.ts";
import { bytes } from "../../../ui/format.ts";
import { column, cpuPercent, type Series, summary } from "./samples.ts";
import type { Watched } from "./watch.ts";

type ChartPart = ComponentType<{ series: Series; format: (value: number) => string; color: string; whole?: boolean }>;

const percent = (value: number) => `${value < 10 && value > 0 ? value.toFixed(1) : Math.round(value)} %`;
const number = (value: number) => String(Math.round(value));

/** The resource usage of the pen over time. */
export function Resources({ session, watched }: { session: SessionView; watched: Watched }) {
  const chart = useSignal<ChartPart | null>(null);
  useEffect(() => {
    let isShown = true;
    // If the chart can’t be loaded, the values are still shown.
    import("./chart.tsx").then(
      (it) => isShown && void (chart.value = it.Chart),
      () => {},
    );
    return () => void (isShown = false);
  }, []);
  const samples = watched.samples.value;
  const isOver = session.ended_at !== null;
  return (
    <section class="card" aria-labelledby="resources-title">
      <header>
        <h2 id="resources-title" class="grow">
          Resources
        </h2>
        <span class="muted small">all processes</span>
      </header>
      {samples.length === 0 ? (
        <p class="body muted small">{emptyText(session, watched)}</p>
      ) : (
        <div class="body stack">
          <Measure title="CPU" chart={chart.value} series={cpuPercent(samples)} format={percent} color="info" isOver={isOver} />
          <Measure title="Memory" chart={chart.value} series={column(samples, "memory_bytes")} format={bytes} color="accent" isOver={isOver} />
          <Measure title="Processes" chart={chart.value} series={column(samples, "processes")} format={number} color="warn" whole isOver={isOver} />
        </div>
      )}
      {watched.trouble.value && <p class="pen-line warn-text foreign">{watched.trouble.value}</p>}
    </section>
  );
}

function emptyText(session: SessionView, watched: Watched): string {
  if (!watched.isLoaded.value) return "Measuring…";
  if (session.ended_at) return "No usage was recorded.";
  return session.phase === "running" ? "Measuring…" : "Not running yet.";
}

function Measure(props: { title: string; chart: ChartPart | null; series: Series; format: (value: number) => string; color: string; whole?: boolean; isOver: boolean }) {
  const { last, highest } = summary(props.series);
  const Chart = props.chart;
  return (
    <div class="measure">
      <div class="row">
        <h3 class="grow">{props.title}</h3>
        <span class="small" data-measure={props.title}>
          <span class="muted">{props.isOver ? "last" : "now"}</span> {last === null ? "–" : props.format(last)} <span class="muted">peak</span>{" "}
          {highest === null ? "–" : props.format(highest)}
        </span>
      </div>
      {Chart && props.series.times.length > 1 && (
        <Chart series={props.series} format={props.format} color={props.color} whole={props.whole ?? false} />
      )}
    </div>
  );
}
