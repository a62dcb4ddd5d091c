/** What was asked from this page, as long as it is open: prompts are on no record. */
const prompts = new Map<string, string>();

export function remember(session: string, prompt: string): void {
  prompts.set(session, prompt);
}

export function promptOf(session: string): string | undefined {
  return prompts.get(session);
}
