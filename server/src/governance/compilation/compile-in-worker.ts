import { compilePolicy, decide, type CompiledPolicy, type Decision } from '@palisade/policy-core'
import type { DetailedPolicy } from '@palisade/protocol'
import type { PolicyMessage } from './worker-messages.ts'

/** Returns the answer to each message. Messages must be passed in order of arrival. */
export function createWorkerSets(): (message: PolicyMessage) => number | Decision | undefined {
  const added = new Map<number, DetailedPolicy[]>()
  const compiled = new Map<number, CompiledPolicy>()

  function compile({ set, settings }: PolicyMessage & { kind: 'compile' }): number {
    const startedMs = performance.now()
    const policies = added.get(set) ?? []
    added.delete(set)
    // Machines enforce stored patterns beyond the limits too, so the decision must include them.
    const options = { patternLimits: false }
    compiled.set(set, compilePolicy({ policies, ...settings }, options))
    return performance.now() - startedMs
  }

  function answer({ set, request, now }: PolicyMessage & { kind: 'decide' }): Decision {
    const policy = compiled.get(set)
    if (policy === undefined) throw new TypeError('the set is not there')
    return decide(policy, request, { now })
  }

  return (message) => {
    switch (message.kind) {
      case 'add': {
        const policies = added.get(message.set) ?? []
        policies.push(JSON.parse(Buffer.from(message.policy).toString()) as DetailedPolicy)
        added.set(message.set, policies)
        return undefined
      }
      case 'drop':
        added.delete(message.set)
        compiled.delete(message.set)
        return undefined
      case 'compile':
        return compile(message)
      case 'decide':
        return answer(message)
    }
  }
}
