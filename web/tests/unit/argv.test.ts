import { expect, test } from "@playwright/test";

import { split } from "../../src/pages/sessions/new/argv.ts";

const argv = (line: string) => {
  const told = split(line);
  return "argv" in told ? told.argv : told.wrong;
};

test("a line is taken apart as a shell would", () => {
  expect(argv("git log  -n 3 ")).toEqual(["git", "log", "-n", "3"]);
  expect(argv(`echo 'a  b' "c d" e\\ f`)).toEqual(["echo", "a  b", "c d", "e f"]);
  expect(argv(`a'b'"c"d`)).toEqual(["abcd"]);
  expect(argv(`x '' ""`)).toEqual(["x", "", ""]);
  expect(argv("")).toEqual([]);
  expect(argv(`'\\'`)).toEqual(["\\"]);
  expect(argv(`"a\\"b\\n\\$c"`)).toEqual([`a"b\\n$c`]);
  expect(argv("a\\\nb")).toEqual(["ab"]);
});

test("what is not closed is refused", () => {
  expect(argv("echo 'a")).toContain("single quote");
  expect(argv('echo "a\\"')).toContain("double quote");
  expect(argv("echo a\\")).toContain("backslash");
});

test("signs for a shell are noticed, unless they are quoted", () => {
  const signs = (line: string) => {
    const told = split(line);
    return "forShell" in told ? told.forShell : null;
  };
  expect(signs("a | b > c")).toEqual(["|", ">"]);
  expect(signs("echo '$HOME | x'")).toEqual([]);
  expect(signs('echo "$HOME | x"')).toEqual(["$"]);
  expect(signs("echo \\$HOME")).toEqual([]);
});
