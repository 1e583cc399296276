import { describe, expect, it } from 'vitest'
import { appendRows, row } from '../../server/evidence/store/evidence-batches.ts'
import { openCliOrganization, WEB, type CliOrganization } from './organization.ts'

const HOUR_MS = 60 * 60_000

/** Decisions of the applied policies of `WEB`. */
async function recordDecisions({ directory, run, evidence, now }: CliOrganization) {
  await directory.write('web.yaml', WEB)
  expect((await run(['apply', 'web.yaml', '--yes'])).code).toBe(0)
  const record = (host: string, decisions: number, decision: 'allow' | 'deny' = 'allow') =>
    row({ last_ms: now() - HOUR_MS, decisions, tuple: { host, decision } })
  await appendRows(evidence, [
    record('example.com', 5),
    record('a.example.com', 3),
    record('example.org', 2, 'deny'),
  ])
  await directory.write('web.yaml', WEB.replace('- example.com:443', '- example.org:443'))
}

async function upload({ call }: CliOrganization, mode: string): Promise<void> {
  await call('PATCH', '/api/v1/orgs/acme', { evidence: { upload: mode } })
}

describe('palisade plan --replay', () => {
  it('shows the recorded requests that files would newly deny and allow', async () => {
    await using organization = await openCliOrganization()
    await recordDecisions(organization)

    const planned = await organization.run(['plan', 'web.yaml', '--replay', '7d'])

    expect(planned).toMatchObject({ code: 0, err: '' })
    expect(planned.out.slice(planned.out.indexOf('Replay of'))).toBe(
      `Replay of 10 recorded requests, 2026-11-14 to 2026-11-21
machines upload no records at present; see \`palisade org set --upload\`
no records before 2026-11-21
5 newly denied
COUNT  USERS  DEVICES  LAST        ACTION       TARGET           BEFORE      AFTER
5      1      1        2026-11-21  connect:tcp  example.com:443  web: sites  default_deny
2 newly allowed
COUNT  USERS  DEVICES  LAST        ACTION       TARGET           BEFORE        AFTER
2      1      1        2026-11-21  connect:tcp  example.org:443  default_deny  web: sites
3 stay as they are
10 judged by the name alone, because the record has no address
`,
    )
  })

  it('prints the whole replay as JSON', async () => {
    await using organization = await openCliOrganization()
    await recordDecisions(organization)

    const { out } = await organization.run(['plan', 'web.yaml', '--replay', '--json'])

    expect(JSON.parse(out)).toMatchObject({
      changes: [{ change: 'updated' }],
      replay: { newly_denied: { count: 5 }, newly_allowed: { count: 2 } },
    })
  })

  it('shows progress on a terminal', async () => {
    await using organization = await openCliOrganization()
    await recordDecisions(organization)

    const { err } = await organization.run(['plan', 'web.yaml', '--replay'], { progress: true })

    expect(err).toContain('\rreading records, back to 2026-1')
    expect(err.endsWith('\r\u001B[K')).toBe(true)
  })

  it('shows no replay of another revision than that of the plan', async () => {
    await using organization = await openCliOrganization()
    await recordDecisions(organization)
    const others = { policies: [{ name: 'other', rules: [] }] }
    const interrupted: typeof fetch = async (url, init) => {
      if (typeof url === 'string' && url.endsWith('/replay'))
        await organization.call('POST', '/api/v1/orgs/acme/apply', others)
      return fetch(url, init)
    }

    const argv = ['plan', 'web.yaml', '--replay']
    const planned = await organization.run(argv, { fetch: interrupted })

    expect(planned).toMatchObject({
      code: 1,
      out: '',
      err: 'error: somebody else changed the organization since the plan; run it again\n',
    })
  })

  it('refuses a period that it cannot read', async () => {
    await using organization = await openCliOrganization()
    await organization.directory.write('web.yaml', WEB)

    const { code, err } = await organization.run(['plan', 'web.yaml', '--replay', 'long'])

    expect(code).toBe(2)
    expect(err).toContain('`--replay` must be an age such as `30d`')
  })
})

describe('palisade apply --require-replay', () => {
  it('exits 4 and changes nothing when more requests would be denied than allowed', async () => {
    await using organization = await openCliOrganization()
    await upload(organization, 'full')
    organization.advance(3 * HOUR_MS)
    await recordDecisions(organization)
    const { run } = organization

    const apply = ['apply', 'web.yaml', '--yes', '--require-replay=2026-11-21T08:30:00Z']
    const refused = await run(apply)
    const few = await run([...apply, '--max-denied', '4'])
    const enough = await run([...apply, '--max-denied=5'])

    expect(refused).toMatchObject({
      code: 4,
      err:
        'error: nothing was changed: 5 recorded requests would be denied, more than 0; ' +
        'see `palisade plan --replay`\n',
    })
    expect(few.code).toBe(4)
    expect(enough.code).toBe(0)
    expect(enough.out).toContain('applied; acme is at revision 5')
  })

  it.each([
    [3, 'wait for a whole day'],
    [50, 'write `--require-replay 2d`'],
  ])('changes nothing for days without all requests, after %s hours', async (hours, instead) => {
    await using organization = await openCliOrganization()
    await upload(organization, 'full')
    organization.advance(hours * HOUR_MS)
    await recordDecisions(organization)
    const old = row({
      last_ms: organization.now() - 20 * 24 * HOUR_MS,
      tuple: { host: 'x.example' },
    })
    await appendRows(organization.evidence, [old], { device_id: 'dev_old' })

    const argv = ['apply', 'web.yaml', '--yes', '--require-replay=30d', '--max-denied=1000']
    const refused = await organization.run(argv)

    expect(refused).toMatchObject({
      code: 1,
      err:
        'error: nothing was changed: the records cannot show what would be denied: ' +
        `all requests are recorded since 2026-11-21T08:00Z only; ${instead}\n`,
    })
  })

  it.each([
    ['sampled', 'machines upload a sample, which may leave out any request'],
    ['off', 'machines upload no records at present; see `palisade org set --upload`'],
    ['denials', 'machines upload denials alone; see `palisade org set --upload`'],
  ])('changes nothing while machines upload `%s`', async (mode, reason) => {
    await using organization = await openCliOrganization()
    await recordDecisions(organization)
    await upload(organization, mode)

    const argv = ['apply', 'web.yaml', '--yes', '--require-replay', '--max-denied=1000']
    const refused = await organization.run(argv)

    expect(refused).toMatchObject({
      code: 1,
      err: `error: nothing was changed: the records cannot show what would be denied: ${reason}\n`,
    })
    expect(refused.out).not.toContain('applied')
  })

  it('changes nothing when no request of the time is recorded', async () => {
    await using organization = await openCliOrganization()
    await recordDecisions(organization)
    await upload(organization, 'full')

    const argv = ['apply', 'web.yaml', '--yes', '--require-replay=2026-11-21T07:30:00Z']
    const refused = await organization.run(argv)

    expect(refused.code).toBe(1)
    expect(refused.err).toContain('no request of this time is recorded')
  })

  it('refuses `--max-denied` alone, and one that is no number', async () => {
    await using organization = await openCliOrganization()
    await organization.directory.write('web.yaml', WEB)
    const { run } = organization

    const alone = await run(['apply', 'web.yaml', '--yes', '--max-denied', '3'])
    const word = await run(['apply', 'web.yaml', '--yes', '--require-replay', '--max-denied=few'])

    expect(alone).toMatchObject({ code: 2, err: expect.stringContaining('--require-replay') })
    expect(word).toMatchObject({ code: 2, err: expect.stringContaining('whole number') })
  })
})
