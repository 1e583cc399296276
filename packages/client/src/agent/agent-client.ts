import { unexpected } from '../client-error.ts'
import {
  LOCAL_API,
  NDJSON,
  agentStatusSchema,
  breakGlassResultSchema,
  localDecisionSchema,
  localExplanationSchema,
  syncResultSchema,
  type AgentStatus,
  type BreakGlassResult,
  type LocalDecision,
  type LocalExplanation,
  type SyncResult,
} from '@palisade/protocol'
import { parseAnswer, parseFailure } from '../parse-answer.ts'
import { agentExchange, type AgentRequest } from './agent-exchange.ts'
import { splitIntoBatches, type DecisionBatch } from './decision-batches.ts'

export interface AgentClientOptions {
  /** See `agentSocketPath`. */
  readonly socketPath: string
  /** Milliseconds, default 10 000. A sync may take 120 000. */
  readonly timeoutMs?: number | undefined
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
  /** Resolves at the end of the agent's attempt to fetch policies, even if it failed. */
  sync(): Promise<SyncResult>
  /** Resolves when the agent has verified a bundle file, even if it is refused. */
  import(bundle: string): Promise<SyncResult>
  /** Resolves when the agent has started or refused a grant. */
  beginBreakGlass(grant: string): Promise<BreakGlassResult>
  endBreakGlass(): Promise<BreakGlassResult>
}

/** A thousand decisions with a hundred deciding rules each. */
const MAX_BATCH_ANSWER_BYTES = 64 * 1024 * 1024

/** Also covers the wait for the end of a running attempt. */
const SYNC_TIMEOUT_MS = 120_000

/** A client of the agent's local API over its Unix socket. */
export function createAgentClient(options: AgentClientOptions): AgentClient {
  const { socketPath, timeoutMs = 10_000 } = options
  const post = (path: string, request: unknown): Promise<string> =>
    askForText({
      socketPath,
      method: 'POST',
      path,
      // JSON has no undefined. Null is an invalid request too.
      body: JSON.stringify(request ?? null),
      timeoutMs,
    })
  const decideBatch = async (batch: DecisionBatch): Promise<readonly LocalDecision[]> => {
    const answer = await askForText({
      socketPath,
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
      await askForText({ socketPath, method: 'POST', path, body, timeoutMs: SYNC_TIMEOUT_MS }),
    )
  return {
    beginBreakGlass: (grant) => breakGlass(LOCAL_API.breakGlass, grant),
    endBreakGlass: () => breakGlass(LOCAL_API.endBreakGlass, ''),
    decide: async (request) =>
      parseAnswer(localDecisionSchema, await post(LOCAL_API.decide, request)),
    async decideMany(requests) {
      const decisions: LocalDecision[] = []
      for (const batch of splitIntoBatches(requests)) decisions.push(...(await decideBatch(batch)))
      return decisions
    },
    explain: async (request) =>
      parseAnswer(localExplanationSchema, await post(LOCAL_API.explain, request)),
    status: async () =>
      parseAnswer(
        agentStatusSchema,
        await askForText({ socketPath, method: 'GET', path: LOCAL_API.status, timeoutMs }),
      ),
    sync: async () =>
      parseAnswer(
        syncResultSchema,
        await askForText({
          socketPath,
          method: 'POST',
          path: LOCAL_API.sync,
          timeoutMs: SYNC_TIMEOUT_MS,
        }),
      ),
    import: async (bundle) =>
      parseAnswer(
        syncResultSchema,
        await askForText({
          socketPath,
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
  const { status, text } = await agentExchange(request)
  if (status < 200 || status > 299) throw parseFailure(status, text)
  return text
}
