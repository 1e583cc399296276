import type { AgentStatus, BreakGlassResult, SyncResult } from '@palisade/protocol'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { envelope, startLoopbackServer, type Reply } from '../../client/loopback-server.ts'
import { runCli, type CliRun } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { STATUS } from './status.ts'

async function ask(argv: readonly string[], reply: Reply, progress = false): Promise<CliRun> {
  await using directory = await temporaryDirectory()
  const socket = join(directory.path, 'agent.sock')
  await using agent = await startLoopbackServer(() => reply, socket)
  return await runCli(argv, { env: { PALISADE_AGENT_SOCKET: agent.url }, progress })
}

describe('palisade status', () => {
  it('shows state, revision and age in words', async () => {
    const result = await ask(['status'], { body: STATUS })

    expect(result).toMatchObject({ code: 0, err: '' })
    expect(result.out).toMatch(/^state +fresh {2}policies are in force\n/)
    expect(result.out).toMatch(/policies +revision 12, 3 policies, 9 rules, from the server\n/)
    expect(result.out).toMatch(/freshness +stale in 23 hours, expires in 7 days\n/)
    expect(result.out).toMatch(/proxy +http:\/\/127\.0\.0\.1:8421\n/)
    expect(result.out).not.toContain('failing')
    expect(result.out).toMatch(/hints +on: changes arrive at once\n/)
  })

  it('names the parent proxy, and where addresses are resolved', async () => {
    const here = { url: 'http://proxy.test:3128', resolves: false, last_error: null }
    const last_error = {
      code: 'refused',
      message: 'the parent proxy answered 407',
      at: '2026-11-21T11:57:00.000Z',
    }
    const show = async (parent_proxy: AgentStatus['parent_proxy']) =>
      (await ask(['status'], { body: { ...STATUS, parent_proxy } })).out

    expect(await show(here)).toMatch(
      /\nparent proxy +http:\/\/proxy\.test:3128\naddresses +resolved here\n/,
    )
    const other = await show({ ...here, resolves: true, last_error })
    expect(other).toMatch(/\naddresses +resolved by the parent: rules on addresses do not apply/)
    expect(other).toMatch(/\nparent error +the parent proxy answered 407, .*ago\n/)
    expect((await ask(['status'], { body: STATUS })).out).not.toContain('addresses')
  })

  it.each([
    ['linux-strict', null, 'linux-strict'],
    ['linux-sandbox', 'a strict sandbox was not tried yet', 'linux-sandbox: a strict sandbox was'],
    ['proxy-only', 'a sandbox failed its self-probe: x', 'proxy-only: a sandbox failed its'],
    ['decisions-only', 'the proxy was not tried yet', 'decisions-only: the proxy was not tried'],
  ] as const)(
    'shows the assurance class %s, and why it is not higher',
    async (name, reason, line) => {
      const body = { ...STATUS, assurance: { class: name, reason } }

      expect((await ask(['status'], { body })).out).toMatch(new RegExp(`\nassurance +${line}`))
      expect(JSON.parse((await ask(['status', '--json'], { body })).out)).toEqual(body)
      expect((await ask(['status'], { body: STATUS })).out).not.toContain('assurance')
    },
  )

  it('says that a passed self-probe means that the policy is in force', async () => {
    const probes = { proxy: { at: '2026-11-21T11:59:00.000Z', ok: true, detail: '' } }

    expect((await ask(['status'], { body: { ...STATUS, probes } })).out).toMatch(
      /\nself-probe +passed 1 minute ago: the policy is in force\n/,
    )
  })

  it('shows the name of the enrolment beside the host name', async () => {
    const body = { ...STATUS, enrolled_as: 'build machine' }

    expect((await ask(['status'], { body })).out).toMatch(
      /\nmachine +laptop \(dev_1\)\nenrolled as +build machine\n/,
    )
    expect(JSON.parse((await ask(['status', '--json'], { body })).out)).toEqual(body)
    expect((await ask(['status'], { body: STATUS })).out).not.toContain('enrolled as')
  })

  it('shows rules of the machine’s own, and that its allows are inactive', async () => {
    const show = async (denies: number, allows: number) =>
      (await ask(['status'], { body: { ...STATUS, local_rules: { denies, allows, rules: [] } } }))
        .out

    expect(await show(2, 0)).toMatch(/\nlocal rules +2 denies in force\n/)
    expect(await show(1, 3)).toMatch(
      /\nlocal rules +1 deny in force; 3 allows inactive: the organization governs this machine\n/,
    )
    expect((await ask(['status'], { body: STATUS })).out).not.toContain('local rules')
  })

  it('lists rules of the machine’s own, ten of them', async () => {
    const quiet = {
      policy_name: 'mine',
      name: 'quiet',
      decision: 'deny',
      actions: ['connect:tcp'],
      resources: ['ads.example.com', '*.ads.example.com'],
      resource_count: 7,
    }
    const open = { ...quiet, name: 'o\u001bpen', decision: 'allow', resource_count: 2 }
    const show = async (...rules: object[]) => {
      const local_rules = { denies: 1, allows: 24, rules }
      return (await ask(['status'], { body: { ...STATUS, local_rules } })).out
    }

    const out = await show(quiet, open)
    const long = await show(...Array.from({ length: 25 }, () => quiet))

    const names = 'ads.example.com, *.ads.example.com and 5 more'
    expect(out).toContain(` deny by rule \`quiet\` of \`mine\`: connect:tcp ${names}\n`)
    expect(out).toMatch(
      /\n +allow \(inactive\) by rule `o\\u001bpen` of `mine`: connect:tcp ads[^\n]+example\.com\n/,
    )
    expect(long.match(/by rule `quiet`/g)).toHaveLength(10)
    expect(long).toMatch(/\n +and 15 more rules\n/)
  })

  it('says how many decisions are not recorded, and why, only if there are any', async () => {
    const show = async (records: AgentStatus['records']) =>
      (await ask(['status'], { body: { ...STATUS, records } })).out
    const fine = { written: 5, lost: 0, bytes: 900, error: null }

    expect(await show(undefined)).not.toContain('records')
    expect(await show(fine)).not.toContain('records')
    expect(await show({ ...fine, lost: 1 })).toMatch(/\nrecords +1 decision not recorded\n/)
    expect(await show({ ...fine, lost: 3, error: 'ENOSPC' })).toMatch(
      /\nrecords +3 decisions not recorded; they cannot be written now \(ENOSPC\)\n/,
    )
  })

  it('shows what is uploaded, how far, and why it is not', async () => {
    const show = async (upload: AgentStatus['upload']) =>
      (await ask(['status'], { body: { ...STATUS, upload } })).out
    const off = { mode: 'off', acknowledged: null, waiting: null, last_error: null } as const
    const at = '2026-11-21T11:59:00.000Z'
    const acknowledged = { at, boot: 'b', seq: 41 }

    expect(await show(undefined)).not.toContain('upload')
    expect(await show(off)).toMatch(/\nupload +off: decision records stay on this machine\n/)
    expect(await show({ ...off, mode: 'full' })).toMatch(
      /\nupload +full: no record confirmed yet\n/,
    )
    expect(await show({ ...off, mode: 'sampled', acknowledged, waiting: 2 })).toMatch(
      /\nupload +sampled: confirmed up to 41, .* ago, 2 lines waiting\n/,
    )
    const last_error = { at, code: 'busy', message: 'the server is busy (503)' }
    expect(await show({ ...off, mode: 'full', waiting: 1, last_error })).toMatch(
      /1 line waiting\nupload error +the server is busy \(503\), /,
    )
  })

  it('says that policies have expired once they have', async () => {
    const { bundle } = STATUS
    const past = { stale_at: '2026-11-14T11:00:00.000Z', expires_at: '2026-11-20T11:00:00.000Z' }
    const expired = { ...STATUS, state: 'expired', bundle: { ...bundle, ...past } }

    const { out } = await ask(['status'], { body: expired })

    expect(out).toMatch(/freshness +stale 7 days ago, expired 1 day ago\n/)
  })

  it('shows whether hints are on, and since when they fail', async () => {
    const off = { is_on: false, failing_since: null, last_error: null }
    const failing = {
      is_on: true,
      failing_since: '2026-11-21T10:00:00.000Z',
      last_error: { code: 'timeout', message: 'no answer\u001b[2J' },
    }
    const show = async (hints: AgentStatus['hints']) =>
      (await ask(['status'], { body: { ...STATUS, hints } })).out

    expect(await show(off)).toMatch(/hints +off: changes arrive by scheduled polls only\n/)
    expect(await show(failing)).toMatch(
      /hints +none for 2 hours: no answer\\u001b\[2J \(timeout\)\n/,
    )
  })

  it('shows since when and why the sync fails, and a cache problem', async () => {
    const body: AgentStatus = {
      ...STATUS,
      state: 'never_loaded',
      user: null,
      bundle: null,
      sync: {
        ...STATUS.sync,
        last_success_at: null,
        failing_since: '2026-11-21T10:00:00.000Z',
        last_error: { code: 'unreachable', message: 'refused\u001b[2J' },
      },
      cache_problem: { file: 'state.json.rejected-1', message: 'bad signature' },
    }

    const { out } = await ask(['status'], { body })

    expect(out).toMatch(
      /state +never_loaded {2}no policies yet: everything is denied; run `palisade sync`\n/,
    )
    expect(out).toMatch(/last answer +none since the agent started\n/)
    expect(out).toMatch(/failing +for 2 hours, since 2026-11-21T10:00:00\.000Z\n/)
    expect(out).toMatch(/last error +refused\\u001b\[2J \(unreachable\)\n/)
    expect(out).toMatch(/cache problem +bad signature; set aside as state\.json\.rejected-1\n/)
    const left = { ...body, cache_problem: { file: null, message: 'is not read alike' } }
    expect((await ask(['status'], { body: left })).out).toMatch(/problem +is not read alike\n/)
  })

  it('names the files of two organizations that claim the machine', async () => {
    const enrolment_files = ['/etc/palisade/enrolment.json', '/home/dev/enrolment.json']
    const body = { ...STATUS, state: 'conflict', enrolment_files }

    const { out } = await ask(['status'], { body })

    expect(out).toMatch(/^state +conflict .*everything is denied; remove one enrolment file\n/)
    expect(out).toMatch(
      /\nenrolments +\/etc\/palisade\/enrolment.json, \/home\/dev\/enrolment.json\n/,
    )
  })

  const awaiting = {
    reason: 'clock_was_ahead',
    issued_after: '2026-11-21T11:57:00.000Z',
    signed_from: '2026-11-21T12:07:00.000Z',
  }

  it('shows the timestamp that a machine whose clock was ahead waits for', async () => {
    const later = { ...STATUS, state: 'expired', sync: { ...STATUS.sync, awaiting } }
    const signed_from = '2026-11-21T11:07:00.000Z'
    const now = { ...later, sync: { ...STATUS.sync, awaiting: { ...awaiting, signed_from } } }

    const said = (await ask(['status'], { body: later })).out
    const saidNow = (await ask(['status'], { body: now })).out

    expect(said).toMatch(/waiting +the clock of this machine was ahead/)
    expect(said).toContain('a timestamp after 2026-11-21T11:57:00.000Z')
    expect(said).toContain('from 2026-11-21T12:07:00.000Z on')
    expect(saidNow).toContain('which the server signs at the next `palisade sync`')
    expect((await ask(['status'], { body: STATUS })).out).not.toContain('waiting')
  })

  it('refuses the status of an agent that does not say whether it waits', async () => {
    const { awaiting: _absent, ...sync } = STATUS.sync

    expect(await ask(['status'], { body: { ...STATUS, sync } })).toMatchObject({ code: 1, out: '' })
  })

  it('shows the awaited timestamp after a sync', async () => {
    const body = { outcome: 'unchanged', revision: 12, error: null, awaiting }

    const { out } = await ask(['sync'], { body })

    expect(out).toMatch(/^unchanged .*\nwaiting {2}the clock of this machine was ahead/)
  })

  it('shows the grant in force with its reason, issuer and end', async () => {
    const break_glass = {
      id: 'g1',
      reason: 'the office is offline\u001b[2J',
      issued_by: 'user:ann',
      begun_at: '2026-11-21T11:00:00Z',
      until: '2026-11-21T15:00:00Z',
    }

    const { out } = await ask(['status'], {
      body: { ...STATUS, state: 'break_glass', break_glass },
    })

    expect(out).toContain('break_glass  a grant is in force')
    expect(out).toMatch(/break-glass +the office is offline\\u001b\[2J; by user:ann, /)
    expect(out).toContain('; by user:ann, until 2026-11-21T15:00:00Z (g1)\n')
  })

  it('prints the status object on --json', async () => {
    expect(JSON.parse((await ask(['status', '--json'], { body: STATUS })).out)).toEqual(STATUS)
  })

  it('answers 1 when the agent fails', async () => {
    expect(await ask(['status'], envelope(500, 'internal'))).toMatchObject({ code: 1, out: '' })
  })
})

describe('palisade break-glass use and end', () => {
  const grant = {
    id: 'g1',
    reason: 'the office is offline',
    issued_by: 'user:ann',
    begun_at: '2026-11-21T11:00:00Z',
    until: '2026-11-21T15:00:00Z',
  }
  const refused = { code: 'already_used', message: 'the grant was used before' }

  it.each<[BreakGlassResult, number, string]>([
    [
      { outcome: 'begun', grant, error: null },
      0,
      'break-glass  a grant is in force until 2026-11-21T15:00:00Z: the office is offline\n',
    ],
    [
      { outcome: 'failed', grant: null, error: refused },
      1,
      'failed  the grant was used before (already_used)\n',
    ],
  ])('use answers %j with exit %i', async (body, code, out) => {
    await using directory = await temporaryDirectory()
    const file = join(directory.path, 'grant.json')
    await writeFile(file, '{"any":"text"}')
    const seen: unknown[] = []
    const socket = join(directory.path, 'agent.sock')
    await using agent = await startLoopbackServer((request) => {
      seen.push([request.method, request.url, request.body])
      return { body }
    }, socket)
    const env = { PALISADE_AGENT_SOCKET: agent.url }

    expect(await runCli(['break-glass', 'use', file], { env })).toEqual({ code, out, err: '' })
    const json = await runCli(['break-glass', 'use', file, '--json'], { env })
    expect(json).toEqual({ code, out: `${JSON.stringify(body)}\n`, err: '' })
    expect(seen[0]).toEqual(['POST', '/v1/break-glass', '{"any":"text"}'])
  })

  it('use answers 2 for a file that cannot be read', async () => {
    expect(await runCli(['break-glass', 'use', 'missing.json'])).toMatchObject({ code: 2, out: '' })
  })

  it('end reports the end of the grant, or exits with 1 without one', async () => {
    const none = { code: 'none_in_force', message: 'no grant is in force' }
    const bad = await ask(['break-glass', 'end'], {
      body: { outcome: 'failed', grant: null, error: none },
    })
    const good = await ask(['break-glass', 'end'], {
      body: { outcome: 'ended', grant: null, error: null },
    })

    expect(bad).toEqual({ code: 1, out: 'failed  no grant is in force (none_in_force)\n', err: '' })
    expect(good).toEqual({ code: 0, out: 'ended  no grant is in force\n', err: '' })
  })
})

describe('palisade sync', () => {
  it.each<[SyncResult, number, string]>([
    [{ outcome: 'updated', revision: 13, error: null }, 0, 'updated  revision 13 is in force\n'],
    [
      { outcome: 'unchanged', revision: 13, error: null },
      0,
      'unchanged  revision 13 is in force\n',
    ],
    [
      { outcome: 'failed', revision: 12, error: { code: 'bad_signature', message: 'no' } },
      1,
      'failed  no (bad_signature); revision 12 stays in force\n',
    ],
    [
      { outcome: 'failed', revision: null, error: { code: 'unreachable', message: 'gone' } },
      1,
      'failed  gone (unreachable); everything is denied\n',
    ],
    [
      { outcome: 'updated', revision: 13, error: null, in_force: { state: 'fresh', revision: 13 } },
      0,
      'updated  revision 13 is in force\n',
    ],
    [
      {
        outcome: 'unchanged',
        revision: 13,
        error: null,
        in_force: { state: 'conflict', revision: null },
      },
      1,
      'unchanged  revision 13 is verified, but two organizations claim this machine: ' +
        'everything is denied; `palisade status` names their files\n',
    ],
    [
      {
        outcome: 'failed',
        revision: 14,
        error: { code: 'unsupported_policy', message: 'no' },
        in_force: { state: 'unsupported', revision: null },
      },
      1,
      'failed  no (unsupported_policy); everything is denied\n',
    ],
    [
      {
        outcome: 'failed',
        revision: 14,
        error: { code: 'self_test_failed', message: 'no' },
        in_force: { state: 'rejected', revision: 13 },
      },
      1,
      'failed  no (self_test_failed); revision 13 stays in force\n',
    ],
    [
      {
        outcome: 'failed',
        revision: 13,
        error: { code: 'unreachable', message: 'gone' },
        in_force: { state: 'expired', revision: 13 },
      },
      1,
      'failed  gone (unreachable); revision 13 has expired: only offline hosts are allowed\n',
    ],
  ])('answers %j with exit %i', async (body, code, out) => {
    expect(await ask(['sync'], { body })).toEqual({ code, out, err: '' })
    const json = await ask(['sync', '--json'], { body })
    expect(json).toEqual({ code, out: `${JSON.stringify(body)}\n`, err: '' })
  })

  it('shows on a terminal that it waits, after a second and until the end', async () => {
    const body: SyncResult = { outcome: 'unchanged', revision: 1, error: null }

    const slow = await ask(['sync'], { body, delayMs: 1_200 }, true)
    const fast = await ask(['sync'], { body }, true)

    expect(slow).toMatchObject({ code: 0, err: '\rwaiting for the server …\u001B[K\r\u001B[K' })
    expect(fast).toMatchObject({ code: 0, err: '' })
  })
})

describe('palisade bundle import', () => {
  async function importFile(content: string | Uint8Array, reply: Reply): Promise<CliRun> {
    await using directory = await temporaryDirectory()
    const socket = join(directory.path, 'agent.sock')
    const file = join(directory.path, 'bundle.json')
    await writeFile(file, content)
    await using agent = await startLoopbackServer(({ body }) => {
      expect(body).toBe(content)
      return reply
    }, socket)
    return await runCli(['bundle', 'import', file], { env: { PALISADE_AGENT_SOCKET: agent.url } })
  }

  it('gives the file to the agent, and prints the outcome', async () => {
    const body: SyncResult = { outcome: 'updated', revision: 8, error: null }

    expect(await importFile('{"any":"text"}', { body })).toEqual({
      code: 0,
      out: 'updated  revision 8 is in force\n',
      err: '',
    })
  })

  it('answers 1 for a file that the agent refused, with the reason', async () => {
    const error = { code: 'wrong_device', message: 'the bundle file is for another device' }

    expect(
      await importFile('{}', { body: { outcome: 'failed', revision: 7, error } }),
    ).toMatchObject({
      code: 1,
      out:
        'failed  the bundle file is for another device (wrong_device); ' +
        'revision 7 stays in force\n',
    })
  })

  it.each(['missing.json', ''])('answers 2 for the file `%s`', async (file) => {
    expect(await runCli(['bundle', 'import', file])).toMatchObject({ code: 2, out: '' })
  })
})
