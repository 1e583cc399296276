import type { ReplayLine, ReplayResult } from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freshName } from '../../fresh-name.ts'
import { openOwner, type Owner } from '../../owner.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { appendRows, row } from '../store/evidence-batches.ts'
import { atEndOfTests } from '../../temporary-directory.ts'

const HOUR_MS = 60 * 60_000
const ALLOW_ALL = {
  name: 'web',
  rules: [
    { name: 'all', actions: ['connect:tcp'], decision: 'allow', resources: ['**.example:443'] },
  ],
}

describe('the names of a replay', () => {
  let test: TestServer
  let org: string
  let alice: string
  let devices: readonly [string, string]
  let owner: Owner

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    ;[org, alice] = [freshName('acme'), freshName('alice')]
    owner = await openOwner(test, org, alice)
    devices = [freshName('dev'), freshName('dev')]
    const answer = await test.send('POST', `/api/v1/orgs/${org}/apply`, {
      as: owner.as,
      payload: { policies: [ALLOW_ALL] },
    })
    expect(answer.statusCode, answer.body).toBe(200)
    const record = (host: string, changes: object = {}) =>
      row({ last_ms: test.now() - HOUR_MS, tuple: { host, program: '/usr/bin/npm', ...changes } })
    const rows = [
      record('shared.example'),
      record('secret.example', { decision: 'deny', reason: 'default_deny', revision: 1 }),
      record('a.example', { host: null, port: null, action: 'read', path_cut: true }),
    ]
    const [device_id, other] = devices
    const from = { org, username: alice }
    await appendRows(test.evidence, rows, { ...from, device_id })
    await appendRows(test.evidence, [record('shared.example')], { ...from, device_id: other })
  })

  const replay = async (as: string): Promise<ReplayResult> => {
    const payload = { policies: [], prune: true }
    const answer = await test.send('POST', `/api/v1/orgs/${org}/replay`, { as, payload })
    expect(answer.statusCode, answer.body).toBe(200)
    const line = JSON.parse(answer.body.trimEnd().split('\n').pop() ?? '') as ReplayLine
    if (!('result' in line)) throw new Error(answer.body)
    return line.result
  }

  it('and counts leave out questions, which are no requests', async () => {
    const before = await replay(owner.as)
    const asked = row({ last_ms: test.now() - HOUR_MS, tuple: { point: 'local_api' } })
    await appendRows(test.evidence, [asked], { org, username: alice, device_id: freshName('dev') })

    expect(await replay(owner.as)).toEqual({
      ...before,
      from: expect.any(String),
      to: expect.any(String),
    })
  })

  it('are left out for an editor, and so are targets of single devices', async () => {
    const editor = await owner.addMember(freshName('eve'), 'editor', 'correct horse battery')

    const result = await replay(editor)

    expect(result).toMatchObject({
      recorded: { count: 4, users: 1, devices: 2 },
      newly_denied: {
        count: 3,
        groups: [{ target: 'shared.example:443', count: 2, devices: 2, example: null }],
        more_groups: 1,
        more_count: 1,
      },
      not_judged: [{ cause: 'path_cut', count: 1, example: null }],
      drift: [{ cause: 'revision', count: 1, example: null }],
    })
    expect(JSON.stringify(result)).not.toMatch(/secret|npm|dev-|alice/)
  })

  it('are shown to auditors', async () => {
    const auditor = await owner.addMember(freshName('ann'), 'auditor', 'correct horse battery')

    const { newly_denied, drift } = await replay(auditor)

    expect(newly_denied.groups).toMatchObject([
      { target: 'shared.example:443', example: { username: alice, program: '/usr/bin/npm' } },
      { target: 'secret.example:443', example: { device_id: devices[0] } },
    ])
    expect(drift).toMatchObject([{ example: { username: alice } }])
  })

  it('are not for an organization token that only writes policies', async () => {
    const token = await owner.organizationToken(['policies:read', 'policies:write'])

    expect(JSON.stringify(await replay(token))).not.toMatch(/secret|npm|dev-|alice/)
  })

  it('leave an event for their reader, once an hour', async () => {
    await replay(owner.as)
    await replay(owner.as)

    const url = `/api/v1/orgs/${org}/events?kind=audit_log.read`
    const { data } = (await test.send('GET', url, { as: owner.as })).json()
    expect(data).toMatchObject([
      { actor: `user:${alice}`, after: { reader: `user:${alice}`, for: 'replay' } },
    ])
  })
})
