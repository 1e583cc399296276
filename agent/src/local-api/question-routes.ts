import {
  LOCAL_API,
  MAX_BATCH_BYTES,
  type AgentStatus,
  type LocalAccessList,
  type LocalAccessResult,
  type PolicyListLine,
} from '@palisade/protocol'
import type { ListedDecision, ListedExplanation } from '../policy/decision/listed-rules.ts'
import type { LoopTurns } from '../http/loop-turns.ts'
import { connectionOf } from '../http/paced-connection.ts'
import type { LogQuery } from '../records/stream-log.ts'
import { answerBatch, splitBatch } from './batch.ts'
import { joinLines } from './join-lines.ts'
import { readLogQuery } from './read-log-query.ts'
import { readRequestBytes } from './read-request.ts'
import {
  accept,
  get,
  getAsOwner,
  post,
  postAsOwner,
  Refused,
  sendAnswer,
  sendResult,
  type Answer,
  type Route,
} from './route.ts'
import { streamAnswer, type StreamReader } from '../http/stream-answer.ts'

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
export const QUESTION_LIMITS: QuestionLimits = {
  explanations: 16,
  listings: 4,
  logs: 8,
  batches: 16,
  accessRequests: 16,
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

/** The route of `decide` for batches. */
export function createBatchRoute(
  deps: Pick<QuestionDeps, 'decideUnresolved' | 'flushTimeoutMs'>,
  turns: LoopTurns,
  maxRequests: number = QUESTION_LIMITS.batches,
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
