import type { Problem, SessionView, Survivor } from "./generated.js";

/** Whatever Kennel or the way to it has to say against a request. */
export class KennelError extends Error {
  override name = "KennelError";
}

/** The daemon refused, and this is why: problem details, as RFC 9457 has them. */
export class KennelProblem extends KennelError {
  override name = "KennelProblem";
  /** The kind for programs: `not_found`, `conflict`, `invalid`, `busy`, … Stable. */
  readonly code: string;
  /** The status of the answer. */
  readonly status: number;
  /** The kind in words: the same for all of its kind. */
  readonly title: string;
  /** What was wrong this time, for people. */
  readonly detail: string;
  /** What to do, if there is something. */
  readonly hint: string | null;

  constructor(problem: Problem) {
    super(problem.hint ? `${problem.detail} (${problem.hint})` : problem.detail);
    this.code = problem.code;
    this.status = problem.status;
    this.title = problem.title;
    this.detail = problem.detail;
    this.hint = problem.hint ?? null;
  }

  /** The problem that a body tells of; one without a body is told by its status. */
  static read(status: number, body: string): KennelProblem {
    try {
      const told = JSON.parse(body) as Partial<Problem> | null;
      if (typeof told?.code === "string" && typeof told.detail === "string") {
        const { code, detail, hint = null } = told;
        const { type = `urn:kennel:${code}`, title = code } = told;
        return new KennelProblem({ type, title, status, detail, code, hint });
      }
    } catch {
      // It is not the daemon's own word.
    }
    const detail = `status ${status}: ${body.slice(0, 200)}`;
    const type = "about:blank";
    return new KennelProblem({ type, title: "No answer of Kennel's", status, detail, code: "unknown" });
  }
}

/** What had become of a request when its connection was lost. */
export type Reached =
  /** Nobody has heard it. */
  | "unsent"
  /** It may have been done. */
  | "maybe";

/** There is no daemon, or it went and did not come back in time. */
export class KennelUnreachable extends KennelError {
  override name = "KennelUnreachable";
  /** Whether what was asked for may have been done all the same. */
  readonly reached: Reached;

  constructor(message: string, reached: Reached, cause?: unknown) {
    super(message, { cause });
    this.reached = reached;
  }
}

/** A stop that did not end everything: these are left, and still owned. */
export class KennelSurvivors extends KennelError {
  override name = "KennelSurvivors";
  readonly survivors: readonly Survivor[];

  constructor(session: string, survivors: readonly Survivor[]) {
    const named = survivors.map(({ pid, name, why }) => `${pid} (${name}): ${why}`).join("; ");
    super(`session ${session} is still alive${named ? `: ${named}` : ""}`);
    this.survivors = survivors;
  }
}

/** A command that could not be started: no such program, no such folder, no pen as asked for. Nothing ran. */
export class KennelNotStarted extends KennelError {
  override name = "KennelNotStarted";
  /** What failed, in the codes of the command line: 202 setup, 203 pen, 204 exec, 207 Kennel itself. */
  readonly exitCode: number;
  /** The session, which is over. */
  readonly view: SessionView;

  constructor(view: SessionView) {
    const { code, why } = view.reason?.kind === "failed" ? view.reason : { code: 207, why: "it did not start" };
    super(why);
    this.exitCode = code;
    this.view = view;
  }
}
