import { decide, explain, parseInstant } from '@palisade/policy-core'
import { askAgent } from '../agent/ask-agent.ts'
import { loadPolicyFile, type AudienceOptions } from '../policy-file/load-policy-file.ts'
import { usageError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import type { Io } from '../runtime/io.ts'
import type { Evaluator } from './answer.ts'

const INSTEAD = '; or name a policy file with `--policies FILE`'

export interface EvaluatorOptions extends AudienceOptions {
  readonly policies?: string
  /** Let the agent resolve a name where its proxy would. No effect with a policy file. */
  readonly resolves?: boolean
  /** RFC 3339 in UTC: the time at which the policies of a file decide. Default: the present. */
  readonly at?: string
}

/** Evaluates with the policies of a file or directory; without one, asks the running agent. */
export async function createEvaluator(
  io: Io,
  { policies: file, resolves = false, at, ...audience }: EvaluatorOptions,
): Promise<Evaluator> {
  if (file === undefined && (audience.team ?? audience.home) !== undefined)
    throw usageError('`--team` and `--home` need `--policies`; the agent knows its own')
  if (file === undefined && at !== undefined)
    throw usageError('`--at` needs `--policies`; the agent decides at the present time')
  if (file === undefined) {
    const withResolve = (request: unknown): unknown =>
      resolves && typeof request === 'object' ? { ...request, resolve: true } : request
    return {
      governed: true,
      decide: (request) =>
        askAgent(io, EXIT.usage, (agent) => agent.decide(withResolve(request)), INSTEAD),
      decideMany: (requests) =>
        askAgent(io, EXIT.usage, (agent) => agent.decideMany(requests), INSTEAD),
      explain: (request) =>
        askAgent(io, EXIT.usage, (agent) => agent.explain(withResolve(request)), INSTEAD),
    }
  }
  const { compiled, source } = await loadPolicyFile(io, file, audience)
  const options = { now: at === undefined ? io.now() : readTime(at) }
  return {
    governed: source.governed ?? source.policies !== undefined,
    decide: async (request) => decide(compiled, request, options),
    decideMany: async (requests) => requests.map((request) => decide(compiled, request, options)),
    explain: async (request) => explain(compiled, request, options),
  }
}

function readTime(text: string): number {
  const time = parseInstant(text)
  if (time !== null) return time
  throw usageError(`\`--at\`: \`${text}\` is not a time in UTC, such as \`2026-11-26T14:00:00Z\``)
}
