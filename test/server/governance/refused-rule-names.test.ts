import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { openGovernedApp, type GovernedApp } from '../http/governed-app.ts'
import { createPolicy, createRule, POLICIES, RULE } from './policies.ts'

let governed: GovernedApp

beforeAll(async () => {
  governed = await openGovernedApp()
})
afterAll(() => governed.close())

// The writer for PostgreSQL does not cache beyond a transaction.
it.skipIf(inject('driver') !== 'sqlite')(
  'a refused name keeps the policy cached: rules are neither read nor checked again',
  async () => {
    const { id } = await createPolicy(governed, 'web')
    await createRule(governed, id, { name: 'taken' })
    const { id: other } = await createRule(governed, id, { name: 'other' })
    const kept = () => governed.store.transaction((writer) => writer.policies.find('acme', id))
    const url = `${POLICIES}/${id}/rules`
    const before = await kept()

    const created = await governed.send({
      method: 'POST',
      url,
      payload: { ...RULE, name: 'taken' },
    })
    expect(created.statusCode).toBe(409)
    expect(await kept()).toBe(before)

    const changed = await governed.send({
      method: 'PATCH',
      url: `${url}/${other}`,
      payload: { name: 'taken' },
    })
    expect(changed.statusCode).toBe(409)
    expect(await kept()).toBe(before)
  },
)
