import type { ProblemDetails, SessionView, Survivor } from "./generated.js";

/** The base class of all errors of this package. */
export class KennelError extends Error {
  override name = "KennelError";
}

/** The daemon refused a request. The fields are those of a problem document (RFC 9457). */
export class KennelProblem extends KennelError {
  override name = "KennelProblem";
  /** A stable code for programs: `not_found`, `conflict`, `invalid`, `busy`, … */
  readonly code: string;
  /** The HTTP status. */
  readonly status: number;
  /** A short text for the code. */
  readonly title: string;
  /** What was wrong with this request. */
  readonly detail: string;
  /** What to do about it, if there is something. */
  readonly hint: string | null;

  constructor(problem: ProblemDetails) {
    super(problem.hint ? `${problem.detail} (${problem.hint})` : problem.detail);
    this.code = problem.code;
    this.status = problem.status;
    this.title = problem.title;
    this.detail = problem.detail;
    this.hint = problem.hint ?? null;
  }

  /** Parses a problem document. A body of another form becomes a problem with the code `unknown`. */
  static read(status: number, body: string): KennelProblem {
    try {
      const parsed = JSON.parse(body) as Partial<ProblemDetails> | null;
      if (typeof parsed?.code === "string" && typeof parsed.detail === "string") {
        const { code, detail, hint = null } = parsed;
        const { type = `urn:kennel:${code}`, title = code } = parsed;
        return new KennelProblem({ type, title, status, detail, code, hint });
      }
    } catch {
      // Not a problem document of the daemon.
    }
    const detail = `status ${status}: ${body.slice(0, 200)}`;
    const type = "about:blank";
    return new KennelProblem({ type, title: "Not a Kennel response", status, detail, code: "unknown" });
  }
}

/** The state of a request when its connection was lost. */
export type Reached =
  /** The request was not sent. */
  | "unsent"
  /** The request may have been executed. */
  | "maybe";

/** The daemon is not running, or did not come back in time. */
export class KennelUnreachable extends KennelError {
  override name = "KennelUnreachable";
  /** Whether the request may have been executed. */
  readonly reached: Reached;

  constructor(message: string, reached: Reached, cause?: unknown) {
    super(message, { cause });
    this.reached = reached;
  }
}

/** A stop left processes alive. Kennel still owns them and keeps trying. */
export class KennelSurvivors extends KennelError {
  override name = "KennelSurvivors";
  readonly survivors: readonly Survivor[];

  constructor(session: string, survivors: readonly Survivor[]) {
    const named = survivors.map(({ pid, name, why }) => `${pid} (${name}): ${why}`).join("; ");
    super(`session ${session} is still alive${named ? `: ${named}` : ""}`);
    this.survivors = survivors;
  }
}

/** The command could not be started: the program, the folder or the requested pen is missing. Nothing ran. */
export class KennelNotStarted extends KennelError {
  override name = "KennelNotStarted";
  /** What failed, as an exit code of the command line: 202 setup, 203 pen, 204 exec, 207 internal failure. */
  readonly exitCode: number;
  /** The ended session. */
  readonly view: SessionView;

  constructor(view: SessionView) {
    const { code, why } = view.reason?.kind === "failed" ? view.reason : { code: 207, why: "the command did not start" };
    super(why);
    this.exitCode = code;
    this.view = view;
  }
}
