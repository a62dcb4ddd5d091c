import { expect, test } from "@playwright/test";

import { ApiError } from "../../src/api/http.ts";
import { BLANK, type Draft, fieldOf, buildRequest, errorsByField } from "../../src/pages/sessions/new/draft.ts";
import { cores, count, size, time } from "../../src/pages/sessions/new/quantities.ts";
import { environment } from "../../src/state/environment.ts";

const base = { PATH: "/bin", HOME: "/root" };

const made = (draft: Partial<Draft>) => buildRequest({ ...BLANK, ...draft }, "k", base);

test("builds a request for a command", () => {
  const result = made({ command: "make 'all of it'", folder: " /src ", terminal: false, name: "it", memory: "2G", cpu: "0.5", timeout: "10m", restart: true, restarts: "3", worktree: true });
  expect(result).toEqual({
    request: {
      path: "/v1/sessions",
      body: {
        argv: ["make", "all of it"], cwd: "/src", name: "it", key: "k", asked_by: "dashboard", env: base, queue: false, best_effort: false,
        memory: 2 ** 31, cpu: 500, pids: null, timeout_ms: 600_000, idle_ms: null, restart: { policy: "on_failure", most: 3 }, worktree: {},
      },
    },
  });
});

test("passes the whole line to a shell, and sets TERM", () => {
  const result = made({ command: "a | b", inShell: true, folder: "/src", env: "HOME=/me" });
  expect(result).toMatchObject({
    request: { body: { argv: ["/bin/sh", "-c", "a | b"], env: { HOME: "/me", PATH: "/bin", TERM: "xterm-256color" }, terminal: { rows: 30, columns: 100 } } },
  });
});

test("builds a request for a prompt to a member or an agent", () => {
  const asked = (draft: Partial<Draft>) => made({ kind: "prompt", prompt: "hi", ...draft });
  expect(asked({ target: "member:a:b" })).toMatchObject({ request: { path: "/v1/ask", body: { member: "a:b", prompt: "hi", detach: true, by: "dashboard" } } });
  expect(asked({ target: "agent:codex", folder: "/src", worktree: true, branch: "x" })).toMatchObject({
    request: { body: { agent: "codex", cwd: "/src", worktree: "x", permissions: "default" } },
  });
  expect(asked({ target: "agent:codex" })).toEqual({ wrong: { folder: expect.any(String) } });
  expect(asked({ target: "agent:", folder: "/src" })).toEqual({ wrong: { agentName: expect.any(String), description: expect.any(String) } });
});

test("reports all validation errors by field", () => {
  expect(made({ command: "'", folder: "src", memory: "much", cpu: "0", pids: "-1", timeout: "10", env: "A" })).toEqual({
    wrong: Object.fromEntries(["command", "folder", "memory", "cpu", "pids", "timeout", "env"].map((field) => [field, expect.any(String)])),
  });
});

test("assigns an error of the daemon to its field", () => {
  expect(fieldOf('cwd "rel" is not absolute', "command")).toBe("folder");
  expect(fieldOf("can't start the program: can't start in folder /x: No such file", "command")).toBe("folder");
  expect(fieldOf('can\'t start the program: no program "x" in PATH (/bin)', "command")).toBe("command");
  expect(fieldOf('can\'t start the program: no program "claude" in PATH (/bin)', "prompt")).toBe("target");
  expect(fieldOf('"bad..name" can\'t be the name of a branch', "command")).toBe("branch");
  expect(fieldOf('the name "x" is taken by session 0s', "command")).toBe("name");
  expect(fieldOf("the disk is full", "command")).toBe("all");
  expect(errorsByField(new ApiError(409, "conflict", "the name \"x\" is taken", "choose another"), "command")).toEqual({ name: 'The name "x" is taken. Choose another.' });
});

test("parses quantities like the command line", () => {
  expect([size("512M"), size("1.5 GiB"), size("12"), size("1k"), size("x"), size("-1")]).toEqual([2 ** 29, 1.5 * 2 ** 30, 12, 1024, null, null]);
  expect([time("500ms"), time("1.5h"), time("2m"), time("10")]).toEqual([500, 5_400_000, 120_000, null]);
  expect([count("7"), count("7.5"), cores("0.5"), cores("0"), cores("x")]).toEqual([7, null, 500, null, null]);
});

test("takes variables literally", () => {
  expect(environment("A=1\n# no\n\nexport B='x y'\nC==\r", {})).toEqual({ env: { A: "1", B: "'x y'", C: "=" } });
  expect(environment("A=1\nB", base)).toEqual({ wrong: expect.stringContaining("Line 2") });
  expect(environment("1A=1", base)).toEqual({ wrong: expect.stringContaining("Line 1") });
});

test("entered variables override those of the daemon", () => {
  expect(environment("HOME=/me\nA=1", base)).toEqual({ env: { PATH: "/bin", HOME: "/me", A: "1" } });
  expect(base).toEqual({ PATH: "/bin", HOME: "/root" });
});
