import { expect, test } from "@playwright/test";

import type { SessionView } from "../../src/api/types.ts";
import { parseFilter, isShown, matches, ordered, sortedBy, valuesOf } from "../../src/pages/sessions/filter.ts";

function session(id: string, more: Partial<SessionView> = {}, spec: Partial<SessionView["spec"]> = {}): SessionView {
  return {
    id, session: id, name: null, title: null, phase: "running", attempt: 1, relaunch: { relaunch: "undecided" }, activity: null, progress: null,
    queue_position: null, reason: null, exit: null, ready: "unasked", ...more, spec: { argv: ["sleep", "9"], cwd: "/src", ...spec },
  } as SessionView;
}

const chosen = (query: string) => parseFilter(new URLSearchParams(query));
const nothing = () => ({ cpu: null, memory: null });
const agent = (member: string | null, name: string) => ({ agent: { member, settings: { agent: name } } }) as Partial<SessionView["spec"]>;

test("parses the URL and ignores unknown values", () => {
  expect(chosen("")).toEqual({ show: "live", words: [], facets: {}, sort: "age", descending: false });
  expect(chosen("show=ended&q=A%20b&member=m&sort=-cpu")).toEqual({ show: "ended", words: ["a", "b"], facets: { member: "m" }, sort: "cpu", descending: true });
  expect(chosen("show=x&sort=-y")).toMatchObject({ show: "live", sort: "age" });
});

test("a search covers every identifying text", () => {
  const one = session("0abc", { name: "Fix", title: "The Login" }, { cwd: "/home/me/app", worktree: { branch: "fix/it", repo: "/r" } as never });
  for (const word of ["0abc", "fix", "login", "sleep", "app", "fix/it", "running"]) expect(matches(one, chosen(`q=${word}`)), word).toBe(true);
  expect(matches(one, chosen("q=login+app"))).toBe(true);
  expect(matches(one, chosen("q=login+other"))).toBe(false);
  expect(matches(session("1", {}, agent("rex", "claude")), chosen("q=rex&agent=claude"))).toBe(true);
  expect(matches(session("1", {}, agent("rex", "claude")), chosen("agent=codex"))).toBe(false);
});

test("a session with a pending restart is live", () => {
  const over = session("1", { phase: "cleaned" });
  const again = session("2", { phase: "cleaned", relaunch: { relaunch: "pending" } });
  expect([isShown(over, "live"), isShown(over, "ended"), isShown(over, "all")]).toEqual([false, true, true]);
  expect([isShown(again, "live"), isShown(again, "ended")]).toEqual([true, false]);
});

test("sorts missing values last in both directions", () => {
  const all = [session("a"), session("b"), session("c")];
  const used = (one: SessionView) => ({ cpu: { a: null, b: 1, c: 5 }[one.id] ?? null, memory: null });
  const ids = (query: string) => ordered(all, chosen(query), used).map(({ id }) => id).join("");
  expect([ids("sort=cpu"), ids("sort=-cpu"), ids(""), ids("sort=-age"), ids("sort=memory")]).toEqual(["bca", "cba", "abc", "cba", "abc"]);
});

test("sorts by queue position", () => {
  const all = [session("a", { phase: "queued", queue_position: 12 }), session("b", { phase: "queued", queue_position: 2 }), session("c")];
  expect(ordered(all, chosen("sort=state"), nothing).map(({ id }) => id)).toEqual(["c", "b", "a"]);
});

test("a click on a column reverses the order", () => {
  expect(sortedBy("cpu", chosen(""))).toBe("-cpu");
  expect(sortedBy("cpu", chosen("sort=-cpu"))).toBe("cpu");
  expect(sortedBy("age", chosen(""))).toBe("-age");
  expect(sortedBy("age", chosen("sort=-age"))).toBeNull();
});

test("offers only values that exist", () => {
  expect(valuesOf([session("1", {}, agent("b", "x")), session("2", {}, agent("a", "x")), session("3")], "member")).toEqual(["a", "b"]);
  expect(valuesOf([session("1")], "plan")).toEqual([]);
});
