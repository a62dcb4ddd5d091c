import { errorText } from "../../../api/http.ts";

/** The error of an action, shown in its dialog. */
export function ActionError({ what, error }: { what: string; error: unknown }) {
  if (error === null) return null;
  return (
    <p class="note bad foreign" role="alert">
      <span>
        <strong>{what}.</strong> {errorText(error)}
      </span>
    </p>
  );
}
