/** A command line that is split into words. */
export type Split =
  | { argv: string[]; /** Characters that only a shell would interpret. */ forShell: string[] }
  /** Why it can’t be split. */
  | { wrong: string };

const SHELL_SIGNS = /[|&;<>$`*?~(){}#]/;

/** Splits a command line. Quotes and backslashes work as in a shell; everything else is literal. */
export function split(line: string): Split {
  const argv: string[] = [];
  const forShell = new Set<string>();
  let word: string | null = null;
  for (let at = 0; at < line.length; at += 1) {
    const sign = line[at]!;
    if (sign === "'" || sign === '"') {
      const quoted = inQuotes(line, at);
      if (!quoted) return { wrong: `The ${sign === "'" ? "single" : "double"} quote is not closed.` };
      if (quoted.forShell) forShell.add(quoted.forShell);
      word = (word ?? "") + quoted.text;
      at = quoted.end;
    } else if (sign === "\\") {
      at += 1;
      if (at === line.length) return { wrong: "The command ends with a backslash." };
      if (line[at] !== "\n") word = (word ?? "") + line[at];
    } else if (/\s/.test(sign)) {
      if (word !== null) argv.push(word);
      word = null;
    } else {
      if (SHELL_SIGNS.test(sign)) forShell.add(sign);
      word = (word ?? "") + sign;
    }
  }
  if (word !== null) argv.push(word);
  return { argv, forShell: [...forShell] };
}

/** Returns the quoted text that starts at `from`, and the position of the closing quote. */
function inQuotes(line: string, from: number): { text: string; end: number; forShell: string | null } | null {
  const quote = line[from]!;
  if (quote === "'") {
    const end = line.indexOf("'", from + 1);
    return end < 0 ? null : { text: line.slice(from + 1, end), end, forShell: null };
  }
  let text = "";
  let forShell: string | null = null;
  for (let at = from + 1; at < line.length; at += 1) {
    const sign = line[at]!;
    if (sign === '"') return { text, end: at, forShell };
    if (sign === "\\" && /["\\$`\n]/.test(line[at + 1] ?? "")) {
      at += 1;
      if (line[at] !== "\n") text += line[at];
    } else {
      if (sign === "$" || sign === "`") forShell = sign;
      text += sign;
    }
  }
  return null;
}
