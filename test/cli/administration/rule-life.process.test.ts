import { beforeEach, describe, expect, it } from 'vitest'
import { openAlice, RULE, type Alice } from './rule-life-scene.ts'

let { alice, output } = {} as Alice
beforeEach(async () => void ({ alice, output } = await openAlice()))

describe('the life of rules on the command line', () => {
  it('includes policies that decide nothing, and ends them', async () => {
    await output('policy', 'create', 'trial', '--mode', 'shadow')
    await output('policy', 'create', 'web')
    await output('rule', 'add', 'trial', ...RULE)
    expect(await output('policy', 'list')).toMatch(
      /MODE[^]*(?:trial .*shadow[^]*web .*enforce|web .*enforce[^]*trial .*shadow)/,
    )
    expect(await output('policy', 'show', 'trial')).toMatch(/mode +shadow: decides nothing/)
    const check = ['policy', 'check', 'connect:tcp', 'a.example.com:443'] as const
    expect(await alice(...check)).toMatchObject({
      code: 1,
      out: expect.stringMatching(/shadow/),
    })

    await output('policy', 'update', 'trial', '--mode', 'enforce')

    expect(await output('policy', 'list')).not.toContain('MODE')
    await output(...check)
  })

  it('decides by the default of the organization and of teams, which each list shows', async () => {
    const check = [
      'policy',
      'check',
      'connect:tcp',
      'b.example.com:443',
      '--address',
      '93.184.216.34',
    ]
    expect((await alice(...check)).code).toBe(1)
    expect(await output('org', 'show')).toMatch(/default +enforce, unless teams/)

    expect(await output('org', 'set', '--default', 'observe')).toMatch(/default +observe: /)
    expect(await output(...check)).toContain('observed')
    expect(await output('policy', 'effective')).toContain('default observe')

    await output('team', 'create', 'careful')
    expect(await output('team', 'list')).not.toContain('DEFAULT')
    await output('team', 'set', 'careful', '--default', 'enforce')
    await output('team', 'add', 'careful', 'alice')
    expect(await output('team', 'list')).toMatch(/DEFAULT[^]*careful +alice +enforce/)
    expect((await alice(...check)).code).toBe(1)

    await output('team', 'set', 'careful', '--default', 'none')
    await output(...check)
    await output('org', 'set', '--default', 'none')
    expect((await alice(...check)).code).toBe(1)
  })
})
