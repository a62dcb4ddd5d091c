import type { EvidenceSource } from "../../../api/types.ts";

/** Returns the source of a verdict’s evidence. */
export function sourceText(source: EvidenceSource): string {
  switch (source) {
    case "result":
      return "from the agent’s result";
    case "stdout":
      return "from standard output";
    case "stderr":
      return "from standard error";
    case "exit":
      return "from the exit status";
    case "kennel":
      return "from Kennel";
  }
}
