import {
  decisivePorts,
  nextExpiry,
  type Decision,
  type Explanation,
  type Policy,
  runSteps,
  type Steps,
} from '@palisade/policy-core'
import type { AccessGrant, AgentState, ContentFault, InForce } from '@palisade/protocol'
import {
  advance,
  ageAt,
  enforcementOf,
  mayBreakGlass,
  STARTED,
  stateOf,
  type Age,
  type AgentEvent,
  type Enforcement,
  type Facts,
} from '../state/agent-state.ts'
import type { TrustedClock } from '../state/trusted-clock.ts'
import { createClosedGrants, openHeld, type SpentAmong } from './closed-grants.ts'
import { compileBundle, isSameList, type CompiledBundle } from './compile-bundle.ts'
import { decideInForce, explainInForce, type Moment } from './decide-in-force.ts'
import { dropLapsed } from './drop-lapsed.ts'
import { markDecision } from './mark-decision.ts'
import { findOnceGrant } from './once-grant.ts'
import type { PolicyBundle } from './policy-bundle.ts'

/** A verified bundle that this version cannot read. */
export interface UnreadableBundle {
  readonly kind: 'unsupported'
  readonly revision: number
  readonly issued_at: string
  readonly stale_at: string
}

/** An event of the agent state without the age of the bundle, which is computed here. */
export type PolicyEvent =
  | { readonly kind: TakenKind; readonly bundle: CompiledBundle | UnreadableBundle }
  | Exclude<
      AgentEvent<CompiledBundle>,
      { readonly kind: TakenKind | 'unreadable' | 'imported_unreadable' | 'recompiled' | 'aged' }
    >
type TakenKind = 'loaded' | 'verified' | 'imported'

export interface ActivePolicyDeps {
  readonly clock: Pick<TrustedClock, 'now' | 'noteKeptIssue' | 'noteFetchedIssue'>
  /** Canonical and sorted; read before every decision. */
  readonly machineAddresses: () => readonly string[]
  /** Until they are replaced. */
  readonly localPolicies: readonly Policy[]
  /** The home directory that `~` stands for, or null. */
  readonly home: string | null
  /**
   * The server in rule syntax. It stays reachable after the bundle expires, if the bundle allows
   * it.
   */
  readonly controlPlane: readonly string[]
  /** Default: no grant is spent. */
  readonly spentAmong?: SpentAmong | undefined
}

/**
 * A policy-core decision, marked while a break-glass grant is in force, even if the grant changes
 * nothing.
 */
export interface MachineDecision extends Decision {
  readonly break_glass?: true
  /** Why an allowed connection was closed for its content. */
  readonly content?: ContentFault
  /** The organization's text for people, after a denial by its policies; never recorded. */
  readonly support_message?: string
}
export interface MachineExplanation extends Explanation {
  readonly break_glass?: true
  readonly support_message?: string
}

/**
 * The bundle in force with the extent of its allows, or the reason for denying everything. Its
 * `compiled` is that of the present time: another object after the next rule has expired.
 */
export type Enforced = Enforcement<CompiledBundle>

/**
 * The single reference behind every decision of this machine. `state/agent-state.ts` chooses the
 * enforcement; this module applies it.
 */
export interface ActivePolicy {
  decide(request: unknown): MachineDecision
  /** Decides with spent grants that count nevertheless, because their use goes on. */
  decideHolding(request: unknown, held: ReadonlySet<string>): MachineDecision
  /** The grant for one use without which this decision would deny; null for any other. */
  onceGrantOf(decision: Decision): AccessGrant | null
  explain(request: unknown): MachineExplanation
  /** Ports that stand for all ports of a name; policy-core's `decisivePorts`. */
  decisivePorts(name: string): readonly number[]
  /**
   * Compiles a bundle in steps without changing the bundle in force. `next` throws policy-core's
   * `PolicyError`.
   */
  compile(bundle: PolicyBundle, source: CompiledBundle['source']): Steps<CompiledBundle>
  /** Makes one assignment, then calls the subscribers in order. */
  apply(event: PolicyEvent): void
  /** The machine's own policies, of which the denies count. */
  local(): readonly Policy[]
  /**
   * Replaces them, and puts the bundle in force with them at the last step. They must compile. The
   * subscribers are called at the end.
   */
  replaceLocal(policies: readonly Policy[]): Steps<void>
  /** The bundle in force, or null. */
  current(): CompiledBundle | null
  state(): AgentState
  /** The enforcement for the present time and machine addresses, which decides every request. */
  enforced(): Enforced
  /** Describes the present enforcement for the local API. */
  inForce(): InForce
  /** Whether a grant may begin now. */
  mayBreakGlass(): boolean
  /** Age and expiry of the bundle in force; null without one. */
  lifetime(): { readonly age: Age; readonly expiresMs: number } | null
  /** The trusted time by which rules expire, in epoch milliseconds. */
  now(): number
  /** When the next rule of the bundle in force expires, in epoch milliseconds, or null. */
  nextExpiryMs(): number | null
  /** Revision of the last verified bundle, readable or not; null without one. */
  revision(): number | null
  /** Sets the check that precedes every decision under a grant. By default each grant is over. */
  endGrantWhen(isOver: () => boolean): void
  /**
   * Calls the listener after each change of the state or of the enforcement. Returns a function
   * that ends it.
   */
  subscribe(listener: () => void): () => void
}

export function createActivePolicy(deps: ActivePolicyDeps): ActivePolicy {
  let facts: Facts<CompiledBundle> = STARTED
  let local = deps.localPolicies
  let isGrantOver = (): boolean => true
  let newest: CompiledBundle | UnreadableBundle | null = null
  const listeners = new Set<() => void>()
  const notify = (): void => listeners.forEach((listener) => listener())
  const closed = createClosedGrants(deps.spentAmong)
  const closedGrants = ({ bundle }: CompiledBundle): ReadonlySet<string> =>
    closed.among(bundle.grants, facts.server === 'revoked')
  const onChange = (): void => queueMicrotask(notify)
  const atPresent = dropLapsed({ now: deps.clock.now, closedGrants, onChange })

  /** Notifies in a microtask: this runs within decisions, and subscribers make decisions. */
  const advanceQuietly = (event: AgentEvent<CompiledBundle>): void => {
    const former = facts
    facts = advance(facts, event)
    if (facts !== former) queueMicrotask(notify)
  }

  const current = (): CompiledBundle | null =>
    facts.bundle.kind === 'readable' ? facts.bundle.value : null
  const compile: ActivePolicy['compile'] = (bundle, source) =>
    compileBundle(bundle, { ...deps, localPolicies: local, source, former: current() })
  const moment = (): Moment => ({
    now: deps.clock.now(),
    revision: newest?.kind === 'unsupported' ? newest.revision : null,
  })

  /** Computes the enforcement for the present time and the present machine addresses. */
  const enforced = (): Enforced => {
    if (facts.grant && isGrantOver()) advanceQuietly({ kind: 'grant_ended' })
    if (facts.bundle.kind === 'readable') {
      const { bundle, limits, source, machineAddresses, local: compiledLocal } = facts.bundle.value
      advanceQuietly({ kind: 'aged', age: ageAt(deps.clock.now(), limits) })
      // An address added since the last compilation is protected at once. No decision may be made
      // without it, so this compilation does not run in turns. The same holds for a bundle whose
      // compilation began before a change of the local policies.
      if (compiledLocal !== local || !isSameList(machineAddresses, deps.machineAddresses()))
        advanceQuietly({ kind: 'recompiled', bundle: runSteps(compile(bundle, source)) })
    }
    return atPresent(enforcementOf(facts))
  }

  /** In `break_glass` all allows count, so no decision lapses and each is marked. */
  const marked = <T extends Decision>(made: T) =>
    markDecision(made, current()?.bundle, facts.grant && stateOf(facts) === 'break_glass')

  const takeBundle = (kind: TakenKind, bundle: CompiledBundle | UnreadableBundle): void => {
    const former = facts
    const claims = bundle.kind === 'bundle' ? bundle.bundle : bundle
    const issuedMs = Date.parse(claims.issued_at)
    if (kind === 'loaded') deps.clock.noteKeptIssue(issuedMs)
    else deps.clock.noteFetchedIssue(issuedMs, Date.parse(claims.stale_at))
    if (bundle.kind === 'unsupported')
      facts = advance(facts, { kind: kind === 'imported' ? 'imported_unreadable' : 'unreadable' })
    else facts = advance(facts, { kind, bundle, age: ageAt(deps.clock.now(), bundle.limits) })
    if (facts.bundle !== former.bundle) newest = bundle
  }

  return {
    compile,

    decide: (request) => marked(decideInForce(enforced(), request, moment())),
    explain: (request) => marked(explainInForce(enforced(), request, moment())),

    decideHolding(request, held) {
      const isRevoked = facts.server === 'revoked'
      const rule = isRevoked ? enforced() : openHeld(enforced(), current(), closedGrants, held)
      return marked(decideInForce(rule, request, moment()))
    },

    onceGrantOf: (decision) => findOnceGrant(current()?.bundle ?? null, decision),

    decisivePorts: (name) => portsUnder(enforced(), name),

    apply(event) {
      if ('bundle' in event) takeBundle(event.kind, event.bundle)
      else facts = advance(facts, event)
      notify()
    },

    local: () => local,

    *replaceLocal(policies) {
      const former = current()
      const compiled = former && (yield* recompile(former, { ...deps, localPolicies: policies }))
      local = policies
      // A bundle that came into force meanwhile is compiled again by `enforced`.
      if (compiled !== null && current() === former)
        facts = advance(facts, { kind: 'recompiled', bundle: compiled })
      notify()
    },

    current,

    state() {
      enforced()
      return stateOf(facts)
    },

    enforced,

    inForce() {
      const rule = enforced()
      const isOpen = rule.kind === 'bundle' && rule.allows !== 'none'
      return { state: stateOf(facts), revision: isOpen ? rule.bundle.bundle.revision : null }
    },

    mayBreakGlass: () => mayBreakGlass(facts),

    lifetime() {
      enforced()
      if (facts.bundle.kind !== 'readable') return null
      return { age: facts.age, expiresMs: facts.bundle.value.limits.expiresMs }
    },

    now: deps.clock.now,
    nextExpiryMs: () => nextExpiryOf(facts, deps.clock.now()),

    revision: () => (newest?.kind === 'bundle' ? newest.bundle : newest)?.revision ?? null,

    endGrantWhen: (isOver) => void (isGrantOver = isOver),

    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

function nextExpiryOf({ bundle }: Facts<CompiledBundle>, nowMs: number): number | null {
  return bundle.kind === 'readable' ? nextExpiry(bundle.value.compiled, nowMs) : null
}

/**
 * After an expiry the offline hosts decide too, so the ports of both policies count, and one that
 * neither names.
 */
function portsUnder(rule: Enforced, name: string): readonly number[] {
  if (rule.kind === 'nothing') return []
  const { compiled, offline } = rule.bundle
  const ports = new Set([...decisivePorts(compiled, name), ...decisivePorts(offline, name)])
  let other = 1
  while (ports.has(other) && other < 65_535) other += 1
  return [...ports.add(other)]
}

/** The same bundle for other surroundings. */
function recompile(
  former: CompiledBundle,
  deps: Omit<ActivePolicyDeps, 'clock'>,
): Steps<CompiledBundle> {
  return compileBundle(former.bundle, { ...deps, source: former.source, former })
}
