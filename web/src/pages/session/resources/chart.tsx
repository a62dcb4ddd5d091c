import "uplot/dist/uPlot.min.css";

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

import { shown as shownTheme } from "../../../state/theme.ts";
import type { Series } from "./samples.ts";

const HEIGHT = 88;
/** Axis steps for whole numbers. */
const WHOLE = [1, 2, 5].flatMap((step) => [1, 10, 100, 1000].map((by) => step * by)).sort((a, b) => a - b);

interface Props {
  series: Series;
  /** Formats a value for the axis. */
  format: (value: number) => string;
  /** The name of a theme colour. */
  color: string;
  /** Whether the axis has only whole numbers. */
  whole?: boolean;
}

/** A line chart over time. It is decorative: the values are also shown as text. */
export function Chart({ series, format, color, whole }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const theme = shownTheme.value;
  useEffect(() => {
    const element = container.current;
    if (!element) return;
    const chart = new uPlot(options(element, { format, color, whole: whole ?? false }), [series.times, series.values], element);
    plot.current = chart;
    const resized = new ResizeObserver(() => {
      if (element.clientWidth > 0 && element.clientWidth !== chart.width) chart.setSize({ width: element.clientWidth, height: HEIGHT });
    });
    resized.observe(element);
    return () => {
      resized.disconnect();
      chart.destroy();
      plot.current = null;
    };
  }, [theme]);
  useEffect(() => plot.current?.setData([series.times, series.values]), [series.times.length, series.times.at(-1)]);
  return <div class="chart" ref={container} aria-hidden="true" />;
}

function options(element: HTMLElement, { format, color, whole }: { format: (value: number) => string; color: string; whole: boolean }): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const [line, muted] = [token("line"), token("muted")];
  const font = `11px ${token("font")}`;
  const axis = { stroke: muted, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  return {
    width: Math.max(element.clientWidth, 80),
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    // Room for half a time label at the right.
    padding: [6, 26, 0, 0],
    scales: { y: { range: (_, __, highest) => [0, Math.max(whole ? 2 : 1, (highest ?? 0) * 1.15)] } },
    axes: [
      { ...axis, size: 22, space: 70, values: (_, ticks) => ticks.map((tick) => new Date(tick * 1000).toLocaleTimeString("en-GB")) },
      { ...axis, size: 62, space: 26, ...(whole ? { incrs: WHOLE } : {}), values: (_, ticks) => ticks.map((tick) => format(tick)) },
    ],
    series: [{}, { stroke: token(color), width: 1.6, fill: `color-mix(in srgb, ${token(color)} 14%, transparent)`, points: { show: false }, spanGaps: false }],
  };
}
