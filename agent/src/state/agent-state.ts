import type { AgentState } from '@palisade/protocol'

/** How old what is in force is, by the limits that were signed with it. */
export const AGES = ['fresh', 'stale', 'expired'] as const
export type Age = (typeof AGES)[number]

/**
 * What a machine knows that bears on what it enforces; `B` is a bundle, which is not looked into.
 */
export interface Facts<B> {
  readonly bundle:
    | { readonly kind: 'none' | 'damaged' | 'unreadable' }
    | { readonly kind: 'readable'; readonly value: B }
  /** Of the bundle; never falls but with the next one. */
  readonly age: Age
  /** What the server's last word comes to. */
  readonly server: 'well' | 'refused' | 'revoked'
  /** How many organizations claim this machine. */
  readonly enrolments: 'one' | 'two'
  readonly grant: boolean
}

/** All that may happen to a machine. */
export type AgentEvent<B> =
  /** What was kept was verified again at start; nothing newer is forgotten for it. */
  | { readonly kind: 'loaded'; readonly bundle: B; readonly age: Age }
  /** What was kept cannot be used. */
  | { readonly kind: 'damaged' }
  /** A view was fetched and verified, is not older than what was accepted, and is on disk. */
  | { readonly kind: 'verified'; readonly bundle: B; readonly age: Age }
  /** The same, brought by hand: what the server says of this machine stands. */
  | { readonly kind: 'imported'; readonly bundle: B; readonly age: Age }
  /** The same, of a form that this version does not know; `unreadable` also from disk. */
  | { readonly kind: 'unreadable' | 'imported_unreadable' }
  /** The same bundle, compiled for the addresses that the machine has now. */
  | { readonly kind: 'recompiled'; readonly bundle: B }
  /** The server has nothing else. */
  | { readonly kind: 'unchanged' }
  /** Nothing was learned: the server was not reached, or what it has could not be kept. */
  | { readonly kind: 'away' }
  /** The server has something that was refused. */
  | { readonly kind: 'refused' }
  /** The server does not know this machine any more. */
  | { readonly kind: 'revoked' }
  /** It has signed for this machine after that; nothing else ends a revocation. */
  | { readonly kind: 'readmitted' }
  /** By the clock, the bundle is as old as this. A clock that was set back makes it no younger. */
  | { readonly kind: 'aged'; readonly age: Age }
  | { readonly kind: 'second_enrolment' }
  | { readonly kind: 'single_enrolment' }
  /** A signed grant: what was allowed before the bundle expired is allowed again. */
  | { readonly kind: 'grant_accepted' }
  /** What is left of one that was accepted before this start. */
  | { readonly kind: 'grant_resumed' }
  | { readonly kind: 'grant_ended' }

/** What every decision of a machine is made by. */
export type Enforcement<B> =
  /** Everything is denied. */
  | { readonly kind: 'nothing'; readonly reason: 'no_policy' | 'unsupported_policy' }
  /** Denies of the bundle count always; of its allows all, those of `offline_allow`, or none. */
  | {
      readonly kind: 'bundle'
      readonly bundle: B
      readonly allows: 'all' | 'offline' | 'none'
      readonly stale: boolean
    }

/** A machine that has just started. */
export const STARTED: Facts<never> = {
  bundle: { kind: 'none' },
  age: 'fresh',
  server: 'well',
  enrolments: 'one',
  grant: false,
}

/** Events that set a fact, unless `set` says otherwise. */
const SETS = {
  unchanged: { server: 'well' },
  away: {},
  refused: { server: 'refused' },
  revoked: { server: 'revoked' },
  readmitted: { server: 'well' },
  second_enrolment: { enrolments: 'two' },
  single_enrolment: { enrolments: 'one' },
  grant_accepted: { grant: true },
  grant_resumed: { grant: true },
  grant_ended: { grant: false },
} as const

/** The facts after one more event. */
export function advance<B>(facts: Facts<B>, event: AgentEvent<B>): Facts<B> {
  switch (event.kind) {
    case 'loaded':
      if (facts.bundle.kind !== 'none') return facts
      return { ...facts, bundle: { kind: 'readable', value: event.bundle }, age: event.age }
    case 'damaged':
      return facts.bundle.kind === 'none' ? { ...facts, bundle: { kind: 'damaged' } } : facts
    case 'verified':
      return {
        ...facts,
        bundle: { kind: 'readable', value: event.bundle },
        age: event.age,
        server: answeredBy(facts),
      }
    case 'imported':
      return { ...advance(facts, { ...event, kind: 'verified' }), server: facts.server }
    case 'imported_unreadable':
      return { ...advance(facts, { kind: 'unreadable' }), server: facts.server }
    case 'unreadable':
      return { ...facts, bundle: { kind: 'unreadable' }, age: 'fresh', server: answeredBy(facts) }
    case 'recompiled':
      if (facts.bundle.kind !== 'readable') return facts
      return { ...facts, bundle: { kind: 'readable', value: event.bundle } }
    case 'aged':
      return growOlder(facts, event.age)
    default:
      return set(facts, event.kind)
  }
}

function set<B>(facts: Facts<B>, kind: keyof typeof SETS): Facts<B> {
  if (kind === 'grant_accepted' && !mayBreakGlass(facts)) return facts
  const isRevoked = facts.server === 'revoked'
  // INVARIANT: no unsigned or recorded answer ends a revocation, or a refused grant could be begun
  // after it.
  if (isRevoked && (kind === 'unchanged' || kind === 'refused')) return facts
  if (!isRevoked && kind === 'readmitted') return facts
  return { ...facts, ...SETS[kind] }
}

/** What the server comes to once it has given something good, which may be a recorded answer. */
function answeredBy({ server }: Facts<unknown>): 'well' | 'revoked' {
  return server === 'revoked' ? 'revoked' : 'well'
}

/** Whether there is something that a grant may lift, and nobody has put the machine out. */
export function mayBreakGlass({ bundle, server, enrolments }: Facts<unknown>): boolean {
  return bundle.kind === 'readable' && server !== 'revoked' && enrolments === 'one'
}

/** The same facts where they would become younger. */
function growOlder<B>(facts: Facts<B>, age: Age): Facts<B> {
  return AGES.indexOf(age) > AGES.indexOf(facts.age) ? { ...facts, age } : facts
}

/**
 * The first that applies names the state: what a person has to act on comes before what explains
 * it.
 */
export const STATE_ORDER: readonly (readonly [AgentState, (facts: Facts<unknown>) => boolean])[] = [
  ['conflict', ({ enrolments }) => enrolments === 'two'],
  ['revoked', ({ server }) => server === 'revoked'],
  ['never_loaded', ({ bundle }) => bundle.kind === 'none'],
  ['corrupt', ({ bundle }) => bundle.kind === 'damaged'],
  ['unsupported', ({ bundle }) => bundle.kind === 'unreadable'],
  ['break_glass', ({ grant }) => grant],
  ['expired', ({ age }) => age === 'expired'],
  ['rejected', ({ server }) => server === 'refused'],
  ['stale', ({ age }) => age === 'stale'],
  ['fresh', () => true],
]

/** The name of where a machine stands. */
export function stateOf(facts: Facts<unknown>): AgentState {
  return STATE_ORDER.find(([, applies]) => applies(facts))?.[0] ?? 'fresh'
}

/** What is enforced. Nothing else decides it. */
export function enforcementOf<B>(facts: Facts<B>): Enforcement<B> {
  const { bundle, age, server, enrolments, grant } = facts
  if (bundle.kind === 'unreadable') return { kind: 'nothing', reason: 'unsupported_policy' }
  if (bundle.kind !== 'readable') return { kind: 'nothing', reason: 'no_policy' }
  const enforced = { kind: 'bundle', bundle: bundle.value, stale: age !== 'fresh' } as const
  if (enrolments === 'two') return { ...enforced, allows: 'none' }
  // INVARIANT: a grant lifts the expiry, never a rule, and not for a machine that was put out.
  const isLifted = grant && server !== 'revoked'
  return { ...enforced, allows: age === 'expired' && !isLifted ? 'offline' : 'all' }
}

/** How old something is at `nowMs`; what has no proper time has expired. */
export function ageAt(nowMs: number, limits: { stale_at: string; expires_at: string }): Age {
  if (!(nowMs < Date.parse(limits.expires_at))) return 'expired'
  return nowMs < Date.parse(limits.stale_at) ? 'fresh' : 'stale'
}
