import { decide, type PolicySet } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { createCompiledPolicies } from '../../../server/src/governance/compiled-policies.ts'

const BACKEND = '11111111-1111-4111-8111-111111111111'
const FRONTEND = '22222222-2222-4222-8222-222222222222'
const REQUEST = { action: 'connect:tcp', host: 'example.com', port: 443 } as const

function set(...resources: string[]): PolicySet {
  const rule = { id: 'r', name: 'r', actions: ['connect:tcp'], decision: 'allow' } as const
  const policy = { id: 'p', name: 'p', org: 'acme', scope: {} }
  return { policies: [{ ...policy, allowlist_v0: { rules: [{ ...rule, resources }] } }] }
}

/** Counts how often it is asked. */
function loader(given: PolicySet) {
  let times = 0
  return {
    async load() {
      times += 1
      return given
    },
    times: () => times,
  }
}

describe('compiled policies', () => {
  const source = { org: 'acme', revision: 1, teams: [BACKEND, FRONTEND] }

  it('are made once for a revision and a set of teams, in whatever order', async () => {
    const kept = createCompiledPolicies()
    const { load, times } = loader(set('example.com'))

    const first = await kept.take(source, load)
    const second = await kept.take({ ...source, teams: [FRONTEND, BACKEND] }, load)

    expect(second).toBe(first)
    expect(times()).toBe(1)
    expect(decide(first, REQUEST).decision).toBe('allow')
  })

  it.each([
    ['revision', { revision: 2 }],
    ['organization', { org: 'initech' }],
    ['set of teams', { teams: [BACKEND] }],
  ])('are never those of another %s', async (_title, changes) => {
    const kept = createCompiledPolicies()
    await kept.take(source, loader(set('example.com')).load)

    const other = await kept.take({ ...source, ...changes }, loader(set('example.org')).load)

    expect(decide(other, REQUEST).decision).toBe('deny')
  })

  it('of an older revision make room for the newer one', async () => {
    const kept = createCompiledPolicies({ maxResources: 8 })
    const older = loader(set('a.example', 'b.example', 'c.example'))
    const other = loader(set('example.org'))
    await kept.take({ ...source, org: 'initech' }, other.load)
    for (const revision of [1, 2, 3, 4]) await kept.take({ ...source, revision }, older.load)

    await kept.take({ ...source, org: 'initech' }, other.load)

    expect(other.times()).toBe(1)
  })

  it('that were asked for least lately are forgotten first', async () => {
    const kept = createCompiledPolicies({ maxResources: 4 })
    const loaders = new Map(['a', 'b', 'c'].map((org) => [org, loader(set('example.com'))]))
    const take = (org: string) => kept.take({ ...source, org }, loaders.get(org)!.load)

    for (const org of ['a', 'b', 'a', 'c', 'a', 'b']) await take(org)

    expect([...loaders.values()].map(({ times }) => times())).toEqual([1, 2, 1])
  })

  it('that exceed the limit alone are refused, and up to it answered', async () => {
    const kept = createCompiledPolicies({ maxResources: 4 })
    const refused = kept.take(
      source,
      loader(set('a.example', 'b.example', 'c.example', 'd.x')).load,
    )
    await expect(refused).rejects.toMatchObject({ status: 403, code: 'limit_exceeded' })

    const three = loader(set('a.example', 'b.example', 'c.example')).load
    await expect(kept.take(source, three)).resolves.toBeDefined()
  })

  it('that took long are paid for by their organization alone, and shown meanwhile', async () => {
    let nowMs = 0
    let stepMs = 400
    const clockMs = () => (nowMs += stepMs)
    const kept = createCompiledPolicies({ clockMs })
    const { load, times } = loader(set('example.com'))
    await kept.take(source, load)
    stepMs = 0

    const other = kept.take({ ...source, revision: 2 }, load)
    await expect(other).rejects.toMatchObject({ status: 429, headers: { 'retry-after': '4' } })
    expect(times()).toBe(1)
    await expect(kept.take(source, load)).resolves.toBeDefined()
    await expect(kept.take({ ...source, org: 'initech' }, load)).resolves.toBeDefined()
    nowMs += 3600
    await expect(kept.take({ ...source, revision: 2 }, load)).resolves.toBeDefined()
    await expect(kept.take({ ...source, revision: 3 }, load)).resolves.toBeDefined()
  })

  it('are not kept when loading fails', async () => {
    const kept = createCompiledPolicies()
    const failing = kept.take(source, () => Promise.reject(new Error('away')))

    await expect(failing).rejects.toThrow('away')
    expect(decide(await kept.take(source, loader(set('example.com')).load), REQUEST).decision).toBe(
      'allow',
    )
  })
})
