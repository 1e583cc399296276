import { DECIDE_PATH, MAX_BATCH_LINES, NDJSON, parseJson } from '@palisade/protocol'
import { ClientError, unexpected } from '../client-error.ts'
import type { AgentClientOptions } from './agent-client.ts'
import { agentExchange } from './agent-exchange.ts'

/** The members of a decision that tell a person why. */
export interface BriefDecision {
  readonly decision: 'allow' | 'deny'
  readonly reason: string
  /** Name of the first deciding rule; null without one. */
  readonly rule: string | null
  readonly hint: string | null
  /** The organization's text after a denial by its policies; null without one. */
  readonly support: string | null
}

/**
 * Decides at most a thousand requests in one exchange, or a single one with its member `resolve`.
 * For programs that start for each question: loads no schemas, so it checks the few members that it
 * returns itself. Rejects with `ClientError`.
 */
export async function askBriefly(
  options: AgentClientOptions,
  requests: readonly object[],
): Promise<readonly BriefDecision[]> {
  if (requests.length > MAX_BATCH_LINES)
    throw new ClientError('ERR_ARGUMENT_INVALID', `more than ${MAX_BATCH_LINES} requests`)
  const lines = requests.map((request) => `${JSON.stringify(request)}\n`)
  const { status, text } = await agentExchange({
    address: options,
    method: 'POST',
    path: DECIDE_PATH,
    mediaType: requests.length === 1 ? 'application/json' : NDJSON,
    body: lines.join(''),
    timeoutMs: options.timeoutMs ?? 10_000,
  })
  if (status !== 200) throw unexpected(`status ${status}`)
  const answers = text.split('\n')
  if (answers.pop() !== '' || answers.length !== requests.length)
    throw unexpected('it does not have one line for each request')
  return answers.map(readDecision)
}

function readDecision(line: string): BriefDecision {
  const json = parseJson(line)
  const value = json.ok ? json.value : null
  if (!isObject(value)) throw unexpected('a line is not a JSON object')
  const { decision, reason, rules, hint, support_message: support } = value
  if ((decision !== 'allow' && decision !== 'deny') || typeof reason !== 'string')
    throw unexpected('a line is not a decision')
  const first: unknown = Array.isArray(rules) ? rules[0] : null
  const rule = isObject(first) ? first['rule_name'] : null
  return {
    decision,
    reason,
    rule: typeof rule === 'string' ? rule : null,
    hint: typeof hint === 'string' ? hint : null,
    support: typeof support === 'string' ? support : null,
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
