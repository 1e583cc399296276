import { describe, expect, it } from 'vitest'
import { runCli, type CliRun } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const LOCAL = `local:
  - name: mine
    rules:
      - { name: quiet, actions: [connect:tcp], decision: deny, resources: [ads.example.com] }
      - { name: web, actions: [connect:tcp], decision: allow, resources: ['*.example.com'] }
  - name: my files
    rules:
      - { name: home, actions: [read], decision: deny, resources: [~/keys/**] }
`

/** Runs in a directory with the file `local.yaml`. */
async function run(text: string, ...argv: string[]): Promise<CliRun> {
  await using directory = await temporaryDirectory()
  await directory.write('local.yaml', text)
  return await runCli(argv, { cwd: directory.path, home: '/home/ann' })
}

describe('a file of local rules by name', () => {
  it('is linted with line numbers, and reports inactive allows', async () => {
    const { code, out, err } = await run(LOCAL, 'lint', 'local.yaml', '--all')

    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain('(local.yaml:5:')
    expect(out).toContain('inactive: local allow `web`; the organization governs this machine')
    expect(out).toContain('local.yaml: 2 policies, 3 rules, ')
  })

  it.each([
    [1, ['connect:tcp', 'ads.example.com:443'], 'deny by rule `quiet` of local policy `mine`'],
    [0, ['connect:tcp', 'api.example.com:443'], 'allow by rule `web` of local policy `mine`'],
    [1, ['read', '/home/ann/keys/id'], 'deny by rule `home` of local policy `my files`'],
    [
      1,
      ['read', '/home/eve/keys/id', '--home', '/home/eve'],
      'deny by rule `home` of local policy `my files`',
    ],
  ])('is evaluated with exit %i for %j', async (code, argv, words) => {
    const result = await run(LOCAL, 'check', ...argv, '--policies', 'local.yaml')

    expect(result).toMatchObject({ code, err: '' })
    expect(result.out).toContain(words)
  })

  it('refuses teams', async () => {
    const argv = ['check', 'read', '/x', '--policies', 'local.yaml', '--team', 'backend']

    const { code, err } = await run(LOCAL, ...argv)

    expect(code).toBe(2)
    expect(err).toContain('local rules have no teams; leave out `--team`')
  })

  it('is refused with a line number and the message of plan', async () => {
    const { code, err } = await run(LOCAL.replace('deny', 'forbid'), 'lint', 'local.yaml')

    expect(code).toBe(2)
    expect(err).toMatch(/^error: local\.yaml:4:\d+: `decision` `forbid` is not known; write one of/)
  })

  it('is refused by plan', async () => {
    const { code, err } = await run(LOCAL, 'plan', 'local.yaml')

    expect(code).toBe(2)
    expect(err).toContain(
      'local.yaml: `local` rules belong to one machine; ' +
        'name the file in `PALISADE_LOCAL_POLICIES` of its agent',
    )
  })
})
