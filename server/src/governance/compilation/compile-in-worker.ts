import { compilePolicy, decide, type CompiledPolicy } from '@palisade/policy-core'
import type { DetailedPolicy } from '@palisade/protocol'
import type { WorkerReply, WorkerRequest } from './worker-messages.ts'

/** Returns the worker's message handler. Messages must be passed in order of arrival. */
export function createWorkerSets(reply: (message: WorkerReply) => void) {
  const added = new Map<number, DetailedPolicy[]>()
  const compiled = new Map<number, CompiledPolicy>()

  function compile({ set, job, settings }: WorkerRequest & { kind: 'compile' }): void {
    const startedMs = performance.now()
    const policies = added.get(set) ?? []
    added.delete(set)
    // Machines enforce stored patterns beyond the limits too, so the decision must include them.
    const options = { patternLimits: false }
    compiled.set(set, compilePolicy({ policies, ...settings }, options))
    reply({ kind: 'compiled', job, tookMs: performance.now() - startedMs })
  }

  function answer({ set, job, request, now }: WorkerRequest & { kind: 'decide' }): void {
    const policy = compiled.get(set)
    if (policy === undefined) throw new TypeError('the set is not there')
    reply({ kind: 'decided', job, decision: decide(policy, request, { now }) })
  }

  return (message: WorkerRequest): void => {
    const { kind, set } = message
    if (kind === 'add') {
      const policies = added.get(set) ?? []
      policies.push(JSON.parse(Buffer.from(message.policy).toString()) as DetailedPolicy)
      added.set(set, policies)
    } else if (kind === 'drop') {
      added.delete(set)
      compiled.delete(set)
    } else
      try {
        if (kind === 'compile') compile(message)
        else answer(message)
      } catch (error) {
        reply({ kind: 'failed', job: message.job, message: String(error) })
      }
  }
}
