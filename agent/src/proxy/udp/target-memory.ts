import type { MachineDecision } from '../../policy/decision/active-policy.ts'
import type { Target } from '../target/authority.ts'
import type { UdpFlow } from './udp-flow.ts'

/** A target whose datagrams wait for its decision. */
export interface Undecided {
  readonly kind: 'undecided'
  readonly target: Target
  readonly held: Buffer[]
  /** The earlier decision on the target, which this one replaces. */
  readonly former: Decided | undefined
}

interface Open {
  readonly kind: 'open'
  readonly flow: UdpFlow
  /** Uptime at which the decision is over. */
  readonly untilMs: number
}

interface Closed {
  readonly kind: 'closed'
  /** Null where no datagram can be sent, for another reason than the policy. */
  readonly denial: MachineDecision | null
  readonly untilMs: number
}

export type Decided = Open | Closed

/** The targets that one association knows, by a key of its own. */
export interface TargetMemory {
  /** Counts as a use. */
  get(key: string): Undecided | Decided | undefined
  has(key: string, known: Undecided): boolean
  hasFlow(key: string, flow: UdpFlow): boolean
  /** Makes room, if it must: the flow of the least recently used target is ended. */
  set(key: string, known: Undecided | Decided): void
  delete(key: string): void
  /** Ends all flows. */
  clear(): void
}

export function createTargetMemory(maxTargets: number): TargetMemory {
  /** In the order of their last use. */
  const targets = new Map<string, Undecided | Decided>()

  const drop = (key: string, known: Undecided | Decided): void => {
    targets.delete(key)
    if (known.kind === 'open') known.flow.end('closed')
  }

  return {
    get(key) {
      const known = targets.get(key)
      if (known === undefined) return undefined
      targets.delete(key)
      targets.set(key, known)
      return known
    },
    has: (key, known) => targets.get(key) === known,
    hasFlow(key, flow) {
      const known = targets.get(key)
      return known?.kind === 'open' && known.flow === flow
    },
    set(key, known) {
      targets.delete(key)
      for (const [oldest, dropped] of targets) {
        if (targets.size < maxTargets) break
        drop(oldest, dropped)
      }
      targets.set(key, known)
    },
    delete: (key) => void targets.delete(key),
    clear() {
      for (const [key, known] of targets) drop(key, known)
    },
  }
}
