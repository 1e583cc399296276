import {
  LOCAL_API,
  MAX_BATCH_BYTES,
  MAX_BUNDLE_BYTES,
  MAX_GRANT_BYTES,
  type AgentStatus,
  type BreakGlassResult,
  type LimitMechanisms,
  type LocalAccessList,
  type LocalAccessResult,
  type LocalRulesResult,
  type LogVerification,
  type PolicyListLine,
  type SandboxResult,
  type StagedList,
  type StagedResult,
  type SyncResult,
} from '@palisade/protocol'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ListedDecision, ListedExplanation } from '../decision/listed-rules.ts'
import type { LoopTurns } from '../http/loop-turns.ts'
import { connectionOf } from '../http/paced-connection.ts'
import type { LogQuery } from '../records/stream-log.ts'
import { answerBatch, splitBatch } from './batch.ts'
import type { Refusal } from './envelope.ts'
import type { AdmitCaller } from './peers.ts'
import { joinLines } from './join-lines.ts'
import { readLogQuery } from './read-log-query.ts'
import {
  readRequestBody,
  readRequestBytes,
  readRequestChunks,
  type RequestBody,
} from './read-request.ts'
import { sendJson } from './send-json.ts'
import { streamAnswer, type StreamReader } from './stream-answer.ts'

/** Answers to questions, which change no state of this machine. */
export interface QuestionDeps {
  readonly decide: (request: unknown) => Promise<ListedDecision>
  /** Decides a line of a batch. */
  readonly decideUnresolved: (request: unknown) => ListedDecision
  readonly explain: (request: unknown) => Promise<ListedExplanation>
  readonly status: () => AgentStatus
  /** The rules of this machine, computed while they are sent. */
  readonly policies: () => Iterable<PolicyListLine>
  /** Lines of the decision records, each with its line feed. */
  readonly log: (query: LogQuery, reader: StreamReader) => AsyncIterable<string>
  /** Asks the organization for access; the request is parsed here. */
  readonly requestAccess: (request: unknown) => Promise<LocalAccessResult>
  readonly accessRequests: () => Promise<LocalAccessList>
  /** A caller that does not read its answer within this time is disconnected. */
  readonly flushTimeoutMs: number
}

export interface RouteDeps extends QuestionDeps {
  /** Absent where the mode of the socket admits its owner only. */
  readonly admit?: AdmitCaller | undefined
  readonly addDeny: (request: unknown) => Promise<LocalRulesResult>
  readonly removeDenies: (request: unknown) => Promise<LocalRulesResult>
  readonly sync: () => Promise<SyncResult>
  /** The chunks of a bundle file, at most `MAX_BUNDLE_BYTES` long. */
  readonly import: (body: readonly Uint8Array[]) => Promise<SyncResult>
  /** A grant file, at most `MAX_GRANT_BYTES` long. */
  readonly beginBreakGlass: (body: Uint8Array) => Promise<BreakGlassResult>
  readonly endBreakGlass: () => Promise<BreakGlassResult>
  readonly startSandbox: (request: unknown) => Promise<SandboxResult>
  readonly sandboxLimits: () => LimitMechanisms
  readonly staged: {
    readonly list: () => Promise<StagedList>
    readonly show: (request: unknown) => Promise<StagedResult>
    readonly apply: (request: unknown) => Promise<StagedResult>
    readonly discard: (request: unknown) => Promise<StagedResult>
  }
  readonly verifyLog: () => Promise<LogVerification>
}

/** Throws `Refused`. `query` is empty without a question mark. */
type Answer = (request: IncomingMessage, response: ServerResponse, query: string) => Promise<void>

export interface Route {
  readonly method: 'GET' | 'POST'
  readonly answer: Answer
  /** `owner`: only the user of the agent may call it, also where all users reach the socket. */
  readonly callers: 'all' | 'owner'
  /**
   * Most requests at once; `closeIdleClients` spares their connections. 0 for a route that answers
   * at once.
   */
  readonly maxRequests: number
  /** Whether the path may have a query. */
  readonly takesQuery?: true
}

/** Limit of callers that wait for a fetch attempt, which all of them share. */
const MAX_SYNCS = 64
/** Each may hold `MAX_BUNDLE_BYTES`. */
const MAX_IMPORTS = 2
const MAX_GRANTS = 8
/** Each change is written to disk in its turn. */
const MAX_CHANGES = 8
/** Each may walk a large workspace. */
const MAX_SANDBOX_STARTS = 8
/** Each may walk the changes of a sandbox. */
const MAX_REVIEWS = 8

/** Requests of one kind at once. */
export interface QuestionLimits {
  readonly explanations: number
  /** Each listing is a pass over all rules. */
  readonly listings: number
  /** Each log may hold the history that it has not sent yet. */
  readonly logs: number
  /** Each batch may hold `MAX_BATCH_BYTES`. */
  readonly batches: number
  /** Each waits for the server. */
  readonly accessRequests: number
}

/** Explanations are spaced; the last of this many still comes before its caller times out. */
const LIMITS: QuestionLimits = {
  explanations: 16,
  listings: 4,
  logs: 8,
  batches: 16,
  accessRequests: 16,
}

/** Carries a refusal out of a route. */
export class Refused extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

export function createRoutes(deps: RouteDeps): ReadonlyMap<string, Route> {
  const grant = sendResult(async (from) =>
    deps.beginBreakGlass(accept(await readRequestBytes(from, MAX_GRANT_BYTES))),
  )
  const bundle = sendResult(async (from) =>
    deps.import(accept(await readRequestChunks(from, MAX_BUNDLE_BYTES))),
  )
  const limits = sendResult(async () => deps.sandboxLimits())
  return new Map<string, Route>([
    ...createQuestionRoutes(deps, LIMITS),
    [LOCAL_API.status, get(sendResult(createShowStatus(deps)), 0)],
    [LOCAL_API.addLocalDeny, postAsOwner(sendAnswer(deps.addDeny), MAX_CHANGES)],
    [LOCAL_API.removeLocalDenies, postAsOwner(sendAnswer(deps.removeDenies), MAX_CHANGES)],
    [LOCAL_API.sandboxLimits, get(limits, 0)],
    [LOCAL_API.sandboxes, post(sendAnswer(deps.startSandbox), MAX_SANDBOX_STARTS)],
    [LOCAL_API.staged, getAsOwner(sendResult(deps.staged.list), MAX_REVIEWS)],
    [LOCAL_API.showStaged, postAsOwner(sendAnswer(deps.staged.show), MAX_REVIEWS)],
    [LOCAL_API.applyStaged, postAsOwner(sendAnswer(deps.staged.apply), MAX_REVIEWS)],
    [LOCAL_API.discardStaged, postAsOwner(sendAnswer(deps.staged.discard), MAX_REVIEWS)],
    [LOCAL_API.sync, postAsOwner(sendResult(deps.sync), MAX_SYNCS)],
    [LOCAL_API.import, postAsOwner(bundle, MAX_IMPORTS)],
    [LOCAL_API.breakGlass, postAsOwner(grant, MAX_GRANTS)],
    [LOCAL_API.endBreakGlass, postAsOwner(sendResult(deps.endBreakGlass), MAX_GRANTS)],
    [LOCAL_API.logVerification, getAsOwner(sendResult(deps.verifyLog), 1)],
  ])
}

/** Other users must not learn how much the records of this machine grow. */
function createShowStatus({ status, admit }: Pick<RouteDeps, 'status' | 'admit'>) {
  return async (request: IncomingMessage): Promise<AgentStatus> => {
    const { client } = connectionOf(request)
    const { upload, ...open } = status()
    const isOwner = admit === undefined || admit({ callers: 'owner' }, client) === null
    return isOwner && upload !== undefined ? { ...open, upload } : open
  }
}

/** The routes of questions, but for batches. */
export function createQuestionRoutes(
  deps: QuestionDeps,
  limits: QuestionLimits,
): ReadonlyMap<string, Route> {
  const status = sendResult(async () => deps.status())
  return new Map<string, Route>([
    [LOCAL_API.decide, post(sendAnswer(deps.decide), 0)],
    [LOCAL_API.explain, post(sendAnswer(deps.explain), limits.explanations)],
    [LOCAL_API.status, get(status, 0)],
    [LOCAL_API.policies, get(streamPolicies(deps), limits.listings)],
    // Access is granted to the user of the device, whose machine this is.
    [LOCAL_API.requestAccess, postAsOwner(sendAnswer(deps.requestAccess), limits.accessRequests)],
    [LOCAL_API.accessRequests, getAsOwner(sendResult(deps.accessRequests), limits.accessRequests)],
    // The records tell of the programs of every user.
    [LOCAL_API.log, { ...getAsOwner(streamLog(deps), limits.logs), takesQuery: true }],
  ])
}

function get(answer: Answer, maxRequests: number): Route {
  return { method: 'GET', callers: 'all', answer, maxRequests }
}

function post(answer: Answer, maxRequests: number): Route {
  return { method: 'POST', callers: 'all', answer, maxRequests }
}

function getAsOwner(answer: Answer, maxRequests: number): Route {
  return { ...get(answer, maxRequests), callers: 'owner' }
}

function postAsOwner(answer: Answer, maxRequests: number): Route {
  return { ...post(answer, maxRequests), callers: 'owner' }
}

/** The route of `decide` for batches. */
export function createBatchRoute(
  deps: Pick<QuestionDeps, 'decideUnresolved' | 'flushTimeoutMs'>,
  turns: LoopTurns,
  maxRequests: number = LIMITS.batches,
): Route {
  const batch = { decide: deps.decideUnresolved, turns, flushTimeoutMs: deps.flushTimeoutMs }
  return {
    method: 'POST',
    callers: 'all',
    async answer(request, response) {
      const bytes = accept(await readRequestBytes(request, MAX_BATCH_BYTES))
      await answerBatch(batch, accept(splitBatch(bytes)), response)
    },
    maxRequests,
  }
}

/** Answers the request in the JSON body. */
function sendAnswer(decide: (value: unknown) => Promise<unknown>): Answer {
  return sendResult(async (from) => decide(accept(await readRequestBody(from))))
}

function sendResult(result: (request: IncomingMessage) => Promise<unknown>): Answer {
  return async (request, response) =>
    sendJson(response, 200, `${JSON.stringify(await result(request))}\n`)
}

function streamPolicies({ policies, flushTimeoutMs }: QuestionDeps): Answer {
  return (request, response) => {
    const { client } = connectionOf(request)
    return streamAnswer(response, client, () => joinLines(policies()), flushTimeoutMs)
  }
}

function streamLog({ log, flushTimeoutMs }: QuestionDeps): Answer {
  return async (request, response, text) => {
    const query = readLogQuery(text)
    if (typeof query === 'string')
      throw new Refused({ status: 400, code: 'invalid_argument', message: query })
    const { client } = connectionOf(request)
    await streamAnswer(response, client, (reader) => log(query, reader), flushTimeoutMs)
  }
}

/** The value of a body that was accepted. Throws the refusal of another. */
function accept<T>(body: RequestBody<T>): T {
  if (!body.ok) throw new Refused(body.refusal)
  return body.value
}
