import type { ActivePolicy } from '../policy/decision/active-policy.ts'

type Deciding = Pick<ActivePolicy, 'decide' | 'explain'>

const HINT =
  'an agent for all users decides connections only, because `~` in a rule has no one meaning there'

/**
 * Denies every request for a file. Rules with `~` mean the home directory of one user, and a deny
 * that does not match would leave an allow in force.
 */
export function connectionsOnly({ decide, explain }: Deciding): Deciding {
  return {
    decide: (request) => (isForFile(request) ? { ...decide(null), hint: HINT } : decide(request)),
    explain: (request) =>
      isForFile(request) ? { ...explain(null), hint: HINT } : explain(request),
  }
}

function isForFile(request: unknown): boolean {
  if (typeof request !== 'object' || request === null || !('action' in request)) return false
  return request.action === 'read' || request.action === 'write'
}
