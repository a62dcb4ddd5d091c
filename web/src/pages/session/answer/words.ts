import type { EvidenceSource } from "../../../api/types.ts";

/** Where the evidence of a verdict was seen. */
export function sourceText(source: EvidenceSource): string {
  switch (source) {
    case "result":
      return "seen in the agent's own result";
    case "stdout":
      return "seen in its output";
    case "stderr":
      return "seen in its error output";
    case "exit":
      return "told by how it exited";
    case "kennel":
      return "known to Kennel itself";
  }
}
