import {
  LOCAL_API,
  NDJSON,
  agentStatusSchema,
  breakGlassResultSchema,
  localDecisionSchema,
  localExplanationSchema,
  logVerificationSchema,
  recordLineSchema,
  localAccessListSchema,
  localAccessResultSchema,
  localRulesResultSchema,
  limitMechanismsSchema,
  policyListLineSchema,
  syncResultSchema,
  type AddLocalDenyRequest,
  type AgentStatus,
  type CreateAccessRequest,
  type BreakGlassResult,
  type LimitMechanisms,
  type LocalDecision,
  type LocalAccessList,
  type LocalAccessResult,
  type LocalExplanation,
  type LocalRulesResult,
  type LogVerification,
  type PolicyListLine,
  type RecordLine,
  type RemoveLocalDenyRequest,
  type SyncResult,
} from '@palisade/protocol'
import type { AgentAddress } from '../agent-socket.ts'
import { parseAnswer } from '../parse-answer.ts'
import { unexpected } from '../client-error.ts'
import { agentExchange, type AgentRequest } from './agent-exchange.ts'
import { agentLines } from './agent-lines.ts'
import { splitIntoBatches, type DecisionBatch } from './decision-batches.ts'
import { requireSuccess } from './require-success.ts'

/** For the address see `agentSocketPath` and `agentPort`. */
export type AgentClientOptions = AgentAddress & {
  /** Milliseconds, default 10 000. A sync may take 120 000. */
  readonly timeoutMs?: number | undefined
}

export interface LogOptions {
  /** Newest lines to begin with: 1 to 10,000, default 1,000. */
  readonly limit?: number | undefined
  /** Denials only. */
  readonly denied?: boolean | undefined
  /** False to leave out the questions to the local API, which no program met as a decision. */
  readonly questions?: boolean | undefined
  /** Whether to go on with each line as it is written, until the signal aborts. */
  readonly follow?: boolean | undefined
  /** Ends the lines without an error. */
  readonly signal?: AbortSignal | undefined
}

/**
 * The agent of this machine. Methods reject with `ClientError`, such as `ERR_AGENT_UNREACHABLE`.
 */
export interface AgentClient {
  /**
   * An invalid request resolves to a deny with `invalid_request`. With the member `resolve: true`
   * the agent decides the addresses of a name as its proxy would.
   */
  decide(request: unknown): Promise<LocalDecision>
  /**
   * Decides many requests, answer N for request N, in batches of a thousand, one after another. No
   * name is resolved: a decision that an address could change has `address_required`.
   */
  decideMany(requests: readonly unknown[]): Promise<readonly LocalDecision[]>
  explain(request: unknown): Promise<LocalExplanation>
  status(): Promise<AgentStatus>
  /** The head, then the rules of this machine as they are read; see `PolicyListHead`. */
  policies(): AsyncGenerator<PolicyListLine>
  /** Resolves once the deny of the user is in force and on disk, or refused. */
  addLocalDeny(request: AddLocalDenyRequest): Promise<LocalRulesResult>
  removeLocalDenies(request: RemoveLocalDenyRequest): Promise<LocalRulesResult>
  /** Resolves once the server has the request for access, or has refused it. */
  requestAccess(request: CreateAccessRequest): Promise<LocalAccessResult>
  accessRequests(): Promise<LocalAccessList>
  /** Resolves at the end of the agent's attempt to fetch policies, even if it failed. */
  sync(): Promise<SyncResult>
  /** Resolves when the agent has verified a bundle file, even if it is refused. */
  import(bundle: string): Promise<SyncResult>
  /** Resolves when the agent has started or refused a grant. */
  beginBreakGlass(grant: string): Promise<BreakGlassResult>
  endBreakGlass(): Promise<BreakGlassResult>
  /**
   * The newest decision records, the oldest of them first. Their iteration throws `ClientError`,
   * also when the agent disconnects a caller that reads too slowly.
   */
  log(options?: LogOptions): AsyncIterable<RecordLine>
  /** How the machine bounds sandboxes. */
  sandboxLimits(): Promise<LimitMechanisms>
  /** Checks the chain of all decision records on disk. */
  verifyLog(): Promise<LogVerification>
}

/** A thousand decisions with a hundred deciding rules each. */
const MAX_BATCH_ANSWER_BYTES = 64 * 1024 * 1024

/** Also covers the wait for the end of a running attempt. */
const SYNC_TIMEOUT_MS = 120_000
/** The agent waits for the server. */
const SERVER_MS = 60_000
const VERIFY_TIMEOUT_MS = 120_000
/** Tens of megabytes of rules, which the agent sends between decisions. */
const LIST_TIMEOUT_MS = 60_000

/** A client of the agent's local API. */
export function createAgentClient(options: AgentClientOptions): AgentClient {
  const { timeoutMs = 10_000, ...address } = options
  const post = (path: string, request: unknown, longestMs = timeoutMs): Promise<string> =>
    askForText({
      address,
      method: 'POST',
      path,
      // JSON has no undefined. Null is an invalid request too.
      body: JSON.stringify(request ?? null),
      timeoutMs: longestMs,
    })
  const get = (path: string, longestMs = timeoutMs): Promise<string> =>
    askForText({ address, method: 'GET', path, timeoutMs: longestMs })
  const decideBatch = async (batch: DecisionBatch): Promise<readonly LocalDecision[]> => {
    const answer = await askForText({
      address,
      method: 'POST',
      path: LOCAL_API.decide,
      mediaType: NDJSON,
      body: batch.text,
      timeoutMs,
      maxAnswerBytes: MAX_BATCH_ANSWER_BYTES,
    })
    const lines = answer.split('\n')
    if (lines.pop() !== '' || lines.length !== batch.lines)
      throw unexpected('it does not have one line for each request')
    return lines.map((line) => parseAnswer(localDecisionSchema, line))
  }
  const breakGlass = async (path: string, body: string): Promise<BreakGlassResult> =>
    parseAnswer(
      breakGlassResultSchema,
      await askForText({ address, method: 'POST', path, body, timeoutMs: SYNC_TIMEOUT_MS }),
    )
  return {
    beginBreakGlass: (grant) => breakGlass(LOCAL_API.breakGlass, grant),
    endBreakGlass: () => breakGlass(LOCAL_API.endBreakGlass, ''),
    async *log({ limit, denied, questions = true, follow = false, signal } = {}) {
      const query = new URLSearchParams()
      if (limit !== undefined) query.set('limit', String(limit))
      if (denied === true) query.set('denied', '1')
      if (!questions) query.set('questions', '0')
      if (follow) query.set('follow', '1')
      const path = query.size === 0 ? LOCAL_API.log : `${LOCAL_API.log}?${query.toString()}`
      const lines = agentLines({ address, path, timeoutMs, isEndless: follow, signal })
      for await (const line of lines) yield parseAnswer(recordLineSchema, line)
    },
    sandboxLimits: async () =>
      parseAnswer(limitMechanismsSchema, await get(LOCAL_API.sandboxLimits)),
    verifyLog: async () =>
      parseAnswer(logVerificationSchema, await get(LOCAL_API.logVerification, VERIFY_TIMEOUT_MS)),
    decide: async (request) =>
      parseAnswer(localDecisionSchema, await post(LOCAL_API.decide, request)),
    async decideMany(requests) {
      const decisions: LocalDecision[] = []
      for (const batch of splitIntoBatches(requests)) decisions.push(...(await decideBatch(batch)))
      return decisions
    },
    explain: async (request) =>
      parseAnswer(localExplanationSchema, await post(LOCAL_API.explain, request)),
    status: async () => parseAnswer(agentStatusSchema, await get(LOCAL_API.status)),
    addLocalDeny: async (request) =>
      parseAnswer(localRulesResultSchema, await post(LOCAL_API.addLocalDeny, request)),
    removeLocalDenies: async (request) =>
      parseAnswer(localRulesResultSchema, await post(LOCAL_API.removeLocalDenies, request)),
    requestAccess: async (request) =>
      parseAnswer(localAccessResultSchema, await post(LOCAL_API.requestAccess, request, SERVER_MS)),
    accessRequests: async () =>
      parseAnswer(localAccessListSchema, await get(LOCAL_API.accessRequests, SERVER_MS)),
    async *policies() {
      const request = { address, path: LOCAL_API.policies, isEndless: false }
      for await (const line of agentLines({ ...request, timeoutMs: LIST_TIMEOUT_MS }))
        yield parseAnswer(policyListLineSchema, line)
    },
    sync: async () =>
      parseAnswer(
        syncResultSchema,
        await askForText({
          address,
          method: 'POST',
          path: LOCAL_API.sync,
          timeoutMs: SYNC_TIMEOUT_MS,
        }),
      ),
    import: async (bundle) =>
      parseAnswer(
        syncResultSchema,
        await askForText({
          address,
          method: 'POST',
          path: LOCAL_API.import,
          body: bundle,
          timeoutMs: SYNC_TIMEOUT_MS,
        }),
      ),
  }
}

/** Returns the text of a 2xx answer. */
async function askForText(request: AgentRequest): Promise<string> {
  const answer = await agentExchange(request)
  requireSuccess(answer)
  return answer.text
}
