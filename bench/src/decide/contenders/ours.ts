import { decide, type CompiledPolicy } from '@palisade/policy-core'
import type { Contender } from './contender.ts'

/** Complete decisions: validates the request, makes it canonical and names the deciding rules. */
export function createDecide(
  policy: CompiledPolicy,
  requestFor: (text: string) => object,
): Contender {
  const answer = (text: string): number =>
    decide(policy, requestFor(text)).decision === 'allow' ? 1 : 0
  return { name: 'palisade decide', answer }
}
