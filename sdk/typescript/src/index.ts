/**
 * Runs coding agents under Kennel, which owns every process of an agent from before its first instruction until the last descendant
 * has exited.
 */

export { type Answer, type AnswerPart } from "./answer.js";
export { type AskOptions } from "./ask.js";
export { type ConnectOptions } from "./connect.js";
export { type Until } from "./create.js";
export { KennelError, KennelNotStarted, KennelProblem, KennelSurvivors, KennelUnreachable, type Reached } from "./errors.js";
export { type EventOptions } from "./events.js";
export type * as api from "./generated.js";
export { Kennel, type ListOptions, type RunOptions } from "./kennel.js";
export { Members, type NewMemberOptions } from "./members.js";
export { type OutputChunk, type OutputOptions } from "./output.js";
export { Plan, type PlanOptions, Plans } from "./plans.js";
export { type Outcome, type ResumeOptions, Session, type StopOptions } from "./session.js";
export { type ClientEnvironment } from "./client-environment.js";
export { type AttachOptions, type Size, Terminal } from "./terminal.js";
