import type { LocalDecision } from '@palisade/protocol'

/** Targets that the line names; `palisade log --denied` lists all. */
const MAX_NAMED = 5
/** Targets that are told apart; a program may ask for any number. */
const MAX_TARGETS = 1_000

type Denied = Pick<LocalDecision, 'decision' | 'reason' | 'request'>

/** The denied connections while a command ran, as one line tells them at its end. */
export interface DeniedTargets {
  /** Counts a decision if it denies a connection; `times` is 1 by default. */
  add(decision: Denied, times?: number): void
  /** Null without a denial. Printable: canonical hosts have no other characters. */
  line(): string | null
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
  return {
    add({ decision, reason, request }, times = 1) {
      if (decision !== 'deny' || request === null || !('host' in request)) return
      all += times
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

    line() {
      if (all === 0) return null
      const most = [...targets.values()].toSorted((a, b) => b.times - a.times)
      const named = most.slice(0, MAX_NAMED).map(formatTarget)
      const more = targets.size > MAX_NAMED ? ', …' : ''
      const asked = most.find(({ request }) => request !== null)?.request
      const advice = asked === undefined || asked === null ? 'why' : `request ${asked}`
      return `${all} denied: ${named.join(', ')}${more} – palisade ${advice}`
    },
  }
}

function formatTarget({ name, times }: Target): string {
  return times === 1 ? name : `${name} (${times})`
}
