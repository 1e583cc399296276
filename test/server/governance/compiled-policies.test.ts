import { decide } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import {
  createCompiledPolicies,
  type EffectiveSet,
} from '../../../server/src/governance/compiled-policies.ts'
import { createWorkBudget } from '../../../server/src/overload/work-budget.ts'
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
    begin: () => createWorkBudget().begin({ org: 'acme', caller: 'user:mia', isWriter: false }),
    async load({ id, revision }: PolicyHeadRecord) {
      times += 1
      return policies.find((each) => each.id === id && each.revision === revision) ?? null
    },
    times: () => times,
  }
}

function refuse(): never {
  throw new Error('nothing left')
}

describe('compiled policies', () => {
  const one = policy('p', 'example.com')
  const set = setOf(one)

  it('are made once for a set of policies, also when it is asked for at the same time', async () => {
    const kept = createCompiledPolicies()
    const source = loader(one)

    const [first, second] = await Promise.all([kept.take(set, source), kept.take(set, source)])
    const third = await kept.take(setOf({ ...one }), source)

    expect(second).toBe(first)
    expect(third).toBe(first)
    expect(source.times()).toBe(1)
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
    const first = await kept.take(set, loader(one))

    const head = other.heads[0]
    const changed = head && { ...policy(head.id, 'example.org'), revision: head.revision }
    const second = await kept.take(other, loader(...(changed ? [changed] : [])))

    expect(second).not.toBe(first)
    expect(decide(second!, REQUEST).decision).toBe('deny')
  })

  it('are not made of policies that have changed since', async () => {
    const kept = createCompiledPolicies()

    expect(await kept.take(set, loader({ ...one, revision: 2 }))).toBeNull()
    expect(await kept.take(set, loader(one))).not.toBeNull()
  })

  it.each([
    ['resources', { maxResources: 4 }],
    ['sets', { maxSets: 2 }],
  ])('beyond so many %s are forgotten, those asked for least lately first', async (_of, limits) => {
    const kept = createCompiledPolicies(limits)
    const source = loader(...['a', 'b', 'c'].map((id) => policy(id, 'example.com')))
    const asked: number[] = []
    for (const id of ['a', 'b', 'a', 'c', 'a', 'b']) {
      await kept.take(setOf(policy(id)), source)
      asked.push(source.times())
    }

    expect(asked).toEqual([1, 2, 2, 3, 3, 4])
  })

  it('up to the limit are answered', async () => {
    const kept = createCompiledPolicies({ maxResources: 4 })
    const three = policy('p', 'a.example', 'b.example', 'c.example')

    await expect(kept.take(setOf(three), loader(three))).resolves.not.toBeNull()
  })

  it('beyond the limit are refused, and read no further and never again', async () => {
    const kept = createCompiledPolicies({ maxResources: 4 })
    const policies = ['a', 'b', 'c'].map((id) => policy(id, 'one.example', 'two.example'))
    const source = loader(...policies)

    for (let asked = 0; asked < 3; asked += 1)
      await expect(kept.take(setOf(...policies), source)).rejects.toMatchObject({
        status: 403,
        code: 'limit_exceeded',
      })
    expect(source.times()).toBe(2)
  })

  it('that have to be made are begun with what the caller may spend, and kept ones given without', async () => {
    const kept = createCompiledPolicies()
    await kept.take(set, loader(one))
    const source = { ...loader(one), begin: () => refuse() }

    await expect(kept.take(setOf(), source)).rejects.toThrow('nothing left')
    await expect(kept.take(set, source)).resolves.not.toBeNull()
  })

  it('are not kept when loading fails', async () => {
    const kept = createCompiledPolicies()
    const failing = kept.take(set, {
      ...loader(one),
      load: () => Promise.reject(new Error('away')),
    })

    await expect(failing).rejects.toThrow('away')
    expect(decide((await kept.take(set, loader(one)))!, REQUEST).decision).toBe('allow')
  })
})
