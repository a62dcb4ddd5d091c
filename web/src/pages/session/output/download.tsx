import { Icon } from "../../../ui/icons.tsx";
import { outputPath } from "./log/records.ts";

/** All that is kept of the output, as it was printed. */
export function Download({ launch }: { launch: string }) {
  return (
    <a class="button" href={outputPath(launch, { format: "raw" })} download={`${launch}.log`} title="All that is kept, byte by byte">
      <Icon name="download" />
      Download
    </a>
  );
}
