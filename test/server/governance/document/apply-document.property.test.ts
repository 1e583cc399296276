import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openGovernedApp, type GovernedApp } from '../../http/governed-app.ts'
import { apply, exported } from './documents.ts'
import { organizations } from './organizations.ts'
import { casesOfRun } from '../../../lanes/run-size.ts'

let governed: GovernedApp

beforeAll(async () => {
  governed = await openGovernedApp()
})
afterAll(() => governed.close())

/** Ids of all policies and rules by their names. */
async function ids(): Promise<Map<string, string>> {
  const policies = await governed.store.read((reader) => reader.policies.listWithRules('acme'))
  return new Map(
    policies.flatMap((policy) => [
      [policy.name, policy.id] as const,
      ...policy.rules.map((rule) => [`${policy.name}/${rule.name}`, rule.id] as const),
    ]),
  )
}

it('a document with `prune` gives any organization exactly its policies', async () => {
  const runs = casesOfRun(40)
  // Each case starts from the result of the previous one, so that any state can precede any other.
  await fc.assert(
    fc.asyncProperty(organizations(), async (policies) => {
      const before = await exported(governed)
      const known = await ids()
      const planned = await apply(governed, { policies, prune: true, dry_run: true })
      expect(await exported(governed)).toEqual(before)

      const done = await apply(governed, { policies, prune: true })

      expect((await exported(governed)).policies).toEqual(policies)
      const withoutIds = (changes: typeof done.changes) =>
        changes.map(({ id: _id, ...rest }) => rest)
      expect(withoutIds(planned.changes)).toEqual(withoutIds(done.changes))
      for (const [name, id] of await ids()) expect(known.get(name) ?? id).toBe(id)

      const again = await apply(governed, {
        policies: (await exported(governed)).policies,
        prune: true,
      })
      expect(again).toMatchObject({
        changes: [],
        revision: done.revision,
        unchanged: policies.length,
      })
    }),
    { numRuns: Math.max(1, Math.round(runs)) },
  )
})
