import type { Enforced } from './active-policy.ts'

/** Whether both decide every request alike; a stale bundle decides like a fresh one. */
export function isSameRule(a: Enforced, b: Enforced): boolean {
  if (a.kind === 'nothing' || b.kind === 'nothing') return a.kind === b.kind
  return (
    a.allows === b.allows &&
    a.bundle.compiled === b.bundle.compiled &&
    a.bundle.offline === b.bundle.offline
  )
}
