import type { CanonicalRequest } from '@palisade/policy-core'
import { PROBE_NAMES } from '@palisade/protocol'
import type { MachineDecision } from '../../decision/active-policy.ts'
import type { Resolve } from '../../proxy/target/resolver.ts'

/** The loopback address on which the agent itself answers the allowed canary. */
export const CANARY_ADDRESS = '127.0.0.1'

/** The canaries of one probe. */
export interface Canary {
  /** A name below `PROBE_NAMES.allowed` that only this probe knows. */
  readonly allowed: string
  /** A name below `PROBE_NAMES.refused`. */
  readonly refused: string
  /** Where the agent answers. */
  readonly port: number
  close(): void
}

/** The part of the agent that lets its own probes through an enforcement point. */
export interface Canaries {
  /** `token` is secret while the canary is open, and at most 63 of a-z and 0-9. */
  open(token: string, port: number): Canary
  /** Also allows the open canaries, each at its own address and port only. */
  decide(decide: (request: unknown) => MachineDecision): (request: unknown) => MachineDecision
  /** Also resolves the open canaries, without a query. */
  resolve(resolve: Resolve): Resolve
  /** Whether a decision was made for a probe of the agent, which is not counted as a program's. */
  isOwn(decision: Pick<MachineDecision, 'request'>): boolean
}

/** Closed canaries whose last events may still come. */
const MAX_REMEMBERED = 8

/**
 * Any program can ask for a name below `PROBE_NAMES.allowed`. So the allowed name has a secret
 * label, is allowed only during a probe, and leads only to the port where the agent answers.
 */
export function createCanaries(): Canaries {
  const open = new Map<string, Canary>()
  const remembered = new Set<string>()

  const find = (request: CanonicalRequest | null): Canary | null => {
    if (request === null || !('host' in request) || request.action !== 'connect:tcp') return null
    const canary = open.get(request.host)
    if (canary?.port !== request.port) return null
    return request.address === undefined || request.address === CANARY_ADDRESS ? canary : null
  }

  return {
    open(token, port) {
      const canary = {
        allowed: `${token}.${PROBE_NAMES.allowed}`,
        refused: `${token}.${PROBE_NAMES.refused}`,
        port,
        close: () => void open.delete(canary.allowed),
      }
      open.set(canary.allowed, canary)
      remembered.add(canary.allowed).add(canary.refused)
      for (const name of [...remembered].slice(0, -MAX_REMEMBERED)) remembered.delete(name)
      return canary
    },

    decide: (decide) => (request) => {
      const made = decide(request)
      return open.size > 0 && find(made.request) !== null ? allow(made) : made
    },

    resolve: (resolve) => async (name) => (open.has(name) ? [CANARY_ADDRESS] : resolve(name)),

    isOwn: ({ request }) => request !== null && 'host' in request && remembered.has(request.host),
  }
}

function allow(made: MachineDecision): MachineDecision {
  const { address_required: _, ...decided } = made
  const allowed = { ...decided, decision: 'allow', reason: 'rule', rules: [], hint: null } as const
  const isOpen = made.request !== null && 'host' in made.request && !('address' in made.request)
  return isOpen ? { ...allowed, address_required: true } : allowed
}
