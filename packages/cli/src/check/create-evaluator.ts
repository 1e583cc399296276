import { decide, explain } from '@palisade/policy-core'
import { EXIT } from '../exit-code.ts'
import type { Io } from '../io.ts'
import { askAgent } from '../machine/agent.ts'
import { loadPolicyFile } from '../policy-file/load-policy-file.ts'
import type { Evaluator } from './answer.ts'

const ADVICE = 'start it with `npm start`, or name a policy file with `--policies FILE`'

/** Evaluates with the policies in `file`; without a file, asks the running agent. */
export async function createEvaluator(io: Io, file: string | undefined): Promise<Evaluator> {
  if (file === undefined) {
    return {
      decide: (request) => askAgent(io, EXIT.usage, (agent) => agent.decide(request), ADVICE),
      explain: (request) => askAgent(io, EXIT.usage, (agent) => agent.explain(request), ADVICE),
    }
  }
  const { compiled } = await loadPolicyFile(io, file)
  return {
    decide: async (request) => decide(compiled, request),
    explain: async (request) => explain(compiled, request),
  }
}
