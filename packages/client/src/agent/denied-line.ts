import { isOrganizationDenial, type LocalDecision } from '@palisade/protocol'

/** Targets that the line names; `palisade log --denied` lists all. */
const MAX_NAMED = 5
/** Targets that are told apart; a program may ask for any number. */
const MAX_TARGETS = 1_000

type Denied = Pick<LocalDecision, 'decision' | 'reason' | 'request'> & {
  readonly rules: readonly Pick<LocalDecision['rules'][number], 'origin'>[]
}

/** The denied connections while a command ran, as they are told at its end. */
export interface DeniedTargets {
  /** Counts a decision if it denies a connection; `times` is 1 by default. */
  add(decision: Denied, times?: number): void
  /**
   * One line, and the support message after it if a policy of the organization denied one of them;
   * empty without a denial. The line is printable: canonical hosts have no other characters.
   */
  lines(support: string | undefined): readonly string[]
}

interface Target {
  readonly name: string
  /** The arguments of the `palisade request` that would lift the denial; null if none would. */
  readonly request: string | null
  times: number
}

export function createDeniedTargets(): DeniedTargets {
  const targets = new Map<string, Target>()
  let all = 0
  let isByOrganization = false
  return {
    add(denied, times = 1) {
      const { decision, reason, request } = denied
      if (decision !== 'deny' || request === null || !('host' in request)) return
      all += times
      isByOrganization ||= isOrganizationDenial(denied)
      const { action, host, port } = request
      const name = `${host.includes(':') ? `[${host}]` : host}:${port}`
      const key = `${action} ${reason} ${name}`
      const known = targets.get(key)
      if (known !== undefined) {
        known.times += times
      } else if (targets.size < MAX_TARGETS) {
        const option = action === 'connect:tcp' ? '' : ` --action ${action}`
        targets.set(key, { name, request: reason === 'default_deny' ? name + option : null, times })
      }
    },

    lines(support) {
      if (all === 0) return []
      const most = [...targets.values()].toSorted((a, b) => b.times - a.times)
      const named = most.slice(0, MAX_NAMED).map(formatTarget)
      const more = targets.size > MAX_NAMED ? ', …' : ''
      const asked = most.find(({ request }) => request !== null)?.request
      const advice = asked === undefined || asked === null ? 'why' : `request ${asked}`
      const line = `${all} denied: ${named.join(', ')}${more} – palisade ${advice}`
      return isByOrganization && support !== undefined ? [line, support] : [line]
    },
  }
}

function formatTarget({ name, times }: Target): string {
  return times === 1 ? name : `${name} (${times})`
}
