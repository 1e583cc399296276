import { readAddress } from '../lookup/address/read-address.ts'
import { NOTHING } from '../lookup/chain-sets.ts'
import type { ActionSlot } from '../lookup/flags.ts'
import type { Verdict } from '../lookup/verdict.ts'
import { foldCase } from '../path/path.ts'
import { slotOf } from '../policy/policy.ts'
import type { CompiledPolicy } from './compiled-policy.ts'
import { evaluateAddress } from './evaluate-address.ts'
import type { ParsedRequest } from './request.ts'

/** The verdict on a request that has been parsed. */
export function evaluate(policy: CompiledPolicy, request: ParsedRequest): Verdict {
  if (request.kind === 'path') {
    const path = policy.caseSensitive ? request.path : foldCase(request.path)
    return policy.verdicts.of(policy.paths.findCanonical(path), slotOf(request.action))
  }
  const { names } = policy
  const { name, port, canonical } = request
  const set = name === null ? null : names.sets.at(names.findCanonical(name), port)
  const address = canonical.address === undefined ? null : readAddress(canonical.address)
  if (address !== null) return evaluateAddress(policy, canonical, set, address)
  return policy.verdicts.of(set ?? names.sets.at(NOTHING, port), slotOf(request.action))
}

/** Tells whether the address of a name could change the verdict on the name alone. */
export function isUnresolved(
  policy: CompiledPolicy,
  { decision, reason }: Verdict,
  slot: ActionSlot,
): boolean {
  return (
    decision === 'allow' || (reason === 'default_deny' && policy.resolvesUnlisted[slot] === true)
  )
}
