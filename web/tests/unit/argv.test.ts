import { expect, test } from "@playwright/test";

import { split } from "../../src/pages/sessions/new/argv.ts";

const argv = (line: string) => {
  const result = split(line);
  return "argv" in result ? result.argv : result.wrong;
};

test("splits a line like a shell", () => {
  expect(argv("git log  -n 3 ")).toEqual(["git", "log", "-n", "3"]);
  expect(argv(`echo 'a  b' "c d" e\\ f`)).toEqual(["echo", "a  b", "c d", "e f"]);
  expect(argv(`a'b'"c"d`)).toEqual(["abcd"]);
  expect(argv(`x '' ""`)).toEqual(["x", "", ""]);
  expect(argv("")).toEqual([]);
  expect(argv(`'\\'`)).toEqual(["\\"]);
  expect(argv(`"a\\"b\\n\\$c"`)).toEqual([`a"b\\n$c`]);
  expect(argv("a\\\nb")).toEqual(["ab"]);
});

test("refuses unclosed quotes", () => {
  expect(argv("echo 'a")).toContain("single quote");
  expect(argv('echo "a\\"')).toContain("double quote");
  expect(argv("echo a\\")).toContain("backslash");
});

test("reports shell characters, unless they are quoted", () => {
  const signs = (line: string) => {
    const result = split(line);
    return "forShell" in result ? result.forShell : null;
  };
  expect(signs("a | b > c")).toEqual(["|", ">"]);
  expect(signs("echo '$HOME | x'")).toEqual([]);
  expect(signs('echo "$HOME | x"')).toEqual(["$"]);
  expect(signs("echo \\$HOME")).toEqual([]);
});
