import {
  compilePolicy,
  decide,
  explain,
  nextExpiry,
  policyAt,
  withoutGrants,
  type Grant,
  type PolicySet,
} from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { policy, rule } from '../policies.ts'

const BEGIN = Date.parse('2026-11-26T14:00:00Z')
const END = Date.parse('2026-11-26T22:00:00Z')
const REQUEST = { action: 'connect:tcp', host: 'api.example.com', port: 443 }
const GRANT: Grant = {
  id: 'acr_1',
  action: 'connect:tcp',
  resources: ['api.example.com:443'],
  not_before: '2026-11-26T14:00:00Z',
  expires_at: '2026-11-26T22:00:00Z',
}

const granted = compilePolicy({ policies: [], grants: [GRANT] })

it('names the grant in the decision', () => {
  expect(decide(granted, REQUEST, { now: BEGIN }).rules).toEqual([
    {
      policy_id: 'grants',
      policy_name: 'access grants',
      rule_id: 'acr_1',
      rule_name: 'acr_1',
      decision: 'allow',
      resource: 'api.example.com:443',
      origin: 'grant',
    },
  ])
})

it('changes at the begin and at the end of a grant', () => {
  expect(nextExpiry(granted, BEGIN - 1)).toBe(BEGIN)
  expect(nextExpiry(granted, BEGIN)).toBe(END)
  expect(nextExpiry(granted, END)).toBeNull()
})

it('requires a time', () => {
  expect(() => decide(granted, REQUEST)).toThrow(
    expect.objectContaining({ code: 'ERR_OPTION_INVALID' }),
  )
})

describe('explain', () => {
  it.each([
    ['not_begun', BEGIN - 1, 'the grant has not begun'],
    ['expired', END, 'the grant has expired'],
  ])('shows a grant that is %s', (lapse, now, message) => {
    const { matched, near_misses } = explain(granted, REQUEST, { now })

    expect(matched).toMatchObject([
      { rule_id: 'acr_1', origin: 'grant', deciding: false, active: false, [lapse]: true },
    ])
    expect(near_misses).toMatchObject([{ rule_id: 'acr_1', miss: lapse, message }])
  })

  it('shows a grant in force as the deciding rule', () => {
    const { matched } = explain(granted, REQUEST, { now: BEGIN })

    expect(matched).toMatchObject([{ rule_id: 'acr_1', deciding: true, active: true }])
    expect(matched[0]).not.toHaveProperty('expired')
    expect(matched[0]).not.toHaveProperty('not_begun')
  })
})

it('ignores a begin in a rule, which has none', () => {
  const later = { ...rule('r', 'allow', ['connect:tcp'], 'api.example.com'), not_before: '2200' }
  const compiled = compilePolicy({ policies: [policy('p', later)] })

  expect(decide(compiled, REQUEST).decision).toBe('allow')
})

describe('a set is refused', () => {
  const refusal = (grants: unknown) => () =>
    compilePolicy({ policies: [], grants } as unknown as PolicySet)

  it.each([
    ['an unknown action', { ...GRANT, action: 'connect' }, 'action'],
    ['no resource', { ...GRANT, resources: [] }, 'resources'],
    ['an invalid resource', { ...GRANT, resources: ['api.example.com', '*'] }, 'resources[1]'],
    ['a resource of the other domain', { ...GRANT, resources: ['/srv/**'] }, 'resources[0]'],
    ['no begin', { ...GRANT, not_before: undefined }, 'not_before'],
    ['no end', { ...GRANT, expires_at: undefined }, 'expires_at'],
    ['an unreadable end', { ...GRANT, expires_at: 'tomorrow' }, 'expires_at'],
    ['no id', { ...GRANT, id: undefined }, 'grants[0].id'],
    ['no object', null, 'grants[0]'],
  ])('for a grant with %s', (_fault, grant, member) => {
    expect(refusal([grant])).toThrow(
      expect.objectContaining({
        code: 'ERR_POLICY_INVALID',
        problems: [expect.objectContaining({ origin: 'grant', policy_id: 'grants', member })],
      }),
    )
  })

  it('for grants that are no list', () => {
    expect(refusal(GRANT)).toThrow(expect.objectContaining({ code: 'ERR_OPTION_INVALID' }))
  })
})

describe('withoutGrants', () => {
  const two = compilePolicy({
    policies: [policy('p', rule('r', 'allow', ['connect:tcp'], 'other.example.com'))],
    grants: [GRANT, { ...GRANT, id: 'acr_2', resources: ['**.example.com'] }],
  })
  const idsAt = (compiled: typeof two) =>
    decide(compiled, REQUEST, { now: BEGIN }).rules.map(({ rule_id }) => rule_id)

  it('takes away the grants of the given ids alone', () => {
    expect(idsAt(withoutGrants(two, new Set(['acr_1'])))).toEqual(['acr_2'])
    expect(idsAt(withoutGrants(two, new Set(['acr_1', 'acr_2', 'r'])))).toEqual([])
    expect(idsAt(two)).toEqual(['acr_1', 'acr_2'])
  })

  it('takes them away from the policies of one time', () => {
    const frozen = withoutGrants(policyAt(two, BEGIN), new Set(['acr_2']))

    expect(idsAt(frozen)).toEqual(['acr_1'])
    expect(nextExpiry(frozen, BEGIN)).toBeNull()
  })

  it('shows a spent grant in an explanation', () => {
    const { matched, near_misses } = explain(withoutGrants(granted, new Set(['acr_1'])), REQUEST, {
      now: BEGIN,
    })

    expect(matched).toMatchObject([{ rule_id: 'acr_1', active: false, spent: true }])
    expect(near_misses).toMatchObject([{ miss: 'spent' }])
  })

  it('leaves a set without grants as it is', () => {
    const alone = compilePolicy({ policies: [] })

    expect(withoutGrants(alone, new Set(['acr_1']))).toBe(alone)
    expect(withoutGrants(granted, new Set())).toBe(granted)
  })
})
