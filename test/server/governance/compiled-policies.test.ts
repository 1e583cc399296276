import { decide } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import {
  createCompiledPolicies,
  type EffectiveSet,
} from '../../../server/src/governance/compiled-policies.ts'
import type { PolicyHeadRecord, PolicyRecord } from '../../../server/src/store/records.ts'

const REQUEST = { action: 'connect:tcp', host: 'example.com', port: 443 } as const
const AT = '2026-11-21T08:00:00Z'

function policy(id: string, ...resources: string[]): PolicyRecord {
  const rule = { id: `${id}-r`, name: 'r', actions: ['connect:tcp'], decision: 'allow' } as const
  const head = { id, org: 'acme', name: id, teams: [], created_at: AT, updated_at: AT }
  return { ...head, revision: 1, rules: [{ ...rule, resources }] }
}

function setOf(...heads: PolicyHeadRecord[]): EffectiveSet {
  return { org: 'acme', heads, resolve_unlisted_names: false }
}

/** Counts how many policies it is asked for. */
function loader(...policies: PolicyRecord[]) {
  let times = 0
  return {
    async load({ id, revision }: PolicyHeadRecord) {
      times += 1
      return policies.find((each) => each.id === id && each.revision === revision) ?? null
    },
    times: () => times,
  }
}

describe('compiled policies', () => {
  const one = policy('p', 'example.com')
  const set = setOf(one)

  it('are made once for a set of policies, also when it is asked for at the same time', async () => {
    const kept = createCompiledPolicies()
    const { load, times } = loader(one)

    const [first, second] = await Promise.all([kept.take(set, load), kept.take(set, load)])
    const third = await kept.take(setOf({ ...one }), load)

    expect(second).toBe(first)
    expect(third).toBe(first)
    expect(times()).toBe(1)
    expect(decide(first!, REQUEST).decision).toBe('allow')
  })

  it.each([
    ['a policy at another revision', setOf({ ...one, revision: 2 })],
    ['another policy', setOf({ ...one, id: 'q' })],
    ['fewer policies', setOf()],
    ['another organization', { ...set, org: 'initech' }],
    ['another setting for unlisted names', { ...set, resolve_unlisted_names: true }],
  ])('are never those of %s', async (_title, other) => {
    const kept = createCompiledPolicies()
    const first = await kept.take(set, loader(one).load)

    const head = other.heads[0]
    const changed = head && { ...policy(head.id, 'example.org'), revision: head.revision }
    const second = await kept.take(other, loader(...(changed ? [changed] : [])).load)

    expect(second).not.toBe(first)
    expect(decide(second!, REQUEST).decision).toBe('deny')
  })

  it('are not made of policies that have changed since', async () => {
    const kept = createCompiledPolicies()

    expect(await kept.take(set, loader({ ...one, revision: 2 }).load)).toBeNull()
    expect(await kept.take(set, loader(one).load)).not.toBeNull()
  })

  it.each([
    ['resources', { maxResources: 4 }],
    ['sets', { maxSets: 2 }],
  ])('beyond so many %s are forgotten, those asked for least lately first', async (_of, limits) => {
    const kept = createCompiledPolicies(limits)
    const { load, times } = loader(...['a', 'b', 'c'].map((id) => policy(id, 'example.com')))
    const asked: number[] = []
    for (const id of ['a', 'b', 'a', 'c', 'a', 'b']) {
      await kept.take(setOf(policy(id)), load)
      asked.push(times())
    }

    expect(asked).toEqual([1, 2, 2, 3, 3, 4])
  })

  it('up to the limit are answered', async () => {
    const kept = createCompiledPolicies({ maxResources: 4 })
    const three = policy('p', 'a.example', 'b.example', 'c.example')

    await expect(kept.take(setOf(three), loader(three).load)).resolves.not.toBeNull()
  })

  it('beyond the limit are refused, and read no further and never again', async () => {
    const kept = createCompiledPolicies({ maxResources: 4 })
    const policies = ['a', 'b', 'c'].map((id) => policy(id, 'one.example', 'two.example'))
    const { load, times } = loader(...policies)

    for (let asked = 0; asked < 3; asked += 1)
      await expect(kept.take(setOf(...policies), load)).rejects.toMatchObject({
        status: 403,
        code: 'limit_exceeded',
      })
    expect(times()).toBe(2)
  })

  it('that took long are paid for by their organization alone, and shown meanwhile', async () => {
    let nowMs = 0
    let stepMs = 400
    const clockMs = () => (nowMs += stepMs)
    const kept = createCompiledPolicies({ clockMs })
    const at = (revision: number) => ({ ...one, revision })
    const { load, times } = loader(...[1, 2, 3].map(at))
    await kept.take(set, load)
    stepMs = 0

    const other = kept.take(setOf(at(2)), load)
    await expect(other).rejects.toMatchObject({ status: 429, headers: { 'retry-after': '4' } })
    expect(times()).toBe(1)
    await expect(kept.take(set, load)).resolves.not.toBeNull()
    await expect(kept.take({ ...set, org: 'initech' }, load)).resolves.not.toBeNull()
    nowMs += 3600
    await expect(kept.take(setOf(at(2)), load)).resolves.not.toBeNull()
    await expect(kept.take(setOf(at(3)), load)).resolves.not.toBeNull()
  })

  it('are not kept when loading fails', async () => {
    const kept = createCompiledPolicies()
    const failing = kept.take(set, () => Promise.reject(new Error('away')))

    await expect(failing).rejects.toThrow('away')
    expect(decide((await kept.take(set, loader(one).load))!, REQUEST).decision).toBe('allow')
  })
})
