import { decide, explain } from '@palisade/policy-core'
import { usageError } from '../cli-error.ts'
import { EXIT } from '../exit-code.ts'
import type { Io } from '../io.ts'
import { askAgent } from '../machine/agent.ts'
import { loadPolicyFile, type AudienceOptions } from '../policy-file/load-policy-file.ts'
import type { Evaluator } from './answer.ts'

const INSTEAD = '; or name a policy file with `--policies FILE`'

export interface EvaluatorOptions extends AudienceOptions {
  readonly policies?: string
}

/** Evaluates with the policies of a file or directory; without one, asks the running agent. */
export async function createEvaluator(
  io: Io,
  { policies: file, ...audience }: EvaluatorOptions,
): Promise<Evaluator> {
  if (file === undefined && (audience.team ?? audience.home) !== undefined)
    throw usageError('`--team` and `--home` need `--policies`; the agent knows its own')
  if (file === undefined) {
    return {
      decide: (request) => askAgent(io, EXIT.usage, (agent) => agent.decide(request), INSTEAD),
      explain: (request) => askAgent(io, EXIT.usage, (agent) => agent.explain(request), INSTEAD),
    }
  }
  const { compiled } = await loadPolicyFile(io, file, audience)
  return {
    decide: async (request) => decide(compiled, request),
    explain: async (request) => explain(compiled, request),
  }
}
