import { compare, isNoWider, type Change } from '@palisade/policy-analysis'
import { compilePolicy, decide, type PolicySet, type Rule } from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { requestChoices, requestFrom } from '../../policy-core/arbitraries/request.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../../policy-core/every-case.ts'
import { readPolicySet } from '../../policy-core/reference/reference-rules.ts'
import { readRequest, type ReferenceRequest } from '../../policy-core/reference/request.ts'
import { holding, type Policies } from './change-holds.ts'
import { embeddedPairs } from './embedded-pairs.ts'
import { crowdedPairs, policyPairs, tightenedPairs, type PolicyPair } from './policy-pairs.ts'

const REQUESTS = 40
const allOutcomes = {
  'deny to allow': 0.03,
  'allow to deny': 0.03,
  'still allow': 0.03,
  'still deny': 0.05,
}

describe('compare and isNoWider', () => {
  it('report exactly the decisions that changed', { timeout: LAW_TIMEOUT_MS }, () => {
    expect(comparedCases(500, policyPairs()).rarerThan(allOutcomes)).toEqual([])
  })

  it(
    'report exactly the decisions that changed for embedded addresses',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      expect(comparedCases(500, embeddedPairs()).rarerThan(allOutcomes)).toEqual([])
    },
  )

  it(
    'report exactly the decisions that changed for many rules',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      expect(
        comparedCases(100, crowdedPairs()).rarerThan({ ...allOutcomes, groups: 0.0005 }),
      ).toEqual([])
    },
  )

  it('give examples and witnesses that decide confirms', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase({ runs: 1000 }, policyPairs(), (pair, tally) => {
      const { before, after } = compiled(pair)
      const { reachable, blocked } = compare(before, after)
      const noWider = isNoWider(before, after)

      for (const { example, only: partner } of reachable) {
        expect(decide(before, example)).toMatchObject({ decision: 'deny', request: example })
        expect(decide(after, example)).toMatchObject({ decision: 'allow', request: example })
        tally(`reachable ${partner ?? 'alone'}`)
      }
      for (const { example, only: partner } of blocked) {
        expect(decide(before, example)).toMatchObject({ decision: 'allow', request: example })
        expect(decide(after, example)).toMatchObject({ decision: 'deny', request: example })
        tally(`blocked ${partner ?? 'alone'}`)
      }
      const witness = noWider.answer === 'no' ? noWider.witness : null
      const [was, is] = [decide(before, witness), decide(after, witness)]
      expect(noWider).toStrictEqual(
        witness === null ? { answer: 'yes' } : { answer: 'no', witness, before: was, after: is },
      )
      expect([was.decision, is.decision]).toEqual(['deny', witness === null ? 'deny' : 'allow'])
    })

    expect(
      outcomes.rarerThan({
        'reachable alone': 0.2,
        'reachable with_allowed_name': 0.005,
        'reachable with_allowed_address': 0.005,
        'blocked alone': 0.2,
      }),
    ).toEqual([])
  })

  it('report no change that another one contains', { timeout: LAW_TIMEOUT_MS }, () => {
    everyCase({ runs: 400 }, policyPairs(), (pair, tally) => {
      const { before, after } = compiled(pair)
      const { reachable } = compare(before, after)

      const plain = reachable.filter(({ within, except }) => {
        return within === undefined && except.allowed.length + except.denied.length === 0
      })
      for (const outer of plain) {
        const alone = compilePolicy(setOf(outer, pair.after), pair.options)
        for (const inner of plain) {
          if (inner === outer || inner.only !== outer.only || inner.only !== undefined) continue
          if (inner.action !== outer.action) continue
          tally('compared')
          const both = compilePolicy(setOf([outer, inner], pair.after), pair.options)
          expect(isNoWider(alone, both).answer, JSON.stringify([outer, inner])).toBe('no')
        }
      }
    })
  })

  it('report no difference between a policy and itself', { timeout: LAW_TIMEOUT_MS }, () => {
    everyCase({ runs: 300 }, policyPairs(), ({ before, options }) => {
      const [one, other] = [compilePolicy(before, options), compilePolicy(before, options)]

      expect(compare(one, other)).toEqual({
        reachable: [],
        blocked: [],
        complete: true,
        undecided: [],
      })
    })
  })

  it('answer `no wider` only when no request becomes allowed', { timeout: LAW_TIMEOUT_MS }, () => {
    const count = 120
    const outcomes = everyCase(
      { runs: 1200, casesPerRun: count },
      fc.tuple(tightenedPairs(), requestChoices(count)),
      ([pair, choices], tally) => {
        const { before, after } = compiled(pair)

        expect(isNoWider(before, after)).toEqual({ answer: 'yes' })
        for (const choice of choices) {
          for (const set of [pair.before, pair.after]) {
            const request = requestFrom(set, choice)
            const was = decide(before, request).decision
            const is = decide(after, request).decision
            expect([was, is]).not.toEqual(['deny', 'allow'])
            tally(was === is ? `still ${was}` : `${was} to ${is}`)
          }
        }
      },
    )

    expect(outcomes.rarerThan({ 'still allow': 0.05, 'allow to deny': 0.01 })).toEqual([])
  })
})

/** Checks for every request that its decision changed as the comparison claims. */
function comparedCases(runs: number, pairs: fc.Arbitrary<PolicyPair>) {
  return everyCase(
    { runs, casesPerRun: REQUESTS },
    fc.tuple(pairs, requestChoices(REQUESTS)),
    ([pair, choices], tally) => {
      const { before, after } = compiled(pair)
      const comparison = compare(before, after)
      const { reachable, blocked } = comparison

      expect(comparison.complete).toBe(true)
      expect(isNoWider(before, after).answer).toBe(reachable.length === 0 ? 'yes' : 'no')
      expect(isNoWider(after, before).answer).toBe(blocked.length === 0 ? 'yes' : 'no')
      const changes = [...reachable, ...blocked]
      if (changes.some(({ only }) => only === 'allowed')) tally('groups')

      const older = readPolicySet(pair.before, pair.options)
      const newer = readPolicySet(pair.after, pair.options)
      for (const request of requests(pair, changes, choices)) {
        const was = decide(before, request.canonical).decision
        const is = decide(after, request.canonical).decision
        const opened = claims(reachable, request, { from: older, to: newer })
        const closed = claims(blocked, request, { from: newer, to: older })
        const outcome = was === is ? `still ${was}` : `${was} to ${is}`

        const breaches = [
          opened.includes('whole') && outcome !== 'deny to allow' && 'told as reachable',
          closed.includes('whole') && outcome !== 'allow to deny' && 'told as blocked',
          outcome === 'deny to allow' && opened.length === 0 && 'not told as reachable',
          outcome === 'allow to deny' && closed.length === 0 && 'not told as blocked',
        ]
        const shown = JSON.stringify({ request: request.canonical, outcome, pair, comparison })
        expect(breaches.filter(Boolean), shown).toEqual([])
        tally(outcome)
      }
    },
  )
}

function compiled({ before, after, options }: PolicyPair) {
  return { before: compilePolicy(before, options), after: compilePolicy(after, options) }
}

function claims(changes: readonly Change[], request: ReferenceRequest, policies: Policies) {
  return changes
    .map((change) => holding(change, request, policies))
    .filter((claim) => claim !== 'not')
}

/** Requests aimed at both sets and at the changes, whole and in parts. */
function requests(
  pair: PolicyPair,
  changes: readonly Change[],
  choices: readonly Parameters<typeof requestFrom>[1][],
): ReferenceRequest[] {
  const told = { ...pair.after, ...setOf(changes, pair.after) }
  const sets = [pair.before, pair.after, told, told]
  return choices
    .map((choice, index) => requestFrom(sets[index % sets.length]!, choice))
    .flatMap(parts)
    .flatMap((request) => readRequest(request) ?? [])
}

/** The request, its name alone, and its address alone. */
function parts(input: unknown): unknown[] {
  const request = readRequest(input)
  if (request?.kind !== 'connect' || request.name === null) return [input]
  const { action, port, canonical } = request
  const address = 'address' in canonical ? canonical.address : undefined
  const name = { action, host: request.name, port }
  return address === undefined ? [name] : [input, name, { action, host: address, port }]
}

/** Rules with the patterns of the changes as resources. */
function setOf(changes: Change | readonly Change[], { home, machine_addresses }: PolicySet) {
  const list = [changes].flat() as readonly Change[]
  const rules = list.map(({ action, resource, within, except }, index): Rule => {
    const resources = [
      resource,
      ...(within === undefined ? [] : [within]),
      ...except.allowed,
      ...except.denied,
    ]
    return { id: `r${index}`, name: 'r', actions: [action], decision: 'allow', resources }
  })
  const policies = rules.map((rule, index) => ({
    id: `p${index}`,
    name: 'p',
    allowlist_v0: { rules: [rule] },
  }))
  return { policies, local: [], governed: true, home, machine_addresses }
}
