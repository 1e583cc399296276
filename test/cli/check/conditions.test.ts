import { describe, expect, it } from 'vitest'
import { runCli, type CliRun } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const TARGET = ['connect:tcp', 'api.example.com:443'] as const

async function run(file: object, argv: readonly string[]): Promise<CliRun> {
  await using directory = await temporaryDirectory()
  const path = await directory.write('policies.json', JSON.stringify(file))
  return await runCli([...argv, '--policies', path], { cwd: directory.path })
}

function file(expires_at?: string, mode?: string, standard?: string): object {
  const rule = {
    id: 'rule_1',
    name: 'api',
    actions: ['connect:tcp'],
    decision: 'allow',
    resources: ['api.example.com'],
    ...(expires_at === undefined ? {} : { expires_at }),
  }
  const policy = { id: 'pol_1', name: 'web', allowlist_v0: { rules: [rule] } }
  return {
    policies: [mode === undefined ? policy : { ...policy, mode }],
    ...(standard === undefined ? {} : { default: standard }),
  }
}

const EXPIRING = file('2026-11-26T14:00:00Z')

describe('a policy file with a rule that expires', () => {
  it.each([
    ['2026-11-26T13:59:59.999Z', 0, 'rule'],
    ['2026-11-26T14:00:00Z', 1, 'default_deny'],
    ['2030-01-01T00:00:00Z', 1, 'default_deny'],
  ])('is decided at %s with exit %i and %s', async (at, code, reason) => {
    const result = await run(EXPIRING, ['check', ...TARGET, '--at', at, '--json'])

    expect(result).toMatchObject({ code, err: '' })
    expect(JSON.parse(result.out)).toMatchObject({ reason })
  })

  it('is decided at the present time without `--at`', async () => {
    const [past, future] = [file('2001-01-01T00:00:00Z'), file('2999-01-01T00:00:00Z')]

    expect(await run(past, ['check', ...TARGET])).toMatchObject({ code: 1 })
    expect(await run(future, ['check', ...TARGET])).toMatchObject({ code: 0 })
  })

  it('is explained with the expired rule', async () => {
    const argv = ['explain', ...TARGET, '--at', '2026-11-26T14:00:00Z']

    const { out } = await run(EXPIRING, argv)

    expect(out).toContain('allow by rule `api` of policy `web`: api.example.com (expired)')
  })

  it.each(['tomorrow', '2026-11-26', '2026-11-26T14:00:00+01:00', ''])(
    'is not decided at `%s`',
    async (at) => {
      const result = await run(EXPIRING, ['check', ...TARGET, '--at', at])

      expect(result).toMatchObject({ code: 2, out: '' })
      expect(result.err).toContain('`--at`')
    },
  )

  it('is refused when the expiry cannot be read', async () => {
    const result = await run(file('soon'), ['check', ...TARGET])

    expect(result).toMatchObject({ code: 2, out: '' })
    expect(result.err).toContain('`soon` is not a time in UTC')
  })

  it('has a finding of lint after its expiry', async () => {
    await using directory = await temporaryDirectory()
    const path = await directory.write('p.json', JSON.stringify(file('2001-01-01T00:00:00Z')))

    const { out } = await runCli(['lint', path, '--all'], { cwd: directory.path })

    expect(out).toContain('expired')
  })
})

it('refuses `--at` without a policy file', async () => {
  const result = await runCli(['check', ...TARGET, '--at', '2026-11-26T14:00:00Z'])

  expect(result).toMatchObject({ code: 2, out: '' })
  expect(result.err).toContain('`--at` needs `--policies`')
})

describe('a policy file with a shadow policy', () => {
  it('is denied, and shows the decision with it', async () => {
    const result = await run(file(undefined, 'shadow'), ['check', ...TARGET])

    expect(result).toMatchObject({ code: 1 })
    expect(result.out).toContain('with the shadow policies: allow (rule)')
  })

  it('is enforced when its mode is unknown', async () => {
    expect(await run(file(undefined, 'Shadow'), ['check', ...TARGET])).toMatchObject({ code: 0 })
  })
})

describe('a policy file with a default', () => {
  it('allows under `observe` with exit 0, and says so', async () => {
    const other = ['check', 'connect:tcp', 'other.example:443']

    const observed = await run(file(undefined, undefined, 'observe'), other)

    expect(observed).toMatchObject({ code: 0 })
    expect(observed.out).toContain('(observed)')
    expect(await run(file(undefined, undefined, 'Observe'), other)).toMatchObject({ code: 1 })
    expect(await run(file(), other)).toMatchObject({ code: 1 })
  })

  it('denies a protected address under `observe`', async () => {
    const argv = ['check', 'connect:tcp', '169.254.169.254:80']

    expect(await run(file(undefined, undefined, 'observe'), argv)).toMatchObject({ code: 1 })
  })
})
