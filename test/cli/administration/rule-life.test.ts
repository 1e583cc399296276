import { beforeEach, describe, expect, it } from 'vitest'
import { openAlice, RULE, type Alice } from './rule-life-scene.ts'

let { alice, output } = {} as Alice
beforeEach(async () => void ({ alice, output } = await openAlice()))

describe('the life of rules on the command line', () => {
  it('is a time at which a rule ends, and which can be changed and removed', async () => {
    await output('policy', 'create', 'web')
    await output('rule', 'add', 'web', ...RULE, '--expires', '1999-01-01')
    expect(await output('policy', 'show', 'web')).toMatch(/EXPIRES[^]*expired 1999-01-01T00:00/)

    const later = await output('rule', 'update', 'web', 'a', '--expires', '2999-01-01T00:00:00Z')
    expect(later).toMatch(/before[^]*expired 1999[^]*after[^]*  2999-01-01T00:00:00.000Z/)
    await output('rule', 'update', 'web', 'a', '--deny')
    expect(await output('policy', 'show', 'web')).toMatch(/deny .* 2999-01-01T00:00:00.000Z/)

    await output('rule', 'update', 'web', 'a', '--expires', 'never')
    expect(await output('policy', 'show', 'web')).not.toContain('EXPIRES')
  })

  it('refuses a new rule with the expiry `never`, and adds no rule', async () => {
    await output('policy', 'create', 'web')

    const refused = await alice('rule', 'add', 'web', ...RULE, '--expires', 'never')

    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('leave out') })
    expect(await output('policy', 'show', 'web')).toContain('no rules')
  })

  it('lists rules without a match, and says what the evidence cannot judge', async () => {
    await output('policy', 'create', 'web')
    expect(await output('rule', 'unused')).toMatch(/^no rule to report\nno records are kept/)
    await output('rule', 'add', 'web', ...RULE, '--expires', '1999-01-01')

    const text = await output('rule', 'unused', '--since', '30d')
    const json = JSON.parse(await output('rule', 'unused', '--json'))

    expect(text).toMatch(/web +a +allow +cannot be judged +expired 1999-01-01T00:00:00.000Z/)
    expect(text).toContain('no records are kept, so no rule can be judged')
    expect(json).toMatchObject({
      evidence: { upload: 'off', since: null, judges_allows: false },
      rules: [{ rule_name: 'a', use: 'unknown', expired: true }],
    })
  })

  it.each([
    ['policy', 'update', 'web'],
    ['policy', 'update', 'web', '--mode', 'observe'],
    ['policy', 'create', 'other', '--mode', 'off'],
    ['org', 'set', '--default', 'shadow'],
    ['team', 'set', 'web'],
    ['rule', 'update', 'web', 'a', '--expires', 'soon'],
  ])('refuses `%s %s %s %s %s` as wrong usage', async (...argv) => {
    expect((await alice(...argv.filter((word) => word !== undefined))).code).toBe(2)
  })
})
