import {
  compilePolicy,
  decide,
  explain,
  nextExpiry,
  policyAt,
  type Grant,
  type PolicySet,
} from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { grantedSets, INSTANTS } from './arbitraries/policy-set.ts'
import { requestChoices, requestFrom } from './arbitraries/request.ts'
import { everyCase, LAW_TIMEOUT_MS } from './every-case.ts'
import { referenceDecide } from './reference/reference-decide.ts'
import { readPolicySet } from './reference/reference-rules.ts'

const REQUESTS = 20

describe('grants', () => {
  it('decide ≡ reference with grants at every time', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 6_000, casesPerRun: REQUESTS },
      fc.tuple(grantedSets(), requestChoices(REQUESTS)),
      ([{ set, options, now }, choices], tally) => {
        const compiled = compilePolicy(set, options)
        const reference = readPolicySet(set, options)

        for (const choice of choices) {
          const request = requestFrom(set, choice)
          const { hint: _, ...decision } = decide(compiled, request, { now })

          expect(decision).toStrictEqual(referenceDecide(reference, request, now))
          tally(`${decision.decision} ${decision.reason}`)
          if (decision.rules.some(({ origin }) => origin === 'grant')) tally('granted')
        }
      },
    )

    expect(
      outcomes.rarerThan({
        'allow rule': 0.07,
        'allow observed': 0.05,
        'deny rule': 0.03,
        'deny default_deny': 0.05,
        'deny protected_address': 0.02,
        'deny invalid_request': 0.02,
        granted: 0.03,
      }),
    ).toEqual([])
  })

  it(
    'a grant changes only a request that no rule matches, and only to an allow of its own',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const outcomes = everyCase(
        { runs: 2_000, casesPerRun: REQUESTS },
        fc.tuple(grantedSets(), requestChoices(REQUESTS)),
        ([{ set, options, now }, choices], tally) => {
          const compiled = compilePolicy(set, options)
          const without = compilePolicy({ ...set, grants: [] }, options)

          for (const choice of choices) {
            const request = requestFrom(set, choice)
            const { shadow: _, ...decision } = decide(compiled, request, { now })
            const { shadow: _without, ...alone } = decide(without, request, { now })

            const others = decision.rules.filter(({ origin }) => origin !== 'grant')
            const isOpened = alone.reason === 'default_deny' || alone.reason === 'observed'
            const isGranted = isOpened && decision.rules.length > 0
            const granted = {
              ...alone,
              decision: 'allow',
              reason: 'rule',
              rules: others,
              hint: null,
            }
            // A granted range of every address has names resolved, as such a rule has.
            const free = { address_required: undefined }
            expect({ ...decision, ...free, rules: others }).toStrictEqual({
              ...(isGranted ? granted : alone),
              ...free,
            })
            tally(isGranted ? 'opened' : 'same')
          }
        },
      )

      expect(outcomes.rarerThan({ opened: 0.02, same: 0.3 })).toEqual([])
    },
  )

  it(
    'a grant outside its time decides like no grant, whatever was decided before',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const outcomes = everyCase(
        { runs: 600, casesPerRun: REQUESTS * 5 },
        fc.tuple(grantedSets(), requestChoices(REQUESTS)),
        ([{ set, options }, choices], tally) => {
          const compiled = compilePolicy(set, options)

          // Back and forth, so that kept selections and verdicts of another time would show.
          for (const now of [-1, ...INSTANTS, 0]) {
            const counting = compilePolicy(withinTime(set, now), options)
            for (const choice of choices) {
              const request = requestFrom(set, choice)
              const decision = decide(compiled, request, { now })

              expect(decision).toStrictEqual(decide(counting, request, { now }))
              tally(decision.decision)
            }
          }
        },
      )

      expect(outcomes.rarerThan({ allow: 0.15, deny: 0.15 })).toEqual([])
    },
  )

  it(
    'no decision changes before the next begin or expiry, nor those of policyAt ever',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const outcomes = everyCase(
        { runs: 600, casesPerRun: REQUESTS },
        fc.tuple(grantedSets(), requestChoices(REQUESTS)),
        ([{ set, options, now }, choices], tally) => {
          const compiled = compilePolicy(set, options)
          const frozen = policyAt(compiled, now)
          const next = nextExpiry(compiled, now)
          const last = next === null ? Number.MAX_SAFE_INTEGER : next - 1

          expect(next === null || next > now).toBe(true)
          for (const choice of choices) {
            const request = requestFrom(set, choice)
            const decision = decide(compiled, request, { now })

            expect(decide(compiled, request, { now: last })).toStrictEqual(decision)
            expect(decide(frozen, request)).toStrictEqual(decision)
            expect(policyAt(compiled, last)).toBe(frozen)
            tally(next === null ? 'settled' : 'expiring')
          }
        },
      )

      expect(outcomes.rarerThan({ settled: 0.05, expiring: 0.15 })).toEqual([])
    },
  )

  it('explain agrees with decide and marks every grant', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 600, casesPerRun: REQUESTS },
      fc.tuple(grantedSets(), requestChoices(REQUESTS)),
      ([{ set, options, now }, choices], tally) => {
        const compiled = compilePolicy(set, options)

        for (const choice of choices) {
          const request = requestFrom(set, choice)
          const {
            matched,
            near_misses: _,
            detail: _detail,
            ...rest
          } = explain(compiled, request, {
            now,
          })

          expect(rest).toStrictEqual(decide(compiled, request, { now }))
          const grants = matched.filter(({ origin }) => origin === 'grant')
          expect(
            grants.map(({ expired, not_begun, active }) => [expired, not_begun, active]),
          ).toEqual(
            grants.map(({ rule_id }) => {
              const grant = set.grants!.find(({ id }) => id === rule_id)!
              const expired = Date.parse(grant.expires_at) <= now ? true : undefined
              const notBegun = Date.parse(grant.not_before) > now ? true : undefined
              return [expired, notBegun, counts(grant, now)]
            }),
          )
          for (const { active } of grants) tally(active ? 'counts' : 'lapsed')
        }
      },
    )

    expect(outcomes.rarerThan({ counts: 0.05, lapsed: 0.05 })).toEqual([])
  })
})

function withinTime(set: PolicySet, now: number): PolicySet {
  return { ...set, grants: (set.grants ?? []).filter((grant) => counts(grant, now)) }
}

function counts({ not_before, expires_at }: Grant, now: number): boolean {
  return Date.parse(not_before) <= now && now < Date.parse(expires_at)
}
