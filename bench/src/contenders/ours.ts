import { decide, explain, type CompiledPolicy } from '@palisade/policy-core'
import type { Contender } from './contender.ts'

/** Whole decisions: the request is checked and made canonical, the deciding rules are named. */
export function createDecide(
  policy: CompiledPolicy,
  requestFor: (text: string) => object,
): Contender {
  const answer = (text: string): number =>
    decide(policy, requestFor(text)).decision === 'allow' ? 1 : 0
  return { name: 'palisade decide', answer }
}

/** The same with every rule that matched and the nearest misses. */
export function createExplain(
  policy: CompiledPolicy,
  requestFor: (text: string) => object,
): Contender {
  const answer = (text: string): number =>
    explain(policy, requestFor(text)).decision === 'allow' ? 1 : 0
  return { name: 'palisade explain', answer }
}
