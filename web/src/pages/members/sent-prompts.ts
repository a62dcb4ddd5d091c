/** The prompts sent from this page. They are kept only while it is open: the daemon does not store prompts. */
const prompts = new Map<string, string>();

export function rememberPrompt(session: string, prompt: string): void {
  prompts.set(session, prompt);
}

export function promptOf(session: string): string | undefined {
  return prompts.get(session);
}
