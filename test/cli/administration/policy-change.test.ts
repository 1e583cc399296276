import { describe, expect, it } from 'vitest'
import { openAcme } from './policy-change-scene.ts'

describe('palisade policy', () => {
  it('renames a policy and keeps its rules', async () => {
    const { alice } = await openAcme()

    const renamed = await alice('policy', 'rename', 'web', 'public web')
    const shown = await alice('policy', 'show', 'public web')

    expect(renamed).toEqual({ code: 0, out: 'renamed policy `web` to `public web`\n', err: '' })
    expect(shown.out).toContain('example.com:443')
    expect((await alice('policy', 'show', 'web')).code).toBe(1)
  })

  it('takes teams by name, also one with a comma, and names an unknown one', async () => {
    const { alice } = await openAcme()

    const made = await alice('policy', 'create', 'x', '--team', 'research', '--team', 'a, b')
    const unknown = await alice('policy', 'create', 'y', '--team', 'reserch')
    const { scope } = JSON.parse((await alice('policy', 'show', 'x', '--json')).out)

    expect(made.code).toBe(0)
    expect(scope.teams).toHaveLength(2)
    expect(unknown.err).toBe('error: no team `reserch`; did you mean `research`?\n')
  })
})
