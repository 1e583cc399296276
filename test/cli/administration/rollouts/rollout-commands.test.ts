import { describe, expect, it } from 'vitest'
import { enrolTestDevice } from '../../../server/test-device.ts'
import { openTestServer } from '../../../server/test-server.ts'
import { runCli, type CliRun, type CliSetting } from '../../run-cli.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** `palisade` as alice, the owner of acme on a real server with one machine. */
async function openAcme() {
  const test = await openTestServer()
  const { personal_token } = await test.createOrganization('acme', 'alice')
  await enrolTestDevice(test, await test.signIn('alice', personal_token), 'acme')
  const env = {
    PALISADE_SERVER: await test.server.app.listen({ host: '127.0.0.1', port: 0 }),
    PALISADE_ORG: 'acme',
    PALISADE_USERNAME: 'alice',
    PALISADE_TOKEN: personal_token,
  }
  const run = (argv: readonly string[], setting: CliSetting = {}): Promise<CliRun> =>
    runCli(argv, { env, now: test.now, ...setting })
  async function ok(...argv: string[]): Promise<string> {
    const { code, out, err } = await run(argv)
    expect(`${code} ${err}`, argv.join(' ')).toBe('0 ')
    return out
  }
  return { run, ok }
}

const HOLD =
  /A ROLLOUT IS OPEN: machines outside stage 1 of 3 keep .* revision \d+ and do not get new denies/

describe('palisade rollout', () => {
  it('starts, shows, advances, pauses, resumes and finishes one', async () => {
    const { run, ok } = await openAcme()
    expect(await ok('rollout', 'list')).toMatch(/^no rollouts; write `palisade rollout start/)

    const start = ['rollout', 'start', '--stage', 'canary,50%', '--stage', '100%']
    const refused = await run(start)
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringMatching(/no machine has the label `canary`.*`--force`/),
    ])
    const started = await ok(...start, '--force')
    expect(started).toMatch(/^rollout [0-9a-f-]{36} is running at stage 1 of 3\n/)
    expect(started).toMatch(HOLD)
    const shown = await ok('rollout', 'show')
    expect(shown).toMatch(/\nreached +canary \(stage 1 of 3\)\n.*\nthen +50%, 100%\n/s)
    expect(shown).toMatch(
      /\npauses above +5% rejected\n.*\nmachines +0 reached\n.*\nheld back +1\n/s,
    )
    expect(shown).toMatch(HOLD)
    expect(await ok('revision')).toMatch(/\nheld back +1 by a rollout \(palisade rollout show\)\n$/)
    expect(await ok('rollout', 'pause')).toContain('is paused by user:alice at stage 1 of 3')
    expect((await run(['rollout', 'advance'])).err).toContain('resume it first')
    await ok('rollout', 'resume', '--max-rejected', '20')
    expect(JSON.parse(await ok('rollout', 'advance', '--json'))).toMatchObject({
      stage: 2,
      max_rejected: { machines: 20 },
    })
    expect(await ok('rollout', 'advance', '--to', '3')).toContain('at stage 3 of 3')
    expect(await ok('rollout', 'finish', '--yes')).toMatch(/ is finished\n$/)
    expect(await ok('rollout', 'list')).toMatch(
      /^ROLLOUT .*\n\S+ +finished +canary, 50%, 100% +3 of 3 +20 +\d+ +just now +user:alice\n$/,
    )
    expect(await ok('rollout', 'show')).not.toContain('A ROLLOUT IS OPEN')
    expect((await run(['rollout', 'pause'])).err).toContain('there is no open rollout')
  })

  it('rolls back after a confirmation, and lists the undone changes', async () => {
    const { run, ok } = await openAcme()
    await ok('policy', 'create', 'kept')
    await ok('rollout', 'start', '--stage', 'canary', '--force', '--json')
    await ok('policy', 'create', 'bad one')

    const alone = await run(['rollout', 'roll-back'])
    const prompts = { text: async () => null, secret: async () => null, confirm: async () => false }
    const unsure = await run(['rollout', 'roll-back'], { prompts })
    expect([alone.code, unsure.code]).toEqual([2, 1])
    expect(unsure.err).toContain('nothing was rolled back')
    expect(await ok('rollout', 'roll-back', '--yes')).toMatch(
      /^deleted bad one\nrolled back to revision \d+, which is now \d+\n$/,
    )
    expect(await ok('policy', 'list')).not.toContain('bad one')
  })

  it('is reported when files are applied and rules are changed', async () => {
    await using directory = await temporaryDirectory()
    const file = join(directory.path, 'policies.json')
    await writeFile(file, JSON.stringify({ policies: [{ name: 'a', scope: {}, rules: [] }] }))
    const { run, ok } = await openAcme()
    await ok('rollout', 'start', '--stage', 'canary,50%,100%', '--force')

    const applied = await run(['apply', file, '--yes'])

    expect(applied.code).toBe(0)
    expect(applied.err).toMatch(HOLD)
    const rule = ['--name', 'r', '--action', 'connect:tcp', '--deny', 'bad.example']
    const added = await run(['rule', 'add', 'a', ...rule, '--json'])
    const updated = await run(['rule', 'update', 'a', 'r', 'worse.example'])
    const removed = await run(['rule', 'rm', 'a', 'r'])
    for (const { code, err } of [added, updated, removed])
      expect([code, err]).toEqual([0, expect.stringMatching(HOLD)])
    expect(JSON.parse(added.out)).toMatchObject({ name: 'r' })
    await ok('rollout', 'finish', '--yes')
    expect((await run(['rule', 'add', 'a', ...rule])).err).toBe('')
  })

  it.each([
    [[], '`--stage` at least once'],
    [['--stage', 'x%'], '`--stage` must be a whole number'],
    [['--stage', 'a', '--max-rejected', 'few'], '`--max-rejected` must be a whole number'],
    [['--stage', 'a', '--wait', 'soon'], '`--wait` must be 1m to 30d'],
    [['--stage', 'a', '--wait', '10'], '`--wait` must be 1m to 30d'],
    [['--stage', '150%'], '`--stage` must be 1% to 100%'],
  ])('refuses %j', async (argv, message) => {
    const refused = await runCli(['rollout', 'start', ...argv])
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining(message) })
  })
})
