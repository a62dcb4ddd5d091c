import { Icon } from "../../../ui/icons.tsx";
import { outputPath } from "./log/records.ts";

/** A link that downloads the recorded output byte for byte. */
export function Download({ launch }: { launch: string }) {
  return (
    <a class="button" href={outputPath(launch, { format: "raw" })} download={`${launch}.log`} title="Download the recorded output">
      <Icon name="download" />
      Download
    </a>
  );
}
