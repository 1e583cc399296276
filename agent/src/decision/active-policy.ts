import {
  compilePolicy,
  decide,
  denyUnavailable,
  explain,
  explainUnavailable,
  type CompiledPolicy,
  type Decision,
  type Explanation,
  type Policy,
  type UnavailableReason,
} from '@palisade/policy-core'
import type { AgentState } from '@palisade/protocol'
import type { PolicyBundle } from './policy-bundle.ts'

/** A verified bundle, compiled for the addresses that this machine had at the time. */
export interface CompiledBundle {
  readonly kind: 'bundle'
  readonly bundle: PolicyBundle
  readonly source: 'server' | 'cache'
  readonly compiled: CompiledPolicy
  readonly machineAddresses: readonly string[]
}

/** A verified bundle that this version cannot read. */
export interface UnreadableBundle {
  readonly kind: 'unsupported'
  readonly revision: number
  readonly issued_at: string
}

export type PolicyInForce = { readonly kind: 'none' } | UnreadableBundle | CompiledBundle

export interface ActivePolicyDeps {
  /** Epoch milliseconds. */
  readonly clock: () => number
  /** Canonical and sorted; asked before every decision. */
  readonly machineAddresses: () => readonly string[]
  readonly localPolicies: readonly Policy[]
  /** What `~` stands for, or null. */
  readonly home: string | null
}

/** The one reference that every decision of this machine goes through; denies while it is empty. */
export interface ActivePolicy {
  decide(request: unknown): Decision
  explain(request: unknown): Explanation
  /** Throws policy-core's `PolicyError`; changes nothing. */
  compile(bundle: PolicyBundle, source: CompiledBundle['source']): CompiledBundle
  /** One assignment, then the subscribers, in order. */
  replace(next: Exclude<PolicyInForce, { kind: 'none' }>): void
  current(): PolicyInForce
  state(): AgentState
  /** Revision and time of issue that the next bundle must not fall behind; null for none. */
  floor(): { readonly revision: number; readonly issued_at: string } | null
  subscribe(listener: () => void): void
}

type Standing =
  | { readonly usable: true; readonly compiled: CompiledPolicy; readonly stale: boolean }
  | {
      readonly usable: false
      readonly reason: UnavailableReason
      readonly options: { readonly revision?: number; readonly stale?: boolean }
    }

export function createActivePolicy(deps: ActivePolicyDeps): ActivePolicy {
  let current: PolicyInForce = { kind: 'none' }
  let latestMs = 0
  const listeners: (() => void)[] = []

  /** Setting the clock back must not bring an expired bundle back to life. */
  const now = (): number => {
    latestMs = Math.max(latestMs, deps.clock())
    return latestMs
  }

  const compile: ActivePolicy['compile'] = (bundle, source) => {
    const machineAddresses = deps.machineAddresses()
    const compiled = compilePolicy({
      policies: bundle.policies,
      local: deps.localPolicies,
      governed: true,
      machine_addresses: machineAddresses,
      resolve_unlisted_names: bundle.settings.resolve_unlisted_names,
      revision: bundle.revision,
      ...(deps.home === null ? {} : { home: deps.home }),
    })
    return { kind: 'bundle', bundle, source, compiled, machineAddresses }
  }

  /** An address that the machine got after the last compilation is protected from now on. */
  const refresh = (inForce: CompiledBundle): CompiledBundle => {
    if (isSameList(inForce.machineAddresses, deps.machineAddresses())) return inForce
    const next = compile(inForce.bundle, inForce.source)
    current = next
    // Not at once: this runs inside a decision, and subscribers decide.
    queueMicrotask(() => listeners.forEach((listener) => listener()))
    return next
  }

  const standing = (): Standing => {
    if (current.kind === 'none') return { usable: false, reason: 'no_policy', options: {} }
    if (current.kind === 'unsupported') {
      const { revision } = current
      return { usable: false, reason: 'unsupported_policy', options: { revision } }
    }
    const { bundle } = current
    const nowMs = now()
    if (nowMs >= Date.parse(bundle.expires_at)) {
      const options = { revision: bundle.revision, stale: true }
      return { usable: false, reason: 'policy_expired', options }
    }
    const stale = nowMs >= Date.parse(bundle.stale_at)
    return { usable: true, compiled: refresh(current).compiled, stale }
  }

  return {
    compile,

    decide(request) {
      const found = standing()
      return found.usable
        ? decide(found.compiled, request, { stale: found.stale })
        : denyUnavailable(found.reason, request, found.options)
    },

    explain(request) {
      const found = standing()
      return found.usable
        ? explain(found.compiled, request, { stale: found.stale })
        : explainUnavailable(found.reason, request, found.options)
    },

    replace(next) {
      current = next
      // A verified issue is a moment that has passed; an earlier wrong clock is forgotten with it.
      latestMs = Date.parse(next.kind === 'bundle' ? next.bundle.issued_at : next.issued_at)
      for (const listener of listeners) listener()
    },

    current: () => current,

    state() {
      if (current.kind === 'none') return 'never_loaded'
      if (current.kind === 'unsupported') return 'unsupported'
      const nowMs = now()
      if (nowMs >= Date.parse(current.bundle.expires_at)) return 'expired'
      return nowMs >= Date.parse(current.bundle.stale_at) ? 'stale' : 'fresh'
    },

    floor() {
      if (current.kind === 'none') return null
      const { revision, issued_at } = current.kind === 'bundle' ? current.bundle : current
      return { revision, issued_at }
    },

    subscribe(listener) {
      listeners.push(listener)
    },
  }
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index])
}
