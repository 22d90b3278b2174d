// Made by web/build of server/openapi.json; do not edit.

export interface APIKey {
  created_at: string | null;
  created_by: string | null;
  expires_at: string | null;
  id: string;
  last_used_at: string | null;
  name: string;
  namespace: string | null;
  revoked_at: string | null;
  revoked_by: string | null;
  role: string | null;
  scopes: string[] | null;
}

export interface Action {
  action: string;
  actor: string | null;
  at: string | null;
  reason: string | null;
}

export interface Answered {
  answer: string;
  token: string;
}

export interface Attempt {
  build: Build | null;
  claimed_at: string | null;
  ended_at: string | null;
  error: string | null;
  lease_number: string | null;
  node: string | null;
  number: number;
  outcome: string;
  reason: string | null;
  started_at: string | null;
  trace: string | null;
}

export interface AttemptList {
  items: Attempt[];
}

export interface Attempts {
  backoff: Backoff | null;
  heartbeat_timeout: string | null;
  max_attempts: number | null;
  retention: string | null;
  set_at: string | null;
  set_by: string | null;
  timeout: string | null;
}

export interface Attribute {
  declared_at: string | null;
  leaving: boolean;
  name: string;
  namespace: string;
  type: string;
}

export interface AttributeList {
  items: Attribute[];
}

export interface AuditEntry {
  action: string;
  actor: string | null;
  after: Record<string, unknown> | null;
  at: string | null;
  before: Record<string, unknown> | null;
  detail: string | null;
  id: string;
  namespace: string | null;
  target: AuditTarget;
}

export interface AuditTarget {
  kind: string | null;
  name: string | null;
}

export interface Backfill {
  enqueued: number;
  exact: boolean;
  first: (string | null)[] | null;
  namespace: string;
  number: string | null;
  schedule: string;
  skipped: number;
  times: number;
}

export interface Backoff {
  base: string | null;
  cap: string | null;
  jitter: number;
}

export interface Batch {
  calls: BatchCall[] | null;
  cancelled: string;
  closed_at: string | null;
  completed: string;
  counted: string;
  created_at: string | null;
  done_at: string | null;
  failed: string;
  id: string;
  name: string | null;
  namespace: string;
  state: string;
}

export interface BatchCall {
  id: string;
  kind: string;
  when: string;
}

export interface BatchCancelInBody {
  reason?: string;
}

export interface BatchCreate {
  id?: string;
  name?: string;
  on_end?: NewJob[];
  on_failure?: NewJob[];
  on_success?: NewJob[];
}

export interface BatchResult {
  cancelled: number;
  completed: number;
  failed: number;
  id: string;
}

export interface Build {
  engine: string | null;
  program: string | null;
}

export interface CallbackCompleteInBody {
  payload?: unknown;
}

export interface CallbackFailInBody {
  message: string;
}

export interface Caller {
  name: string;
  namespace: string;
  namespaces: string[] | null;
  read_only: boolean;
  scopes: string[];
  store: string;
}

export interface CancelInBody {
  reason?: string;
}

export interface CancelledBatch {
  asked: number;
  batch: string;
  namespace: string;
}

export interface Cause {
  code: string;
  job: string | null;
  limit: string | null;
  node: string | null;
  text: string;
  until: string | null;
}

export interface ChangeInBody {
  reason?: string;
}

export interface Changed {
  error: string | null;
  id: string;
  state: string | null;
}

export interface Checkpoint {
  message: string | null;
  percent: number;
  updated_at: string | null;
  value: unknown;
}

export interface ClockChange {
  at: string | null;
  effect: string;
}

export interface CompleteInBody {
  result?: unknown;
}

export interface Count {
  exact: boolean;
  jobs: number;
}

export interface CreateInBody {
  callback?: string;
  headers?: Record<string, string>;
  kind: string;
  timeout?: string;
  url: string;
}

export interface CreateWebhookInBody {
  events?: string[];
  filter?: string;
  headers?: Record<string, string>;
  kinds?: string[];
  name: string;
  queues?: string[];
  timeout?: string;
  url: string;
}

export interface CreatedAPIKey {
  created_at: string | null;
  created_by: string | null;
  expires_at: string | null;
  id: string;
  last_used_at: string | null;
  name: string;
  namespace: string | null;
  revoked_at: string | null;
  revoked_by: string | null;
  role: string | null;
  scopes: string[] | null;
  secret: string;
}

export interface CreatedEndpoint {
  callback: string | null;
  created_at: string | null;
  created_by: string | null;
  headers: string[] | null;
  kind: string;
  secret: string;
  timeout: string | null;
  updated_at: string | null;
  updated_by: string | null;
  url: string;
}

export interface CreatedWebhook {
  created_at: string | null;
  created_by: string | null;
  disabled: string | null;
  events: string[] | null;
  filter: string | null;
  headers: string[] | null;
  id: string;
  kinds: string[] | null;
  name: string;
  queues: string[] | null;
  secret: string;
  timeout: string | null;
  updated_at: string | null;
  updated_by: string | null;
  url: string;
}

export interface DeadChange {
  all?: boolean;
  dry_run?: boolean;
  failed_after?: string;
  failed_before?: string;
  fingerprint?: string[];
  kind?: string[];
  queue?: string[];
  reason?: string;
  tag?: string[];
}

export interface DeadChanged {
  complete: boolean;
  done: number;
  failed: number;
  more: boolean;
  refused: DeadRefused[];
}

export interface DeadGroup {
  count: Count;
  error: string | null;
  fingerprint: string;
  first_seen: string | null;
  job: string;
  kind: string;
  last_seen: string | null;
  queues: string[] | null;
  reason: string | null;
}

export interface DeadGroups {
  items: DeadGroup[];
  more: boolean;
  next_cursor: string | null;
}

export interface DeadRefused {
  code: string;
  error: string;
  job: string;
}

export interface DeclareInBody {
  attributes: NewAttribute[];
}

export interface Delivery {
  attempt: number;
  created_at: string | null;
  error: string | null;
  event: string;
  finished_at: string | null;
  id: string;
  next_at: string | null;
  state: string;
  type: string;
}

export interface Descriptor {
  args: unknown;
  at: string | null;
  build: Build | null;
  deprecated: string | null;
  description: string | null;
  example: unknown;
  link: string | null;
  owner: string | null;
  result: unknown;
  signals: string[];
  updates: string[];
}

export interface Difference {
  declared: unknown;
  is: unknown;
  setting: string;
}

export interface EditInBody {
  args?: unknown;
  attributes?: Record<string, unknown>;
  backoff?: NewBackoff;
  deadline?: string;
  delay?: string;
  heartbeat_timeout?: string;
  max_attempts?: number;
  metadata?: Record<string, unknown>;
  priority?: number;
  queue?: string;
  reason?: string;
  run_at?: string;
  tags?: string[];
  timeout?: string;
}

export interface EffectiveNumber {
  declared: number | null;
  effective: number | null;
  said_by: string;
}

export interface EffectiveOfBackoff {
  declared: Backoff | null;
  effective: Backoff;
  said_by: string;
  waits: (string | null)[] | null;
}

export interface EffectiveSpan {
  declared: string | null;
  effective: string | null;
  said_by: string;
}

export interface Endpoint {
  callback: string | null;
  created_at: string | null;
  created_by: string | null;
  headers: string[] | null;
  kind: string;
  timeout: string | null;
  updated_at: string | null;
  updated_by: string | null;
  url: string;
}

export interface EnqueueBatchInBody {
  jobs: NewJob[];
}

export interface Enqueued {
  differs: boolean;
  existing: boolean;
  id: string;
  replaced: boolean;
}

export interface EnqueuedBatch {
  jobs: EnqueuedItem[];
}

export interface EnqueuedItem {
  code: string | null;
  differs: boolean;
  error: string | null;
  existing: boolean;
  id: string;
  replaced: boolean;
}

export interface EventChange {
  at: string | null;
  fingerprint: string | null;
  job: string;
  kind: string | null;
  namespace: string | null;
  position: string;
  queue: string | null;
  reason: string | null;
  state: string;
}

export interface EventFeed {
  newest: string | null;
  oldest: string | null;
  on: boolean;
  since: string | null;
}

export interface EventPage {
  items: EventChange[];
  more: boolean;
  next: string;
}

export interface FailInBody {
  error: string;
}

export interface Field {
  detail: string;
  pointer: string;
}

export interface ForkInBody {
  args?: unknown;
  from?: string;
  id?: string;
  reason?: string;
}

export interface Forked {
  forked_from: string;
  id: string;
}

export interface Holder {
  node: string | null;
  slots: number;
}

export interface Job {
  actions: Action[] | null;
  args: unknown;
  attempt: number;
  attempts: Attempt[] | null;
  attributes: unknown;
  backoff: Backoff | null;
  batch: string | null;
  blocked: boolean;
  build: Build | null;
  called: BatchResult | null;
  cancel_requested: boolean;
  checkpoint: Checkpoint | null;
  claimed_at: string | null;
  closing: boolean;
  codec: number;
  created_at: string | null;
  deadline: string | null;
  error: string | null;
  fair_key: string | null;
  fingerprint: string | null;
  finished_at: string | null;
  follows: string | null;
  heartbeat_timeout: string | null;
  id: string;
  journal: number | null;
  keep_key: string | null;
  keep_turn: boolean;
  key: string | null;
  kind: string;
  lease_number: string | null;
  limit: string | null;
  limit_key: string | null;
  max_attempts: number | null;
  messages: number | null;
  metadata: unknown;
  namespace: string;
  node: string | null;
  nominal: string | null;
  of_kind: string[] | null;
  on_parent_close: string;
  ordering_key: string | null;
  parent: string | null;
  pause_requested: boolean;
  predecessors: Predecessor[] | null;
  priority: number;
  queue: string;
  reason: string | null;
  result: unknown;
  result_codec: number;
  run_at: string | null;
  source: string | null;
  started_at: string | null;
  state: string;
  tags: string[] | null;
  timeout: string | null;
  traceparent: string | null;
  tracestate: string | null;
  unique: boolean;
  version: string | null;
  wait: Wait | null;
  why: Cause[] | null;
}

export interface JobCount {
  count: number;
  more: boolean;
}

export interface JobResult {
  error: string | null;
  id: string;
  reason: string | null;
  result: unknown;
  state: string;
}

export interface JournalEntry {
  at: string | null;
  data: unknown;
  kind: string;
  lease: string | null;
  message: string | null;
  name: string | null;
  path: string;
  seq: string | null;
  took: string | null;
}

export interface JournalMessage {
  at: string | null;
  data: unknown;
  error: string | null;
  from: string | null;
  kind: string;
  name: string | null;
  reason: string | null;
  seq: string | null;
  state: string | null;
  unread: boolean;
}

export interface Kind {
  name: string;
  nodes: string[] | null;
  unserved: Unserved[] | null;
  versions: string[] | null;
}

export interface KindAttempts {
  backoff: EffectiveOfBackoff;
  heartbeat_timeout: EffectiveSpan;
  kind: string;
  max_attempts: EffectiveNumber;
  nodes: (string | null)[] | null;
  timeout: EffectiveSpan;
}

export interface Limit {
  burst: number | null;
  capacity: number | null;
  created_at: string | null;
  declared: boolean;
  drained_until: string | null;
  drift: boolean;
  fair_share: boolean;
  held: number | null;
  holders: Holder[] | null;
  kinds: Record<string, number>;
  name: string;
  namespace: string;
  next_at: string | null;
  no_jobs: boolean;
  per_key: boolean;
  queues: string[] | null;
  rate: string | null;
  updated_at: string | null;
  wanted_at: string | null;
  wishes: Holder[] | null;
}

export interface LimitDrainInBody {
  for?: string;
  until?: string;
}

export interface LimitResumeInBody {
  reason?: string;
}

export interface LimitSet {
  burst?: number;
  capacity?: number;
  fair_share?: boolean;
  kinds?: Record<string, number>;
  no_jobs?: boolean;
  per_key?: boolean;
  queues?: string[];
  rate?: string;
}

export interface LogLine {
  attempt: number;
  attrs: unknown;
  cut: number | null;
  dropped: string | null;
  lease: string | null;
  level: string;
  message: string;
  number: string | null;
  time: string | null;
}

export interface LogList {
  items: LogLine[];
}

export interface MessageAnswer {
  answer: unknown;
  dedup_key: string;
  error: string | null;
  id: string;
  state: string;
  update: string;
}

export interface MessageItem {
  at: string | null;
  offset: string | null;
  value: unknown;
}

export interface MessageSignal {
  dedup_key?: string;
  name: string;
  payload?: unknown;
}

export interface MessageUpdateInBody {
  dedup_key?: string;
  payload?: unknown;
}

export interface Namespace {
  created_at: string | null;
  created_by: string | null;
  name: string;
  note: string | null;
}

export interface NamespaceDetails {
  created_at: string | null;
  created_by: string | null;
  jobs: Record<string, Count>;
  keys: number;
  limits: number;
  name: string;
  nodes: number;
  note: string | null;
  queues: number;
  schedules: number;
}

export interface NewAttribute {
  name: string;
  type: "keyword" | "int" | "float" | "bool" | "time";
}

export interface NewBackoff {
  base: string;
  cap: string;
}

export interface NewDependency {
  if_failed?: "cancel" | "run" | "hold";
  job: string;
}

export interface NewFollowUp {
  job: NewJob;
  on: "completed" | "failed" | "cancelled" | "any";
}

export interface NewJob {
  after?: NewDependency[];
  args?: unknown;
  attributes?: Record<string, unknown>;
  backoff?: NewBackoff;
  batch?: string;
  deadline?: string;
  delay?: string;
  fair_key?: string;
  follow_ups?: NewFollowUp[];
  heartbeat_timeout?: string;
  id?: string;
  keep_key?: string;
  keep_turn?: boolean;
  key?: string;
  kind: string;
  limit?: string;
  limit_key?: string;
  max_attempts?: number;
  metadata?: Record<string, unknown>;
  ordering_key?: string;
  priority?: number;
  queue?: string;
  run_at?: string;
  tags?: string[];
  timeout?: string;
  unique?: NewUnique;
}

export interface NewKey {
  expires_at?: string;
  name: string;
  namespace?: string;
  role?: string;
  scopes?: string[];
}

export interface NewNamespace {
  name: string;
  note?: string;
}

export interface NewOperation {
  action: "cancel" | "terminate" | "retry" | "pause" | "resume" | "move" | "priority" | "tag" | "delete";
  add?: string[];
  all?: boolean;
  dry_run?: boolean;
  expected_count?: number;
  filter?: OperationFilter;
  id?: string;
  ids?: string[];
  priority?: number;
  queue?: string;
  reason?: string;
  remove?: string[];
}

export interface NewUnique {
  args?: boolean;
  fields?: string[];
  key?: string;
  max_delay?: string;
  on_conflict?: "return" | "reject" | "replace";
  period?: string;
  queue?: boolean;
  while?: string[];
}

export interface NewWorker {
  dead_after?: string;
  journal?: number;
  kinds: string[] | null;
  name: string;
  namespace?: string;
  queues?: string[];
  slots: number;
  version?: string;
}

export interface NextTime {
  at: string | null;
  local: string;
}

export interface Node {
  alive: boolean;
  beat_at: string | null;
  dead_after: string | null;
  ended: string | null;
  ended_at: string | null;
  engine: string | null;
  host: string | null;
  id: string | null;
  kinds: string[] | null;
  leader: boolean;
  mode: string;
  mode_at: string | null;
  mode_by: string | null;
  name: string;
  namespace: string | null;
  queue_slots: Record<string, number>;
  queues: string[] | null;
  running: number;
  silent: boolean;
  slots: number;
  started_at: string | null;
  unwell: string[] | null;
  version: string | null;
}

export interface NodeAsked {
  mode: "running" | "quiet" | "draining";
  node: string | null;
}

export interface NodePage {
  items: Node[];
  led: boolean;
  next_cursor: string | null;
}

export interface Operation {
  action: string;
  actor: string | null;
  already: number;
  changed: number;
  created_at: string | null;
  error: string | null;
  expected: number;
  filter: unknown;
  finished_at: string | null;
  gone: number;
  id: string;
  matched: number;
  namespace: string;
  note: string | null;
  reason: string | null;
  refusals: OperationRefusal[] | null;
  refused: number;
  state: string;
}

export interface OperationFilter {
  args?: string[];
  attribute?: string[];
  batch?: string;
  created_after?: string;
  created_before?: string;
  fingerprint?: string[];
  finished_after?: string;
  finished_before?: string;
  kind?: string[];
  metadata?: string[];
  parent?: string;
  q?: string;
  queue?: string[];
  reason?: string[];
  root?: string;
  run_after?: string;
  run_before?: string;
  state?: string[];
  tag?: string[];
}

export interface OperationPreview {
  count: number;
  more: boolean;
  sample: Job[];
}

export interface OperationRefusal {
  error: string;
  job: string;
}

export interface OperationStarted {
  found: OperationPreview | null;
  operation: Operation | null;
}

export interface Overlap {
  overlap?: string;
}

export interface PageAPIKey {
  items: APIKey[];
  next_cursor: string | null;
}

export interface PageAuditEntry {
  items: AuditEntry[];
  next_cursor: string | null;
}

export interface PageBatch {
  items: Batch[];
  next_cursor: string | null;
}

export interface PageDelivery {
  items: Delivery[];
  next_cursor: string | null;
}

export interface PageEndpoint {
  items: Endpoint[];
  next_cursor: string | null;
}

export interface PageJob {
  items: Job[];
  next_cursor: string | null;
}

export interface PageJournalEntry {
  items: JournalEntry[];
  next_cursor: string | null;
}

export interface PageJournalMessage {
  items: JournalMessage[];
  next_cursor: string | null;
}

export interface PageKind {
  items: Kind[];
  next_cursor: string | null;
}

export interface PageLimit {
  items: Limit[];
  next_cursor: string | null;
}

export interface PageMessageItem {
  items: MessageItem[];
  next_cursor: string | null;
}

export interface PageNamespace {
  items: Namespace[];
  next_cursor: string | null;
}

export interface PageOperation {
  items: Operation[];
  next_cursor: string | null;
}

export interface PageQueue {
  items: Queue[];
  next_cursor: string | null;
}

export interface PageSchedule {
  items: Schedule[];
  next_cursor: string | null;
}

export interface PageScheduleRun {
  items: ScheduleRun[];
  next_cursor: string | null;
}

export interface PageStuckKey {
  items: StuckKey[];
  next_cursor: string | null;
}

export interface PageWebhook {
  items: Webhook[];
  next_cursor: string | null;
}

export interface Paused {
  namespace: string;
  new: boolean;
  paused: boolean;
  queue: string;
}

export interface Predecessor {
  if_failed: string;
  job: string;
  state: string | null;
}

export interface Problem {
  code: string;
  detail: string;
  errors?: Field[] | null;
  request_id: string;
  retryable: boolean;
  status: number;
  title: string;
  type: string;
}

export interface Queue {
  attempts: Attempts;
  counts: Record<string, Count>;
  created_at: string | null;
  name: string;
  namespace: string;
  oldest_due: string | null;
  paused: boolean;
  paused_at: string | null;
  paused_by: string | null;
  rest_level: number;
  rest_until: string | null;
}

export interface QueueBackoff {
  base: string;
  cap: string;
}

export interface QueueDrain {
  exact: boolean;
  jobs: number;
  operation: string | null;
}

export interface QueueDrainInBody {
  dry_run?: boolean;
  reason?: string;
  terminate?: boolean;
}

export interface QueueNode {
  id: string | null;
  kinds: string[] | null;
  name: string;
  slots: number;
}

export interface QueueRestInBody {
  for: string;
}

export interface QueueSet {
  backoff?: Record<string, unknown> | null;
  heartbeat_timeout?: string | null;
  max_attempts?: number | null;
  retention?: string | null;
  timeout?: string | null;
}

export interface RedriveInBody {
  all?: boolean;
  args?: unknown;
  delay?: string;
  dry_run?: boolean;
  failed_after?: string;
  failed_before?: string;
  fingerprint?: string[];
  kind?: string[];
  priority?: number;
  rate?: number;
  reason?: string;
  tag?: string[];
  to_queue?: string;
}

export interface RemovedJobs {
  day: string;
  jobs: string;
  queue: string;
  state: string;
  stubs: string;
}

export interface RemovedList {
  items: RemovedJobs[];
}

export interface Rested {
  namespace: string;
  queue: string;
  until: string | null;
}

export interface Retention {
  cancelled: string | null;
  completed: string | null;
  failed: string | null;
  name: string;
  set_at: string | null;
  set_by: string | null;
}

export interface RetentionList {
  items: Retention[];
}

export interface RunAppended {
  entries: RunMade[];
  job: string;
  last: number;
  now: string | null;
}

export interface RunAppends {
  after: number;
  entries: RunEntry[];
  repeat?: boolean;
}

export interface RunCancels {
  journal?: RunWrites;
  reason?: string;
  repeat?: boolean;
}

export interface RunCompletes {
  journal?: RunWrites;
  repeat?: boolean;
  result?: unknown;
}

export interface RunEnded {
  due: string | null;
  job: string;
  state: string;
}

export interface RunEntry {
  data?: unknown;
  for?: string;
  job?: NewJob;
  kind: "step" | "step failed" | "step retry" | "timer" | "timeout" | "received" | "child" | "callback" | "selected" | "value" | "patched" | "published" | "streamed" | "awaited";
  message?: number;
  name?: string;
  on_close?: "cancel" | "abandon" | "terminate";
  path?: string;
  signal?: RunSignal;
  took?: string;
}

export interface RunFails {
  error: string;
  journal?: RunWrites;
  kind?: string;
  permanent?: boolean;
  repeat?: boolean;
  retry_after?: string;
  stack?: string;
}

export interface RunHolds {
  reason: string;
  repeat?: boolean;
}

export interface RunJournal {
  entries: RunRemembered[];
  messages: RunMessage[];
  more: boolean;
  now: string | null;
}

export interface RunMade {
  data: unknown;
  name: string | null;
  seq: number;
}

export interface RunMessage {
  at: string | null;
  data: unknown;
  error: string | null;
  from: string | null;
  kind: string;
  name: string;
  reason: string | null;
  seq: number;
  state: string | null;
}

export interface RunOutcome {
  count?: number;
  do: "complete" | "fail" | "snooze" | "release" | "cancel" | "park" | "hold";
  error?: string;
  failures?: boolean;
  for?: string;
  journal?: RunWrites;
  kind?: string;
  lease: string;
  messages?: ("signal" | "callback" | "callback failed" | "heartbeat" | "child")[];
  permanent?: boolean;
  reason?: string;
  repeat?: boolean;
  result?: unknown;
  retry_after?: string;
  seen?: number;
  stack?: string;
  until?: string;
  waits_for?: string[];
}

export interface RunParks {
  count?: number;
  failures?: boolean;
  for?: string;
  journal?: RunWrites;
  messages?: ("signal" | "callback" | "callback failed" | "heartbeat" | "child")[];
  repeat?: boolean;
  seen?: number;
  until?: string;
  waits_for?: string[];
}

export interface RunProgress {
  message?: string;
  percent?: number;
  value?: unknown;
}

export interface RunProgressed {
  job: string;
}

export interface RunReleases {
  journal?: RunWrites;
  repeat?: boolean;
}

export interface RunRemembered {
  data: unknown;
  kind: string;
  message: number;
  name: string;
  path: string;
  seq: number;
}

export interface RunSettled {
  ended: RunEnded | null;
  error: Problem | null;
}

export interface RunSignal {
  dedup_key: string;
  job: string;
  name: string;
  payload?: unknown;
}

export interface RunSnoozes {
  for?: string;
  journal?: RunWrites;
  reason?: string;
  repeat?: boolean;
  until?: string;
}

export interface RunWrites {
  after: number;
  entries: RunEntry[];
}

export interface RunsInBody {
  outcomes: RunOutcome[];
}

export interface RunsSettled {
  runs: RunSettled[];
}

export interface Sample {
  at: string | null;
  name: string | null;
  node: string | null;
  values: Record<string, number>;
}

export interface Schedule {
  created_at: string | null;
  declared: boolean;
  drift: boolean;
  end: string | null;
  fired: string;
  fires_left: string | null;
  jitter: string | null;
  job: ScheduledJob;
  last_job: string | null;
  missed: string;
  name: string;
  namespace: string;
  next: string | null;
  note: string | null;
  overlap: string;
  paused: boolean;
  paused_at: string | null;
  paused_by: string | null;
  start: string | null;
  times: string;
  updated_at: string | null;
  window: string | null;
  words: string;
}

export interface ScheduleBackfillInBody {
  at_once?: boolean;
  dry_run?: boolean;
  from: string;
  number?: string;
  to: string;
}

export interface ScheduleCreate {
  at?: string;
  cron?: string;
  end?: string | null;
  every?: string;
  fires?: number | null;
  from?: string;
  jitter?: string;
  job: NewJob;
  missed?: "coalesce" | "catch-up" | "skip";
  name: string;
  note?: string;
  overlap?: "skip" | "allow" | "buffer-one" | "buffer-all" | "cancel-other" | "terminate-other";
  paused?: boolean;
  skip_gaps?: boolean;
  start?: string | null;
  tz?: string;
  window?: string;
}

export interface ScheduleJobEdit {
  args?: unknown;
  attributes?: Record<string, unknown>;
  backoff?: NewBackoff;
  heartbeat_timeout?: string;
  max_attempts?: number;
  metadata?: Record<string, unknown>;
  ordering_key?: string;
  priority?: number;
  queue?: string;
  tags?: string[];
  timeout?: string;
}

export interface SchedulePauseInBody {
  note?: string;
}

export interface SchedulePreview {
  clock_change: ClockChange | null;
  next_times: NextTime[];
  words: string;
}

export interface SchedulePreviewInBody {
  after?: string;
  at?: string;
  cron?: string;
  end?: string;
  every?: string;
  from?: string;
  limit?: number;
  name?: string;
  skip_gaps?: boolean;
  start?: string;
  tz?: string;
}

export interface ScheduleRun {
  at: string | null;
  job: string | null;
  nominal: string | null;
  number: string | null;
  state: string;
}

export interface ScheduleUpdate {
  at?: string;
  cron?: string;
  end?: string | null;
  every?: string;
  fires?: number | null;
  from?: string;
  jitter?: string;
  job?: ScheduleJobEdit;
  missed?: "coalesce" | "catch-up" | "skip";
  overlap?: "skip" | "allow" | "buffer-one" | "buffer-all" | "cancel-other" | "terminate-other";
  reset?: boolean;
  skip_gaps?: boolean;
  start?: string | null;
  tz?: string;
  window?: string;
}

export interface ScheduledJob {
  args: unknown;
  attributes: unknown;
  backoff: Backoff | null;
  codec: number;
  fair_key: string | null;
  heartbeat_timeout: string | null;
  keep_key: string | null;
  key: string | null;
  kind: string;
  limit: string | null;
  limit_key: string | null;
  max_attempts: number | null;
  metadata: unknown;
  ordering_key: string | null;
  priority: number;
  queue: string;
  tags: string[] | null;
  timeout: string | null;
}

export interface Sent {
  dedup_key: string | null;
  duplicate: boolean;
  id: string;
  message: string | null;
  signal: string;
}

export interface SentDelivery {
  id: string;
}

export interface SetInBody {
  cancelled?: string;
  completed?: string;
  failed?: string;
}

export interface SetQueue {
  attempts: Attempts;
  namespace: string;
  queue: string;
}

export interface StartOverInBody {
  args: unknown;
  reason?: string;
}

export interface StatsLatency {
  count: string;
  max_seconds: number;
  mean_seconds: number;
  p50_seconds: number;
  p90_seconds: number;
  p99_seconds: number;
}

export interface StatsPoint {
  at: string | null;
  cancelled: string;
  completed: string;
  failed: string;
  kind: string | null;
  lost: string;
  other: boolean;
  parked: string;
  per_second: number;
  queue: string | null;
  released: string;
  retried: string;
  run: StatsLatency | null;
  seconds: number;
  started: string;
  wait: StatsLatency | null;
}

export interface StatsPoints {
  items: StatsPoint[];
}

export interface StatsSamples {
  items: Sample[];
}

export interface StuckKey {
  job: string;
  key: string;
  namespace: string;
  queue: string;
  reason: string | null;
  since: string | null;
  waiting: Count;
}

export interface TagInBody {
  add?: string[];
  reason?: string;
  remove?: string[];
}

export interface Unserved {
  kind: string;
  known: boolean;
  oldest_due: string | null;
  queue: string;
  version: string | null;
}

export interface UpdateInBody {
  callback?: string | null;
  headers?: Record<string, string> | null;
  timeout?: string | null;
  url?: string | null;
}

export interface UpdateWebhookInBody {
  enabled?: boolean;
  events?: string[] | null;
  filter?: string | null;
  headers?: Record<string, string> | null;
  kinds?: string[] | null;
  queues?: string[] | null;
  timeout?: string | null;
  url?: string | null;
}

export interface Wait {
  error: string | null;
  for: unknown;
  handed_over: boolean;
  held: boolean;
  reason: string | null;
  since: string | null;
  until: string | null;
}

export interface Webhook {
  created_at: string | null;
  created_by: string | null;
  disabled: string | null;
  events: string[] | null;
  filter: string | null;
  headers: string[] | null;
  id: string;
  kinds: string[] | null;
  name: string;
  queues: string[] | null;
  timeout: string | null;
  updated_at: string | null;
  updated_by: string | null;
  url: string;
}

export interface WholeKind {
  descriptor: Descriptor | null;
  name: string;
  nodes: string[] | null;
  unserved: Unserved[] | null;
  versions: string[] | null;
}

export interface WholeQueue {
  attempts: Attempts;
  counts: Record<string, Count>;
  created_at: string | null;
  descriptor: Descriptor | null;
  kinds: KindAttempts[] | null;
  limit: Limit | null;
  name: string;
  namespace: string;
  nodes: QueueNode[] | null;
  oldest_due: string | null;
  paused: boolean;
  paused_at: string | null;
  paused_by: string | null;
  rest_level: number;
  rest_until: string | null;
  unserved: Unserved[] | null;
}

export interface WholeSchedule {
  clock_change: ClockChange | null;
  created_at: string | null;
  declared: boolean;
  differences: Difference[];
  drift: boolean;
  end: string | null;
  fired: string;
  fires_left: string | null;
  jitter: string | null;
  job: ScheduledJob;
  last_job: string | null;
  missed: string;
  name: string;
  namespace: string;
  next: string | null;
  next_times: NextTime[];
  note: string | null;
  overlap: string;
  paused: boolean;
  paused_at: string | null;
  paused_by: string | null;
  runs: ScheduleRun[];
  start: string | null;
  times: string;
  updated_at: string | null;
  window: string | null;
  words: string;
}

export interface Why {
  id: string;
  state: string | null;
  why: Cause[] | null;
}

export interface WorkerBeat {
  cancel: WorkerCancel[];
  lost: string[];
  mode: "running" | "quiet" | "draining";
  pause: string[];
}

export interface WorkerBeats {
  polling?: number;
  running?: string[];
}

export interface WorkerCancel {
  actor: string | null;
  lease: string;
  reason: string | null;
}

export interface WorkerCheckpoint {
  message: string | null;
  percent: number;
  updated_at: string | null;
  value: unknown;
}

export interface WorkerJob {
  args: unknown;
  attempt: number;
  batch: string | null;
  cancel_reason: string | null;
  cancel_requested: boolean;
  checkpoint: WorkerCheckpoint | null;
  claimed_at: string | null;
  created_at: string | null;
  deadline: string | null;
  durable: boolean;
  id: string;
  key: string | null;
  kind: string;
  lease: string;
  lease_number: string;
  max_attempts: number;
  metadata: unknown;
  namespace: string;
  ordering_key: string | null;
  parent: string | null;
  priority: number;
  queue: string;
  run_at: string | null;
  tags: string[];
  timeout: string | null;
  traceparent: string | null;
  tracestate: string | null;
  version: string | null;
}

export interface WorkerLeft {
  node: string | null;
}

export interface WorkerPoll {
  jobs: WorkerJob[];
  mode: "running" | "quiet" | "draining";
}

export interface WorkerPolls {
  repeat?: boolean;
  seq: number;
  want: number;
}

export interface WorkerRegistered {
  beat_every: string | null;
  dead_after: string | null;
  node: string | null;
  worker: string;
}
