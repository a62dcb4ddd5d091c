import { told } from "../../../api/http.ts";

/** Why it could not be done, in the dialog where it was asked for. */
export function NotDone({ what, error }: { what: string; error: unknown }) {
  if (error === null) return null;
  return (
    <p class="note bad foreign" role="alert">
      <span>
        <strong>{what}.</strong> {told(error)}
      </span>
    </p>
  );
}
