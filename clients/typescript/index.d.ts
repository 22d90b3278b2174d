/**
 * Durable jobs, through a Holdfast server.
 *
 * A Client enqueues jobs, waits for them and changes them. A Worker runs them. Both need nothing
 * but Node, and speak the HTTP API of the server.
 */

/** A number of milliseconds, or a text such as "1m30s" or "72h". */
export type Duration = number | string;

/**
 * A value that JSON has words for: it must not be a function, NaN or a BigInt. Its texts have no NUL
 * and no half of a surrogate pair, and it is not nested more than 200 deep.
 */
export type PublishedValue = unknown;

/** The kind of a job, with the types of its args and its result, which are not checked at run time. */
export interface Kind<Args = any, Result = any> {
  readonly name: string;
  /** Only for types; it is never there. */
  readonly types?: (args: Args) => Result;
}

/** A signal to durable functions, with the type of its payload, which is not checked at run time. */
export interface Signal<Payload = any> {
  readonly name: string;
  /** Only for types; it is never there. */
  readonly types?: (payload: Payload) => Payload;
}

/** Names a kind once, for those who enqueue it and those who run it. */
export function kind<Args = any, Result = any>(name: string): Kind<Args, Result>;

/** Names a signal once, for those who send it and those who wait for it. */
export function signal<Payload = any>(name: string): Signal<Payload>;

/** The args and options of a call: args may be left out where undefined is among them. */
export type Call<Args, Options> = undefined extends Args
  ? [args?: Args, options?: Options]
  : [args: Args, options?: Options];

// Clients.

export interface ClientOptions {
  /** Without it that of $HOLDFAST_SERVER, or http://127.0.0.1:8233. */
  url?: string | URL;
  /**
   * Without it that of $HOLDFAST_TOKEN. A function is asked before each request, within its time
   * limit. If it throws, or gives no text, that is Unavailable, and the request is repeated as one.
   */
  token?: string | (() => string | Promise<string>);
  /** Whose jobs it sees; without it, that of the credential if it has only one, and else "default". */
  namespace?: string;
  /** Of one request; and for how long a call repeats itself while no server answers. 30 s without it. */
  timeout?: Duration;
  /** What makes requests instead of Node's own fetch, such as one with certificates of its own. */
  fetch?: typeof fetch;
}

/** The options of a child, and those of a job. See docs/jobs.md. */
export interface JobOptions {
  queue?: string;
  /** From 1, the most urgent, to 4. */
  priority?: number;
  delay?: Duration;
  runAt?: Date;
  deadline?: Date;
  /** Of one attempt. */
  timeout?: Duration;
  heartbeatTimeout?: Duration;
  maxAttempts?: number;
  backoff?: { base: Duration; cap: Duration };
  keepKey?: string;
  keepTurn?: boolean;
  tags?: string[];
  metadata?: Record<string, unknown>;
  attributes?: Record<string, unknown>;
  orderingKey?: string;
  fairKey?: string;
  limit?: string;
  limitKey?: string;
  batch?: string;
}

export interface ChildOptions extends JobOptions {
  /** What becomes of it if its parent ends first; cancel, if nothing is said. */
  onClose?: "cancel" | "abandon" | "terminate";
}

export interface EnqueueOptions extends JobOptions {
  /** A UUID by which a repeated enqueue is known; without it one is made. */
  id?: string;
  key?: string;
  unique?: {
    key?: string;
    args?: boolean;
    queue?: boolean;
    fields?: string[];
    period?: Duration;
    maxDelay?: Duration;
    onConflict?: "return" | "reject" | "replace";
    while?: string[];
  };
  after?: { job: string; ifFailed?: "cancel" | "run" | "hold" }[];
  followUps?: { on: "completed" | "failed" | "cancelled" | "any"; job: NewJob }[];
}

/** A job that is to be enqueued, in one object. */
export interface NewJob extends EnqueueOptions {
  kind: string | Kind;
  args?: unknown;
}

export interface WaitOptions {
  /** After which WaitTimeout is thrown. Without it the job may take any time. */
  timeout?: Duration;
  /** Ends the wait, with its reason. */
  signal?: AbortSignal;
}

export interface ListOptions {
  /** In the grammar of the API, such as "state:failed kind:mail". */
  query?: string;
  /** How many at the most; all of them without it. */
  limit?: number;
  /** Filters of the API, such as state. */
  [filter: string]: string | number | undefined;
}

export type State =
  | "scheduled"
  | "available"
  | "running"
  | "waiting"
  | "completed"
  | "failed"
  | "cancelled"
  | (string & {});

/** A job as the API describes it: server/openapi.json has all of its fields. Integers of 64 bits are texts. */
export interface JobDocument {
  id: string;
  namespace: string;
  queue: string;
  kind: string;
  state: State;
  reason: string | null;
  error: string | null;
  priority: number;
  args: any;
  result: any;
  metadata: any;
  tags: string[] | null;
  created_at: string | null;
  run_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  attempt: number;
  max_attempts: number | null;
  timeout: string | null;
  deadline: string | null;
  lease_number: string | null;
  parent: string | null;
  [field: string]: any;
}

/** A job as an enqueue has made it, or found it; and by its id alone. */
export class Job<Result = unknown> {
  private constructor();
  readonly id: string;
  /** It was there before: its id, or its unique key, is that of an earlier one. */
  readonly existing: boolean;
  /** Why enqueueMany could not store it, as a stable code; null: it could. */
  readonly code: string | null;
  /** The same for people. */
  readonly error: string | null;
  get(): Promise<JobDocument>;
  /** Waits until it has finished. Throws JobEnded if it has failed or was cancelled, and WaitTimeout. */
  result(options?: WaitOptions): Promise<Result>;
  /** Cancels it: if it runs it is asked to stop. */
  cancel(reason?: string): Promise<{ id: string; state: State | null }>;
  /** Lets it run now, if it has finished or waits for its next attempt. */
  retry(): Promise<{ id: string; state: State | null }>;
  /** Sends a signal to a durable job. Of signals with the same key one counts. */
  signal<Payload>(
    name: string | Signal<Payload>,
    ...rest: Call<Payload, { key?: string }>
  ): Promise<{ duplicate: boolean }>;
}

/** A client of a server. */
export class Client {
  constructor(options?: ClientOptions);
  readonly namespace: string;
  /** Enqueues a job. If an answer is lost the request is repeated, and makes no second job. */
  enqueue<Args = unknown, Result = unknown>(
    kind: string | Kind<Args, Result>,
    ...rest: Call<Args, EnqueueOptions>
  ): Promise<Job<Result>>;
  /**
   * Enqueues up to 1000 jobs at once, and returns them in their order. Those that can be stored
   * are, together; if others cannot NotAllEnqueued is thrown, which has all of them. If the request
   * itself is wrong, none is.
   */
  enqueueMany(jobs: Iterable<NewJob>): Promise<Job[]>;
  /** Returns a job by its id, without asking the server. */
  job<Result = unknown>(id: string): Job<Result>;
  get(id: string): Promise<JobDocument>;
  /** Yields jobs, newest first, page by page. */
  list(options?: ListOptions): AsyncGenerator<JobDocument, void, undefined>;
  result<Result = unknown>(job: string | Job<Result>, options?: WaitOptions): Promise<Result>;
  cancel(id: string, reason?: string): Promise<{ id: string; state: State | null }>;
  retry(id: string): Promise<{ id: string; state: State | null }>;
  signal<Payload>(
    id: string,
    name: string | Signal<Payload>,
    ...rest: Call<Payload, { key?: string }>
  ): Promise<{ duplicate: boolean }>;
}

// Workers.

export interface WorkerOptions {
  /** How many jobs it runs at once; 10 without it, and 1000 at the most. */
  slots?: number;
  /** Names, or mail-*; without it all queues of the client's namespace. */
  queues?: string[];
  /** As others see it; without it that of the machine and the process. */
  name?: string;
  version?: string;
  /** For how long it may be silent before its jobs run elsewhere, as others are told. */
  deadAfter?: Duration;
  /** For how long runs may go on once the worker is to stop; then they are given back. 30 s without it. */
  stopTimeout?: Duration;
}

/** A job as a worker gets it. Integers of 64 bits are texts. */
export interface WorkerJob {
  lease: string;
  id: string;
  namespace: string;
  queue: string;
  kind: string;
  version: string | null;
  priority: number;
  args: unknown;
  metadata: any;
  tags: string[];
  attempt: number;
  max_attempts: number;
  /** Grows with each run of the job: fence by it what must not be done by a run that was lost. */
  lease_number: string;
  created_at: string | null;
  run_at: string | null;
  claimed_at: string | null;
  timeout: string | null;
  deadline: string | null;
  ordering_key: string | null;
  key: string | null;
  parent: string | null;
  batch: string | null;
  traceparent: string | null;
  tracestate: string | null;
  checkpoint: { percent: number; message: string | null; value: any; updated_at: string | null } | null;
  durable: boolean;
  cancel_requested: boolean;
  cancel_reason: string | null;
}

/** One attempt of a job, for its handler. */
export interface Run<Args = any> {
  /** The job as the API describes it. */
  readonly job: WorkerJob;
  readonly id: string;
  readonly kind: string;
  readonly queue: string;
  readonly args: Args;
  readonly attempt: number;
  readonly maxAttempts: number;
  /** What the attempt before has left with progress, or null. */
  readonly checkpoint: any;
  /** Aborts when the job was cancelled, the attempt takes too long, or the run is the job's no more. */
  readonly signal: AbortSignal;
  /** The job is not this run's any more: what it does may be done twice. */
  readonly lost: boolean;
  /** Throws what stops the run, if something does: Cancelled or AttemptTimeout. Let them through. */
  check(): void;
  /** Says how far the run is; value is what the next attempt finds as its checkpoint. */
  progress(said: { percent?: number; message?: string; value?: unknown }): Promise<void>;
}

/** Runs the jobs of its kinds, once. */
export class Worker {
  constructor(client: Client, options?: WorkerOptions);
  readonly client: Client;
  readonly slots: number;
  readonly name: string;
  /** Adds the handler of a kind. What it returns is the result; what it throws says what becomes of the job. */
  handle<Args = any, Result = unknown>(
    kind: string | Kind<Args, Result>,
    act: (run: Run<Args>, args: Args) => Result | Promise<Result>,
  ): this;
  /** Adds the durable function of a kind. What it does with its context is remembered. */
  function<Args = any, Result = unknown>(
    kind: string | Kind<Args, Result>,
    act: (context: Context, args: Args) => Result | Promise<Result>,
  ): this;
  /** Runs jobs until stop is called, or SIGTERM or SIGINT comes, unless signals is false. */
  run(options?: { signals?: boolean }): Promise<void>;
  /** Lets the worker stop, as SIGTERM does. run returns once it has. */
  stop(): void;
}

// Durable functions.

/** What the function of a step gets. */
export interface StepInfo {
  readonly attempt: number;
  /** As that of the run: give it to what takes long. */
  readonly signal: AbortSignal;
  /** A name of the step for outside systems: the same on every attempt. */
  readonly idempotencyKey: string;
}

export interface StepOptions {
  /** How often it is tried; once without it. */
  attempts?: number;
  /** The pause after the first failure, which doubles with each; 1 s without it. */
  backoff?: Duration;
  /** 1 h without it. */
  longestBackoff?: Duration;
  /** Whether an error is worth another try; each is without it, but Permanent. */
  retryIf?: (error: unknown) => boolean;
}

export interface WaitSignalOptions<Payload> {
  /** After which WaitTimeout is thrown. Without it the wait may take any time. */
  timeout?: Duration;
  /** Makes something else of the payload. If it throws, the signal is received all the same: MessageInvalid. */
  decode?: (payload: any) => Payload | Promise<Payload>;
}

/** A job that a function has started. */
export interface Child<Result = unknown> {
  readonly id: string;
  readonly kind: string;
  /** Waits for its end. Throws JobEnded if it has failed or was cancelled. */
  result(): Promise<Result>;
}

/**
 * The run of a durable function: its operations are remembered by their order. Await each before
 * the next one, and call none in the function of a step.
 */
export interface Context {
  readonly job: WorkerJob;
  readonly id: string;
  readonly kind: string;
  readonly queue: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Aborts when the job was cancelled, the attempt takes too long, or the run is the job's no more. */
  readonly abortSignal: AbortSignal;
  /**
   * Calls a function, and remembers the JSON that it returns. Once that is stored it is not called
   * again; until then it may be called more than once. A failure is a StepFailed. One that the
   * function catches is remembered; one that it lets through fails the attempt of the job, and the
   * step is tried again with it.
   */
  step<Result>(name: string, act: (info: StepInfo) => Result | Promise<Result>, options?: StepOptions): Promise<Result>;
  /** Sleeps, without a slot if it is long. */
  sleep(duration: Duration): Promise<void>;
  sleepUntil(at: Date): Promise<void>;
  /** Waits for the next signal of a name, and returns its payload. */
  waitSignal<Payload = unknown>(name: string | Signal<Payload>, options?: WaitSignalOptions<Payload>): Promise<Payload>;
  /** Starts a job as a child, once. */
  child<Args = unknown, Result = unknown>(
    kind: string | Kind<Args, Result>,
    ...rest: Call<Args, ChildOptions>
  ): Promise<Child<Result>>;
  /** Starts a child, and waits for its result. */
  call<Args = unknown, Result = unknown>(
    kind: string | Kind<Args, Result>,
    ...rest: Call<Args, ChildOptions>
  ): Promise<Result>;
  /** Sends a signal to another job, once. If that cannot be, the error is a StepFailed. */
  signal<Payload>(
    job: string | { id: string },
    name: string | Signal<Payload>,
    ...rest: undefined extends Payload ? [payload?: Payload] : [payload: Payload]
  ): Promise<void>;
  /** Sets the value of a key that clients can read. */
  publish(key: string, value: PublishedValue): Promise<void>;
  /** Adds an item to a stream that clients can read. */
  append(stream: string, value: PublishedValue): Promise<void>;
  /** Returns the time, the same on every replay. */
  now(): Promise<Date>;
  /** Returns a UUID, the same on every replay. */
  uuid(): string;
  /** Whether the run takes part in a change of its code: it had not gone past this place before. */
  patched(change: string): boolean;
  /** Names a step of this run for outside systems: the same on every attempt. May be used in a step. */
  idempotencyKey(step: string): string;
  /** Throws what stops the run, if something does. May be used in a step. */
  check(): void;
  /** Says how far the run is, for people. May be used in a step. */
  progress(said: { percent?: number; message?: string }): Promise<void>;
}

// What goes wrong.

/** A place in a request, and what is wrong there. */
export interface FieldError {
  pointer: string;
  detail: string;
}

/** A request that was refused, or has failed. */
export class HoldfastError extends Error {
  constructor(detail: string, about?: { status?: number; code?: string; errors?: FieldError[]; cause?: unknown });
  /** That of HTTP; 0 if no server has answered. */
  readonly status: number;
  /** The stable code of the problem, such as "not_found". */
  readonly code: string;
  /** What is wrong where; the message has the first of them. */
  readonly errors: FieldError[];
}

/** The request cannot be: an argument is wrong. */
export class Invalid extends HoldfastError {}
/** The credential may not do this. */
export class Forbidden extends HoldfastError {}
/** The credential is missing, or not valid, as may be for a moment while it is replaced. */
export class Unauthenticated extends Forbidden {}
/** There is no such thing, or not for this credential. */
export class NotFound extends HoldfastError {}
/** Something is in a state in which this cannot be done. */
export class Conflict extends HoldfastError {}
/** The run is not the job's any more: it runs elsewhere, or has ended. */
export class LeaseLost extends Conflict {}
/** The job remembers all it may: split the work into children. */
export class JournalFull extends Conflict {}
/** The worker was declared dead, or has left. */
export class WorkerGone extends HoldfastError {}
/** No server has answered, or none could: try again later. */
export class Unavailable extends HoldfastError {
  /** After how many milliseconds the server wants to be asked again. */
  retryAfter: number;
  /** Something has answered that is not Holdfast: it stands before the server, or the URL is wrong. */
  isForeign: boolean;
}

/** A job that was waited for has failed, or was cancelled. */
export class JobEnded extends Error {
  constructor(jobId: string, state: string, reason: string | null, error: string | null);
  readonly jobId: string;
  readonly state: string;
  readonly reason: string | null;
  readonly error: string | null;
}

/** Some jobs of enqueueMany could not be stored; the others were. */
export class NotAllEnqueued extends Error {
  constructor(jobs: Job[]);
  /** All of them, in their order. */
  readonly jobs: Job[];
}

/** A step has failed, the same when it happens and when it is replayed. */
export class StepFailed extends Error {
  constructor(failure: { step: string; message: string; type?: string; attempts: number; permanent?: boolean });
  readonly step: string;
  /** The text of its error. */
  readonly detail: string;
  /** The type of its error. */
  readonly kind: string;
  readonly attempts: number;
  /** Trying again does not help. */
  readonly permanent: boolean;
}

/** What was waited for did not come in time. */
export class WaitTimeout extends Error {}
/** The attempt has taken longer than the timeout of its job. */
export class AttemptTimeout extends Error {}
/** Operations of a durable function were not awaited one after the other, or nested. */
export class Misuse extends Error {}

/** A signal that was received could not be decoded. */
export class MessageInvalid extends Error {
  constructor(signal: string, seq: number, problem: string);
  readonly signal: string;
  /** The number of the message. */
  readonly seq: number;
  readonly problem: string;
}

/** Thrown by a handler: the job has failed, and no other attempt helps. Thrown by a step: no other try does. */
export class Permanent extends Error {
  constructor(message?: string, options?: { cause?: unknown });
}

/** Thrown by a handler, or by check: the job is to be cancelled. */
export class Cancelled extends Error {
  constructor(message?: string, options?: { cause?: unknown });
}

/** Thrown by a handler: the attempt has failed, and the next one comes after this. The same of a step and its try. */
export class RetryAfter extends Error {
  constructor(after: Duration, message?: string, options?: { cause?: unknown });
  /** In milliseconds. */
  readonly after: number;
}

/** Thrown by a handler: the job runs again after this, or then, and the attempt does not count. */
export class Snooze extends Error {
  constructor(when: Duration | Date, reason?: string);
  /** In milliseconds, or the time. */
  readonly when: number | Date;
  readonly reason: string;
}
