import type { CanonicalRequest, NetworkAction } from '@palisade/policy-core'
import { PROBE_NAMES } from '@palisade/protocol'
import type { MachineDecision } from '../../policy/decision/active-policy.ts'
import type { Resolve } from '../../proxy/target/resolver.ts'

/** The loopback address on which the agent itself answers the allowed canary. */
export const CANARY_ADDRESS = '127.0.0.1'

/** The port where the agent answers in each protocol. */
export type CanaryPorts = Readonly<Record<NetworkAction, number>>

/** The canaries of one probe. */
export interface Canary {
  /** A name below `PROBE_NAMES.allowed` that only this probe knows. */
  readonly allowed: string
  /** A name below `PROBE_NAMES.refused`. */
  readonly refused: string
  readonly ports: CanaryPorts
  /** Whether the refused name was resolved, which no refused name may be. */
  wasRefusedResolved(): boolean
  close(): void
}

/** The part of the agent that lets its own probes through an enforcement point. */
export interface Canaries {
  /** `token` is secret while the canary is open, and at most 63 of a-z and 0-9. */
  open(token: string, ports: CanaryPorts): Canary
  /** Also allows the open canaries, each at its own address, protocol and port only. */
  decide(decide: (request: unknown) => MachineDecision): (request: unknown) => MachineDecision
  /**
   * Also resolves the open canaries, without a query. The refused one too: where the policy is not
   * in force, it then leads to the agent itself, and its name does not leave the machine.
   */
  resolve(resolve: Resolve): Resolve
  /**
   * Whether a decision was made for a probe of the agent or of a person, which is neither counted
   * nor recorded as a program's.
   */
  isOwn(decision: Pick<MachineDecision, 'decision' | 'request'>): boolean
}

/** Closed canaries whose last events may still come. */
const MAX_REMEMBERED = 8

/**
 * Any program can ask for a name below `PROBE_NAMES.allowed`. So the allowed name has a secret
 * label, is allowed only during a probe, and leads only to the port where the agent answers.
 */
export function createCanaries(): Canaries {
  const allowed = new Map<string, Canary>()
  /** Called when an open refused name is resolved. */
  const refused = new Map<string, () => void>()
  const remembered = new Set<string>()

  const find = (request: CanonicalRequest | null): Canary | null => {
    if (request === null || !('host' in request)) return null
    const canary = allowed.get(request.host)
    if (canary?.ports[request.action] !== request.port) return null
    return request.address === undefined || request.address === CANARY_ADDRESS ? canary : null
  }

  return {
    open(token, ports) {
      let wasResolved = false
      const canary: Canary = {
        allowed: `${token}.${PROBE_NAMES.allowed}`,
        refused: `${token}.${PROBE_NAMES.refused}`,
        ports,
        wasRefusedResolved: () => wasResolved,
        close() {
          allowed.delete(canary.allowed)
          refused.delete(canary.refused)
        },
      }
      allowed.set(canary.allowed, canary)
      refused.set(canary.refused, () => (wasResolved = true))
      remembered.add(canary.allowed).add(canary.refused)
      for (const name of [...remembered].slice(0, -MAX_REMEMBERED)) remembered.delete(name)
      return canary
    },

    decide: (decide) => (request) => {
      const made = decide(request)
      return allowed.size > 0 && find(made.request) !== null ? allow(made) : made
    },

    resolve: (resolve) => async (name) => {
      refused.get(name)?.()
      return allowed.has(name) || refused.has(name) ? [CANARY_ADDRESS] : resolve(name)
    },

    isOwn: ({ decision, request }) =>
      request !== null &&
      'host' in request &&
      (remembered.has(request.host) || (decision === 'deny' && isRefused(request.host))),
  }
}

/** A name that every agent denies, with which `palisade doctor` asks too. */
function isRefused(host: string): boolean {
  return host === PROBE_NAMES.refused || host.endsWith(`.${PROBE_NAMES.refused}`)
}

function allow(made: MachineDecision): MachineDecision {
  const { address_required: _, ...decided } = made
  const allowed = { ...decided, decision: 'allow', reason: 'rule', rules: [], hint: null } as const
  const isOpen = made.request !== null && 'host' in made.request && !('address' in made.request)
  return isOpen ? { ...allowed, address_required: true } : allowed
}
