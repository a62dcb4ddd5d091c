// Three agents at once. One is cancelled while it starts, the daemon is killed under the others, and nothing is left.
//
//   node dist/examples/orchestrator.js claude -p "say hello"

import { Kennel, type Session } from "@kennel/client";

const command = process.argv.slice(2);
const kennel = await Kennel.connect({ start: true, program: process.env["KENNEL"] ?? "kennel" });

async function show(session: Session): Promise<void> {
  for await (const { text } of session.output({ follow: true })) {
    for (const line of text.split("\n").filter(Boolean)) console.log(`${session.name}: ${line}`);
  }
}

const agents = await Promise.all(["ann", "bob"].map((name) => kennel.run(command, { name })));
const shown = agents.map(show);

// Cancelled in mid-start: when this is rejected, nothing of it is left.
const cancel = new AbortController();
const eve = kennel.run(command, { name: "eve", signal: cancel.signal });
cancel.abort();
await eve.catch((error: Error) => console.log(`eve: ${error.name}`));

// The daemon dies. Its next one adopts the agents, and their output goes on where it was.
process.kill((await kennel.daemon()).pid, "SIGKILL");
const dan = await kennel.run(command, { name: "dan" });
shown.push(show(dan));

for (const agent of [...agents, dan]) {
  const { result, took_ms } = await agent.stop({ graceMs: 2000 });
  console.log(`${agent.name}: ${result} in ${took_ms} ms`);
}
await Promise.all(shown);

console.log(`strays: ${(await kennel.strays()).strays.length}`);
kennel.close();
