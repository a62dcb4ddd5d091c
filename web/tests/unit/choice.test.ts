import { expect, test } from "@playwright/test";

import type { SessionView } from "../../src/api/types.ts";
import { choiceOf, isShown, matches, ordered, sortedBy, valuesOf } from "../../src/pages/sessions/choice.ts";

function session(id: string, more: Partial<SessionView> = {}, spec: Partial<SessionView["spec"]> = {}): SessionView {
  return {
    id, session: id, name: null, title: null, phase: "running", attempt: 1, relaunch: { relaunch: "undecided" }, activity: null, progress: null,
    queue_place: null, reason: null, exit: null, ready: "unasked", ...more, spec: { argv: ["sleep", "9"], cwd: "/src", ...spec },
  } as SessionView;
}

const chosen = (query: string) => choiceOf(new URLSearchParams(query));
const nothing = () => ({ cpu: null, memory: null });
const agent = (member: string | null, name: string) => ({ agent: { member, seat: { agent: name } } }) as Partial<SessionView["spec"]>;

test("the address says what is shown, and what nobody knows is left out of account", () => {
  expect(chosen("")).toEqual({ show: "live", words: [], traits: {}, sort: "age", descending: false });
  expect(chosen("show=ended&q=A%20b&member=m&sort=-cpu")).toEqual({ show: "ended", words: ["a", "b"], traits: { member: "m" }, sort: "cpu", descending: true });
  expect(chosen("show=x&sort=-y")).toMatchObject({ show: "live", sort: "age" });
});

test("a search looks at all that a session is known by", () => {
  const one = session("0abc", { name: "Fix", title: "The Login" }, { cwd: "/home/me/app", worktree: { branch: "fix/it", repo: "/r" } as never });
  for (const word of ["0abc", "fix", "login", "sleep", "app", "fix/it", "running"]) expect(matches(one, chosen(`q=${word}`)), word).toBe(true);
  expect(matches(one, chosen("q=login+app"))).toBe(true);
  expect(matches(one, chosen("q=login+other"))).toBe(false);
  expect(matches(session("1", {}, agent("rex", "claude")), chosen("q=rex&agent=claude"))).toBe(true);
  expect(matches(session("1", {}, agent("rex", "claude")), chosen("agent=codex"))).toBe(false);
});

test("live and ended are told apart; what is to be launched again is live", () => {
  const over = session("1", { phase: "cleaned" });
  const again = session("2", { phase: "cleaned", relaunch: { relaunch: "pending" } });
  expect([isShown(over, "live"), isShown(over, "ended"), isShown(over, "all")]).toEqual([false, true, true]);
  expect([isShown(again, "live"), isShown(again, "ended")]).toEqual([true, false]);
});

test("what has no value comes last, whichever way it is sorted", () => {
  const all = [session("a"), session("b"), session("c")];
  const used = (one: SessionView) => ({ cpu: { a: null, b: 1, c: 5 }[one.id] ?? null, memory: null });
  const ids = (query: string) => ordered(all, chosen(query), used).map(({ id }) => id).join("");
  expect([ids("sort=cpu"), ids("sort=-cpu"), ids(""), ids("sort=-age"), ids("sort=memory")]).toEqual(["bca", "cba", "abc", "cba", "abc"]);
});

test("places in line are in their order", () => {
  const all = [session("a", { phase: "queued", queue_place: 12 }), session("b", { phase: "queued", queue_place: 2 }), session("c")];
  expect(ordered(all, chosen("sort=standing"), nothing).map(({ id }) => id)).toEqual(["c", "b", "a"]);
});

test("a column's head turns the order round", () => {
  expect(sortedBy("cpu", chosen(""))).toBe("-cpu");
  expect(sortedBy("cpu", chosen("sort=-cpu"))).toBe("cpu");
  expect(sortedBy("age", chosen(""))).toBe("-age");
  expect(sortedBy("age", chosen("sort=-age"))).toBeNull();
});

test("only what there is can be chosen", () => {
  expect(valuesOf([session("1", {}, agent("b", "x")), session("2", {}, agent("a", "x")), session("3")], "member")).toEqual(["a", "b"]);
  expect(valuesOf([session("1")], "plan")).toEqual([]);
});
