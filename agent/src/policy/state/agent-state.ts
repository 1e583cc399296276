import type { AgentState } from '@palisade/protocol'

/** How old the bundle in force is, by the limits that were signed with it. */
export const AGES = ['fresh', 'stale', 'expired'] as const
export type Age = (typeof AGES)[number]

/** The knowledge of a machine that affects its enforcement; the bundle `B` is opaque. */
export interface Facts<B> {
  readonly bundle:
    | { readonly kind: 'none' | 'damaged' | 'unreadable' }
    | { readonly kind: 'readable'; readonly value: B }
  /** Age of the bundle; falls only with the next bundle. */
  readonly age: Age
  /** The server's last answer. */
  readonly server: 'well' | 'refused' | 'revoked'
  /** How many organizations claim this machine. */
  readonly enrolments: 'one' | 'two'
  readonly grant: boolean
}

/** All events of a machine. */
export type AgentEvent<B> =
  /** The cached bundle was verified at start; it does not replace a newer one. */
  | { readonly kind: 'loaded'; readonly bundle: B; readonly age: Age }
  /** The cached bundle cannot be used. */
  | { readonly kind: 'damaged' }
  /** A view was fetched and verified, is not older than the accepted ones, and is on disk. */
  | { readonly kind: 'verified'; readonly bundle: B; readonly age: Age }
  /** A view from a file was verified, and is on disk: the server's last answer still counts. */
  | { readonly kind: 'imported'; readonly bundle: B; readonly age: Age }
  /** A view has a form unknown to this version; an `unreadable` one may also come from disk. */
  | { readonly kind: 'unreadable' | 'imported_unreadable' }
  /** The same bundle, compiled for new machine addresses. */
  | { readonly kind: 'recompiled'; readonly bundle: B }
  /** The server confirmed the present bundle. */
  | { readonly kind: 'unchanged' }
  /** No new knowledge: the server was unreachable, or its answer could not be kept. */
  | { readonly kind: 'away' }
  /** The server offered a view that was refused. */
  | { readonly kind: 'refused' }
  /** The server no longer knows this machine. */
  | { readonly kind: 'revoked' }
  /** The server has signed for this machine after the revocation; only this ends it. */
  | { readonly kind: 'readmitted' }
  /** The age of the bundle by the clock. A clock that was set back does not make it younger. */
  | { readonly kind: 'aged'; readonly age: Age }
  | { readonly kind: 'second_enrolment' }
  | { readonly kind: 'single_enrolment' }
  /** A signed grant was accepted: the allows of an expired bundle count again. */
  | { readonly kind: 'grant_accepted' }
  /** A grant that was accepted before this start continues. */
  | { readonly kind: 'grant_resumed' }
  | { readonly kind: 'grant_ended' }

/** The enforcement that every decision of a machine follows. */
export type Enforcement<B> =
  /** Everything is denied. */
  | { readonly kind: 'nothing'; readonly reason: 'no_policy' | 'unsupported_policy' }
  /**
   * Denies of the bundle always count; of its allows all, those of `offline_allow`, or no allows.
   */
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

/** Events that set a fact, subject to the checks in `set`. */
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
  // INVARIANT: an unsigned or replayed answer never ends a revocation; otherwise a refused grant
  // could begin after it.
  if (isRevoked && (kind === 'unchanged' || kind === 'refused')) return facts
  if (!isRevoked && kind === 'readmitted') return facts
  return { ...facts, ...SETS[kind] }
}

/** The server's standing after a good answer. The answer may be a replay, so a revocation stays. */
function answeredBy({ server }: Facts<unknown>): 'well' | 'revoked' {
  return server === 'revoked' ? 'revoked' : 'well'
}

/** Whether a grant may begin: a readable bundle, no revocation, and a single enrolment. */
export function mayBreakGlass({ bundle, server, enrolments }: Facts<unknown>): boolean {
  return bundle.kind === 'readable' && server !== 'revoked' && enrolments === 'one'
}

/** Unchanged if the facts would become younger. */
function growOlder<B>(facts: Facts<B>, age: Age): Facts<B> {
  return AGES.indexOf(age) > AGES.indexOf(facts.age) ? { ...facts, age } : facts
}

/**
 * The first match names the state: states that a person must act on come before explanatory ones.
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

/** The name of the machine's state. */
export function stateOf(facts: Facts<unknown>): AgentState {
  return STATE_ORDER.find(([, applies]) => applies(facts))?.[0] ?? 'fresh'
}

/** The only function that chooses the enforcement. */
export function enforcementOf<B>(facts: Facts<B>): Enforcement<B> {
  const { bundle, age, server, enrolments, grant } = facts
  if (bundle.kind === 'unreadable') return { kind: 'nothing', reason: 'unsupported_policy' }
  if (bundle.kind !== 'readable') return { kind: 'nothing', reason: 'no_policy' }
  const enforced = { kind: 'bundle', bundle: bundle.value, stale: age !== 'fresh' } as const
  if (enrolments === 'two') return { ...enforced, allows: 'none' }
  // INVARIANT: a grant lifts the expiry, never a rule, and not for a revoked machine.
  const isLifted = grant && server !== 'revoked'
  return { ...enforced, allows: age === 'expired' && !isLifted ? 'offline' : 'all' }
}

/** When a bundle becomes stale and expires, in milliseconds since the epoch; NaN if invalid. */
export interface AgeLimits {
  readonly staleMs: number
  readonly expiresMs: number
}

/** Parsed once for each bundle, because every decision compares with them. */
export function ageLimitsOf(bundle: { stale_at: string; expires_at: string }): AgeLimits {
  return { staleMs: Date.parse(bundle.stale_at), expiresMs: Date.parse(bundle.expires_at) }
}

/** The age at `nowMs`; an invalid time counts as expired. */
export function ageAt(nowMs: number, { staleMs, expiresMs }: AgeLimits): Age {
  if (!(nowMs < expiresMs)) return 'expired'
  return nowMs < staleMs ? 'fresh' : 'stale'
}
