import { AGENT_STATES, type AgentState } from '@palisade/protocol'
import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import {
  advance,
  ageAt,
  ageLimitsOf,
  AGES,
  enforcementOf,
  STARTED,
  STATE_ORDER,
  stateOf,
  type AgentEvent,
  type Facts,
} from '../../../../agent/src/policy/state/agent-state.ts'

const aged = (kind: 'loaded' | 'verified' | 'imported') =>
  AGES.map((age): AgentEvent<string> => ({ kind, bundle: kind, age }))

/** Every event in each of its forms, by its name in `transitions.txt`. */
const EVENTS: readonly (readonly [string, readonly AgentEvent<string>[]])[] = [
  ['loaded from disk', aged('loaded')],
  ['what was kept is damaged', [{ kind: 'damaged' }]],
  ['verified, newer', aged('verified')],
  ['verified, unreadable', [{ kind: 'unreadable' }]],
  ['imported from a file', aged('imported')],
  ['imported, unreadable', [{ kind: 'imported_unreadable' }]],
  ['machine has other addresses', [{ kind: 'recompiled', bundle: 'recompiled' }]],
  ['poll: unchanged', [{ kind: 'unchanged' }]],
  ['poll: server away', [{ kind: 'away' }]],
  ['poll: refused', [{ kind: 'refused' }]],
  ['key is refused', [{ kind: 'revoked' }]],
  ['signed after the refusal', [{ kind: 'readmitted' }]],
  ['`stale_at` passes', [{ kind: 'aged', age: 'stale' }]],
  ['`expires_at` passes', [{ kind: 'aged', age: 'expired' }]],
  ['clock set back', [{ kind: 'aged', age: 'fresh' }]],
  ['second enrolment', [{ kind: 'second_enrolment' }]],
  ['one enrolment again', [{ kind: 'single_enrolment' }]],
  ['grant accepted', [{ kind: 'grant_accepted' }]],
  ['grant goes on after a restart', [{ kind: 'grant_resumed' }]],
  ['grant ended', [{ kind: 'grant_ended' }]],
]

/** All reachable facts, found by exploring from the start. */
function reachable(): readonly Facts<string>[] {
  const found = new Map<string, Facts<string>>()
  const open: Facts<string>[] = [STARTED]
  for (let facts = open.pop(); facts !== undefined; facts = open.pop()) {
    const key = JSON.stringify(facts)
    if (found.has(key)) continue
    found.set(key, facts)
    for (const event of EVENTS.flatMap(([, forms]) => forms)) open.push(advance(facts, event))
  }
  return [...found.values()]
}

const ALL = reachable()

/** The next states; more than three are `*`, and the order of states decides. */
function nextStates(state: AgentState, events: readonly AgentEvent<string>[]): string {
  const next = new Set<string>()
  for (const facts of ALL.filter((each) => stateOf(each) === state))
    for (const event of events) next.add(stateOf(advance(facts, event)))
  const names = AGENT_STATES.filter((name) => next.has(name))
  return names.length > 3 ? '*' : names.join(', ')
}

/** Each event, with the states that it may change. */
function formatTransitions(): string {
  const events = EVENTS.map(([name, forms]) => {
    const changes = AGENT_STATES.map((state) => [state, nextStates(state, forms)] as const)
      .filter(([state, next]) => next !== state)
      .map(([state, next]) => `  ${state} -> ${next}\n`)
    return `${name}\n${changes.length === 0 ? '  no change\n' : changes.join('')}`
  })
  return events.join('\n')
}

/** Reads the cells of the first table below a heading. */
async function readTable(heading: string): Promise<string[][]> {
  const text = await readFile(new URL('../../../../docs/agent-states.md', import.meta.url), 'utf8')
  const lines = text.slice(text.indexOf(`\n${heading}\n`)).split('\n')
  const first = lines.findIndex((line) => line.startsWith('|'))
  const rest = lines.slice(first)
  return rest
    .slice(
      0,
      rest.findIndex((line) => !line.startsWith('|')),
    )
    .filter((_line, index) => index !== 1)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

describe('the states of an agent', () => {
  it('are listed in docs/agent-states.md in the order in which they apply', async () => {
    const [, ...rows] = await readTable('## The states')

    expect(rows.map(([name]) => name)).toEqual(STATE_ORDER.map(([name]) => `\`${name}\``))
    expect(STATE_ORDER.map(([name]) => name).toSorted()).toEqual([...AGENT_STATES].toSorted())
  })

  it('follow each other as in transitions.txt', async () => {
    await expect(formatTransitions()).toMatchFileSnapshot('transitions.txt')
  })

  it('are all reachable', () => {
    expect(new Set(ALL.map(stateOf))).toEqual(new Set(AGENT_STATES))
  })
})

describe('a grant', () => {
  it('is accepted only with a bundle in force, a single organization, and no revocation', () => {
    const takers = ALL.filter((facts) => !facts.grant).filter(
      (facts) => advance(facts, { kind: 'grant_accepted' }).grant,
    )

    const states = ['fresh', 'stale', 'expired', 'rejected'] as const
    expect(new Set(takers.map(stateOf))).toEqual(new Set(states))
    const able = ALL.filter((facts) => states.some((state) => state === stateOf(facts)))
    expect(takers).toEqual(able)
  })
})

describe('the enforcement', () => {
  const enforced = ALL.map((facts) => ({ facts, state: stateOf(facts), ...enforcementOf(facts) }))

  it('is empty exactly while there is no readable bundle', () => {
    for (const { facts, kind } of enforced)
      expect(kind).toBe(facts.bundle.kind === 'readable' ? 'bundle' : 'nothing')
  })

  it('has only the allows of the list after the expiry, unless a grant lifts it', () => {
    const expired = enforced.filter(({ facts }) => facts.age === 'expired')
    const open = expired.filter((each) => each.kind === 'bundle' && each.allows === 'all')

    expect(new Set(open.map(({ state }) => state))).toEqual(new Set(['break_glass']))
    for (const each of expired) expect(each).not.toMatchObject({ kind: 'bundle', stale: false })
  })

  it.each([
    ['conflict', ['none', undefined]],
    ['revoked', ['all', 'offline', undefined]],
    ['never_loaded', [undefined]],
    ['corrupt', [undefined]],
    ['unsupported', [undefined]],
    ['break_glass', ['all']],
    ['expired', ['offline']],
    ['rejected', ['all']],
    ['stale', ['all']],
    ['fresh', ['all']],
  ] as const)('counts in `%s` these allows: %j', (name, expected) => {
    const found = enforced.filter(({ state }) => state === name)
    const allows = new Set(found.map((each) => (each.kind === 'bundle' ? each.allows : undefined)))

    expect(allows).toEqual(new Set(expected))
  })

  it('uses the newest verified bundle, whatever event follows', () => {
    for (const facts of ALL) {
      const verified = advance(facts, { kind: 'verified', bundle: 'newest', age: 'fresh' })
      for (const event of EVENTS.flatMap(([, forms]) => forms)) {
        if (
          ['verified', 'imported', 'unreadable', 'imported_unreadable', 'recompiled'].includes(
            event.kind,
          )
        )
          continue
        const rule = enforcementOf(advance(verified, event))
        expect(rule).toMatchObject({ kind: 'bundle', bundle: 'newest' })
      }
    }
  })
})

describe('the age of a bundle', () => {
  const limits = { stale_at: '2026-01-02T00:00:00Z', expires_at: '2026-01-08T00:00:00Z' }

  it.each([
    ['2026-01-01T23:59:59.999Z', limits, 'fresh'],
    ['2026-01-02T00:00:00Z', limits, 'stale'],
    ['2026-01-08T00:00:00Z', limits, 'expired'],
    ['2026-01-02T00:00:00Z', { ...limits, expires_at: '2026-01-01T00:00:00Z' }, 'expired'],
    ['2026-01-01T00:00:00Z', { ...limits, expires_at: 'never' }, 'expired'],
    ['2026-01-01T00:00:00Z', { ...limits, stale_at: 'never' }, 'stale'],
  ])('at %s follows its limits', (now, given, age) => {
    expect(ageAt(Date.parse(now), ageLimitsOf(given))).toBe(age)
  })
})
