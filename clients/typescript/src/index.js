/** What index.d.ts tells of. */

export { Client, Job } from "./client.js";
export {
  AttemptTimeout,
  Cancelled,
  Conflict,
  Forbidden,
  HoldfastError,
  Invalid,
  JobEnded,
  JournalFull,
  LeaseLost,
  MessageInvalid,
  Misuse,
  NotAllEnqueued,
  NotFound,
  Permanent,
  RetryAfter,
  Snooze,
  StepFailed,
  Unauthenticated,
  Unavailable,
  WaitTimeout,
  WorkerGone,
} from "./errors.js";
export { kind, signal } from "./names.js";
export { Worker } from "./worker.js";
