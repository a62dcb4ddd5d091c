// Runs agents in parallel. One is cancelled while it starts, the daemon is killed, and no process is left.
//
//   node dist/examples/orchestrator.js claude -p "say hello"

import { Kennel, type Session } from "@kennel/client";

const command = process.argv.slice(2);
if (command.length === 0) {
  console.error("usage: orchestrator COMMAND [ARGUMENT...]");
  process.exit(2);
}
const kennel = await Kennel.connect({ start: true, program: process.env["KENNEL"] ?? "kennel" });

async function show(session: Session): Promise<void> {
  for await (const { text } of session.output({ follow: true })) {
    for (const line of text.split("\n").filter(Boolean)) console.log(`${session.name}: ${line}`);
  }
}

const agents = await Promise.all(["ann", "bob"].map((name) => kennel.run(command, { name })));
const shown = agents.map(show);

// Cancelled while it starts: when this rejects, no process of it is left.
const cancel = new AbortController();
const eve = kennel.run(command, { name: "eve", signal: cancel.signal });
cancel.abort();
await eve.catch((error: Error) => console.log(`eve: ${error.name}`));

// Kill the daemon. A new one adopts the agents, and their output continues at its position.
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
