import { beforeEach, describe, expect, it } from 'vitest'
import { openTestServer } from '../../../server/test-server.ts'
import { runCli, type CliRun } from '../../run-cli.ts'

const RULE = ['--name', 'a', '--action', 'connect:tcp', '--allow', 'a.example.com:443']

let alice: (...argv: string[]) => Promise<CliRun>

beforeEach(async () => {
  const { server, createOrganization } = await openTestServer()
  const { personal_token } = await createOrganization('acme', 'alice')
  const PALISADE_SERVER = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const env = {
    PALISADE_SERVER,
    PALISADE_ORG: 'acme',
    PALISADE_USERNAME: 'alice',
    PALISADE_TOKEN: personal_token,
  }
  alice = (...argv) => runCli(argv, { env })
})

async function output(...argv: string[]): Promise<string> {
  const { code, out, err } = await alice(...argv)
  expect(code, err).toBe(0)
  return out
}

describe('the life of rules on the command line', () => {
  it('is a time at which a rule ends, and which can be changed and removed', async () => {
    await output('policy', 'create', 'web')
    await output('rule', 'add', 'web', ...RULE, '--expires', '1999-01-01')
    expect(await output('policy', 'show', 'web')).toMatch(/EXPIRES[^]*expired 1999-01-01 00:00/)

    const later = await output('rule', 'update', 'web', 'a', '--expires', '2999-01-01T00:00:00Z')
    expect(later).toMatch(/before[^]*expired 1999[^]*after[^]*  2999-01-01 00:00:00Z/)
    await output('rule', 'update', 'web', 'a', '--deny')
    expect(await output('policy', 'show', 'web')).toMatch(/deny .* 2999-01-01 00:00:00Z/)

    await output('rule', 'update', 'web', 'a', '--expires', 'never')
    expect(await output('policy', 'show', 'web')).not.toContain('EXPIRES')
  })

  it('refuses a new rule with the expiry `never`, and adds no rule', async () => {
    await output('policy', 'create', 'web')

    const refused = await alice('rule', 'add', 'web', ...RULE, '--expires', 'never')

    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('leave out') })
    expect(await output('policy', 'show', 'web')).toContain('no rules')
  })

  it('includes policies that decide nothing, and ends them', async () => {
    await output('policy', 'create', 'trial', '--mode', 'shadow')
    await output('policy', 'create', 'web')
    await output('rule', 'add', 'trial', ...RULE)
    expect(await output('policy', 'list')).toMatch(
      /MODE[^]*(?:trial .*shadow[^]*web .*enforce|web .*enforce[^]*trial .*shadow)/,
    )
    expect(await output('policy', 'show', 'trial')).toMatch(/mode +shadow: not enforced/)
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

  it('lists rules without a match, and says what the evidence cannot judge', async () => {
    await output('policy', 'create', 'web')
    expect(await output('rule', 'unused')).toMatch(/^no rule to report\nno records are kept/)
    await output('rule', 'add', 'web', ...RULE, '--expires', '1999-01-01')

    const text = await output('rule', 'unused', '--since', '30d')
    const json = JSON.parse(await output('rule', 'unused', '--json'))

    expect(text).toMatch(/web +a +allow +cannot be judged +expired 1999-01-01 00:00:00Z/)
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
