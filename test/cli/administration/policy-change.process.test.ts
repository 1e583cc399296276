import { describe, expect, it } from 'vitest'
import { openAcme } from './policy-change-scene.ts'

const REQUEST = ['connect:tcp', 'example.com:443']

describe('palisade policy', () => {
  it('replaces the teams of a policy, and requires --everybody for none', async () => {
    const { alice } = await openAcme()

    const teams = await alice('policy', 'teams', 'web', 'a, b')
    const denied = await alice('policy', 'check', '--user', 'bob', ...REQUEST)
    const unclear = await alice('policy', 'teams', 'web')
    const everybody = await alice('policy', 'teams', 'web', '--everybody')
    const allowed = await alice('policy', 'check', '--user', 'bob', ...REQUEST)

    expect(teams.out).toBe('policy `web` applies to a, b\n')
    expect(denied.code).not.toBe(0)
    expect(unclear).toMatchObject({ code: 2, out: '' })
    expect(everybody.out).toBe('policy `web` applies to everybody\n')
    expect(allowed).toMatchObject({ code: 0, err: '' })
    expect(allowed.out).toMatch(/^allow {2}connect:tcp example\.com:443/)
  })

  it('shows a plain member the policies that apply, and the command for the list', async () => {
    const { bob } = await openAcme()

    const list = await bob('policy', 'list')
    const own = await bob('policy', 'effective')
    const check = await bob('policy', 'check', ...REQUEST)
    const others = await bob('policy', 'check', '--user', 'alice', ...REQUEST)

    expect(list).toMatchObject({ code: 1, out: '' })
    expect(list.err).toContain('`palisade policy effective` shows the policies that apply to you')
    expect(own.out).toContain('example.com:443')
    expect(check.code).toBe(0)
    expect(others).toMatchObject({ code: 1, out: '' })
  })
})
