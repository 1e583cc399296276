import {
  LOCAL_API,
  stagedListSchema,
  stagedResultSchema,
  type StagedList,
  type StagedResult,
} from '@palisade/protocol'
import { parseAnswer } from '../parse-answer.ts'
import type { AgentClientOptions } from './agent-client.ts'
import { agentExchange, type AgentRequest } from './agent-exchange.ts'
import { requireSuccess } from './require-success.ts'

/** The changes of strict sandboxes. Methods reject with `ClientError`. */
export interface StagedClient {
  list(): Promise<StagedList>
  /** Resolves with a verdict for each change; a sandbox that runs is waited for. */
  show(id: string): Promise<StagedResult>
  /** Resolves once the changes that policy grants are copied out. */
  apply(id: string): Promise<StagedResult>
  discard(id: string): Promise<StagedResult>
}

/** A copy of many gigabytes takes long. */
const TIMEOUT_MS = 3_600_000
/** Ten thousand changes with long paths. */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024

/** A client of the agent's local API over its Unix socket, for staged changes alone. */
export function createStagedClient(options: AgentClientOptions): StagedClient {
  const { timeoutMs = TIMEOUT_MS, ...address } = options
  const ask = async (request: Pick<AgentRequest, 'method' | 'path' | 'body'>): Promise<string> => {
    const shared = { address, timeoutMs, maxAnswerBytes: MAX_ANSWER_BYTES }
    const answer = await agentExchange({ ...shared, ...request })
    requireSuccess(answer)
    return answer.text
  }
  const post = async (path: string, id: string): Promise<StagedResult> =>
    parseAnswer(
      stagedResultSchema,
      await ask({ method: 'POST', path, body: JSON.stringify({ id }) }),
    )
  return {
    list: async () =>
      parseAnswer(stagedListSchema, await ask({ method: 'GET', path: LOCAL_API.staged })),
    show: (id) => post(LOCAL_API.showStaged, id),
    apply: (id) => post(LOCAL_API.applyStaged, id),
    discard: (id) => post(LOCAL_API.discardStaged, id),
  }
}
