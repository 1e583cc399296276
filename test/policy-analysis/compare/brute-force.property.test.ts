import { compare, isNoWider } from '@palisade/policy-analysis'
import {
  compilePolicy,
  decide,
  type Action,
  type CompiledPolicy,
  type Rule,
} from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { everyCase, LAW_TIMEOUT_MS } from '../../policy-core/every-case.ts'

interface Universe {
  readonly action: Action
  readonly resources: fc.Arbitrary<string>
  /** Requests that distinguish nearly any two such sets. */
  readonly requests: readonly unknown[]
}

describe('isNoWider agrees with an exhaustive search', () => {
  it('over names', { timeout: LAW_TIMEOUT_MS }, () => {
    expect(answersOf(1000, names()).rarerThan({ yes: 0.1, no: 0.1 })).toEqual([])
  })

  it('over names so long that few fit below them', { timeout: LAW_TIMEOUT_MS }, () => {
    expect(answersOf(400, longNames()).rarerThan({ yes: 0.1, no: 0.1 })).toEqual([])
  })

  it('over addresses', { timeout: LAW_TIMEOUT_MS }, () => {
    expect(answersOf(1000, addresses()).rarerThan({ yes: 0.1, no: 0.1 })).toEqual([])
  })

  it('over paths', { timeout: LAW_TIMEOUT_MS }, () => {
    expect(answersOf(600, paths()).rarerThan({ yes: 0.1, no: 0.1 })).toEqual([])
  })
})

function answersOf(runs: number, { action, resources, requests }: Universe) {
  const rule = fc.record({
    decision: fc.constantFrom<Rule['decision']>('allow', 'allow', 'deny'),
    resources: fc.array(resources, { minLength: 1, maxLength: 2 }),
  })
  const rules = fc.array(rule, { maxLength: 3 })
  const sets = fc.record({ same: rules, older: fc.array(rule, { maxLength: 2 }), newer: rules })
  return everyCase(
    { runs, casesPerRun: requests.length },
    sets,
    ({ same, older, newer }, tally) => {
      const before = compiled(action, [...same, ...older])
      const after = compiled(action, [...same, ...newer])

      const opened = requests.filter((request) => isOpened(before, after, request))
      const answer = isNoWider(before, after)

      // A witness from outside the universe may show a change that no request in it shows.
      const shown = answer.answer === 'no' ? [...opened, answer.witness] : opened
      expect(shown.filter((request) => !isOpened(before, after, request))).toEqual([])
      expect(answer.answer).toBe(shown.length > 0 ? 'no' : 'yes')
      expect(compare(before, after).reachable.length > 0).toBe(shown.length > 0)
      tally(answer.answer)
    },
  )
}

function isOpened(before: CompiledPolicy, after: CompiledPolicy, request: unknown): boolean {
  return decide(after, request).decision === 'allow' && decide(before, request).decision === 'deny'
}

function compiled(action: Action, rules: readonly Pick<Rule, 'decision' | 'resources'>[]) {
  const policies = rules.map((body, at) => ({
    id: `p${at}`,
    name: 'p',
    allowlist_v0: { rules: [{ id: 'r', name: 'r', actions: [action], ...body }] },
  }))
  return compilePolicy({ policies })
}

/** One label without rules represents all others. */
function names(): Universe {
  const action = 'connect:tcp'
  const labels = ['a', 'b', 'other']
  const one = [...labels]
  const two = one.flatMap((name) => labels.map((label) => `${label}.${name}`))
  const three = two.flatMap((name) => labels.map((label) => `${label}.${name}`))
  const four = three.flatMap((name) => labels.map((label) => `${label}.${name}`))
  const named = fc.constantFrom(...[...one, ...two].filter((name) => !name.includes('other')))
  const resources = fc
    .tuple(fc.constantFrom('', '*.', '**.'), named, fc.constantFrom('', '', ':80'))
    .map((parts) => parts.join(''))
  const requests = [...one, ...two, ...three, ...four].flatMap((host) =>
    [80, 443].map((port) => ({ action, host, port })),
  )
  return { action, resources, requests }
}

/** Only one more label of one character, out of 38, fits below a domain of 251 characters. */
function longNames(): Universe {
  const action = 'connect:tcp'
  const domain = `${'d'.repeat(63)}.${'d'.repeat(63)}.${'d'.repeat(63)}.${'d'.repeat(59)}`
  const below = [...'abcdefghijklmnopqrstuvwxyz0123456789-_'].map((label) => `${label}.${domain}`)
  const resources = fc.constantFrom(`*.${domain}`, `**.${domain}`, domain, ...below.slice(0, 2))
  const requests = [domain, ...below].map((host) => ({ action, host, port: 443 }))
  return { action, resources, requests }
}

/** Every address of a small range, and one outside. */
function addresses(): Universe {
  const action = 'connect:udp'
  const ranges = [28, 29, 30, 31, 32].flatMap((prefix) =>
    Array.from({ length: 1 << (prefix - 28) }, (_, index) => {
      const last = index << (32 - prefix)
      return [`198.51.100.${last}/${prefix}`, `2001:db8::${last.toString(16)}/${prefix + 96}`]
    }).flat(),
  )
  const single = fc.nat(15).map((last) => `198.51.100.${last}:80`)
  const requests = Array.from({ length: 17 }, (_, last) => [
    `198.51.100.${last}`,
    `2001:db8::${last.toString(16)}`,
    `2002:c633:64${last.toString(16).padStart(2, '0')}::1`,
  ])
    .flat()
    .flatMap((host) => [80, 443].map((port) => ({ action, host, port })))
  const resources = fc.oneof(fc.constantFrom(...ranges, '2002::/16'), single)
  return { action, resources, requests }
}

/**
 * Every path of up to four segments of a small alphabet. Segments with `x` represent all others.
 */
function paths(): Universe {
  const action = 'read'
  const segments = ['a', 'b', 'ab', 'aa', 'ax', 'xa', 'x']
  let level = ['']
  const all = ['/']
  for (let depth = 0; depth < 4; depth += 1) {
    level = level.flatMap((path) => segments.map((segment) => `${path}/${segment}`))
    for (const path of level) all.push(path)
  }
  const part = fc.constantFrom('a', 'b', 'ab', '*', 'a*', '*a', '**')
  const resources = fc.array(part, { maxLength: 3 }).map((parts) => `/${parts.join('/')}`)
  return { action, resources, requests: all.map((path) => ({ action, path })) }
}
