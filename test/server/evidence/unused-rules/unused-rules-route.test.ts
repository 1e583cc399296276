import { FIRST_PREVIOUS, type UnusedRules, type UploadedRecord } from '@palisade/protocol'
import { gzipSync } from 'node:zlib'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freshName } from '../../fresh-name.ts'
import { openOwner, type Owner } from '../../owner.ts'
import { enrolTestDevice, headersOf, type TestDevice } from '../../test-device.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { HEADER, linesOf, recordOf, textOf } from '../ingest/batch-text.ts'
import { atEndOfTests } from '../../temporary-directory.ts'

const RECORDS = '/api/v1/device/records'

describe('the report of unused rules', () => {
  let test: TestServer
  let org: string
  let api: string
  let owner: Owner
  let policyId: string
  /** Ids of rules by their names. */
  let ids: Record<string, string>

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    org = freshName('acme')
    api = `/api/v1/orgs/${org}`
    owner = await openOwner(test, org, freshName('alice'))
    policyId = (await post(`${api}/policies`, { name: 'web' })).id
    ids = {}
    for (const [name, more] of [
      ['used', {}],
      ['never', {}],
      ['denied', { decision: 'deny' }],
      ['expired', { expires_at: '2026-01-01T00:00:00Z' }],
    ] as const)
      ids[name] = (
        await post(`${api}/policies/${policyId}/rules`, {
          name,
          actions: ['connect:tcp'],
          decision: 'allow',
          resources: [`${name}.example.com:443`],
          ...more,
        })
      ).id
  })

  async function post(url: string, payload: object): Promise<{ id: string }> {
    const response = await test.send('POST', url, { as: owner.as, payload })
    expect(response.statusCode, response.body).toBe(201)
    return response.json()
  }

  const choose = (upload: string) =>
    test.send('PATCH', api, { as: owner.as, payload: { evidence: { upload } } })
  const enrol = (name: string) => enrolTestDevice(test, owner.as, org, { name })

  async function upload(device: TestDevice, ...records: UploadedRecord[]): Promise<void> {
    const response = await test.server.app.inject({
      method: 'POST',
      url: RECORDS,
      headers: {
        ...headersOf(device, 'POST', RECORDS),
        'content-type': 'application/x-ndjson',
        'content-encoding': 'gzip',
      },
      payload: gzipSync(textOf({ ...HEADER, previous: FIRST_PREVIOUS }, linesOf(records))),
    })
    expect(response.statusCode, response.body).toBe(200)
  }

  const ruleOf = (name: string) => ({
    policy_id: policyId,
    rule_id: ids[name] ?? '',
    decision: name === 'denied' ? ('deny' as const) : ('allow' as const),
    origin: 'org' as const,
  })
  const allowedBy = (name: string) =>
    recordOf({ decision: 'allow', reason: 'rule', rules: [ruleOf(name)] })

  async function report(query = ''): Promise<UnusedRules> {
    const response = await test.send('GET', `${api}/unused-rules${query}`, { as: owner.as })
    expect(response.statusCode, response.body).toBe(200)
    return response.json()
  }
  const uses = async (query = '') =>
    (await report(query)).data.map(({ rule_name, use }) => `${rule_name} ${use}`)

  it('judges no rule without records', async () => {
    expect(await report()).toMatchObject({
      evidence: { upload: 'off', since: null, judges_allows: false },
      next_page_token: null,
    })
    expect(await uses()).toEqual([
      'used unknown',
      'never unknown',
      'denied unknown',
      'expired unknown',
    ])
  })

  it('names rules that never decided, and expired ones, with the age of the evidence', async () => {
    await choose('full')
    await upload(await enrol('laptop'), allowedBy('used'), allowedBy('expired'))

    const { evidence, data } = await report()

    expect(evidence).toEqual({
      upload: 'full',
      since: '2026-11-21T00:00:00.000Z',
      judges_allows: true,
    })
    expect(data).toEqual([
      expect.objectContaining({ rule_name: 'never', use: 'never', expired: false }),
      expect.objectContaining({ rule_name: 'denied', decision: 'deny', use: 'never' }),
      {
        policy_id: policyId,
        policy_name: 'web',
        rule_id: ids['expired'],
        rule_name: 'expired',
        decision: 'allow',
        use: 'used',
        expired: true,
        expires_at: '2026-01-01T00:00:00.000Z',
      },
    ])
  })

  it('judges no rule for files without a record: it may hold paths in a workspace', async () => {
    await choose('full')
    const files = (await post(`${api}/policies`, { name: 'files' })).id
    const [work = '', deny = ''] = await Promise.all(
      (['allow', 'deny'] as const).map(async (decision) => {
        const rule = { name: decision, actions: ['read'], decision, resources: [`/${decision}/**`] }
        return (await post(`${api}/policies/${files}/rules`, rule)).id
      }),
    )
    const granted = recordOf({
      point: 'files',
      protocol: 'mount',
      decision: 'allow',
      reason: 'rule',
      request: { action: 'read', path: '/allow' },
      rules: [{ policy_id: files, rule_id: work, decision: 'allow', origin: 'org' }],
    })
    await upload(await enrol('laptop'), granted)

    const { data } = await report()

    expect(data.find(({ rule_id }) => rule_id === work)).toBeUndefined()
    expect(data.find(({ rule_id }) => rule_id === deny)).toMatchObject({ use: 'unknown' })
  })

  it('judges no allow while machines upload denials alone', async () => {
    await choose('denials')
    await upload(await enrol('laptop'), recordOf())

    expect((await report()).evidence).toMatchObject({ upload: 'denials', judges_allows: false })
    expect(await uses()).toEqual([
      'used unknown',
      'never unknown',
      'denied never',
      'expired unknown',
    ])
  })

  it('tells rules that decided on revoked devices alone, until another one uses them', async () => {
    await choose('full')
    const [old, other] = [await enrol('old'), await enrol('other')]
    await upload(old, allowedBy('used'))
    expect(await uses()).not.toContain('used used')
    const url = `${api}/devices/${old.enrolment.device_id}`
    expect((await test.send('DELETE', url, { as: owner.as })).statusCode).toBe(204)

    expect(await uses()).toContain('used gone_devices')
    await upload(other, allowedBy('used'))

    expect(await uses()).toEqual(['never never', 'denied never', 'expired never'])
  })

  it('tells rules that only shadow policies would match', async () => {
    await choose('full')
    const shadow = {
      decision: 'deny' as const,
      reason: 'rule' as const,
      rules: [ruleOf('denied')],
    }
    await upload(await enrol('laptop'), { ...allowedBy('used'), shadow })

    expect(await uses()).toContain('denied shadowed')
    const audit = await test.send(
      'GET',
      `/v2/auditlogs/governance/${org}?shadow=AUDIT_DECISION_DENY`,
      {
        as: owner.as,
      },
    )
    expect(audit.json().events).toMatchObject([{ decision: 'AUDIT_DECISION_ALLOW', shadow }])
  })

  it('leaves out the days before `since`', async () => {
    await choose('full')
    const time = '2026-11-20T08:00:00.000Z'
    await upload(await enrol('laptop'), { ...allowedBy('used'), time }, allowedBy('never'))

    expect(await uses('?since=2026-11-20T20:00:00Z')).not.toContain('used never')
    expect(await uses('?since=2026-11-21T00:00:00Z')).toContain('used never')
  })

  it('judges no rule by days without records', async () => {
    await choose('full')
    await upload(await enrol('laptop'), allowedBy('used'))

    expect(await uses('?since=2026-11-22T00:00:00Z')).toEqual([
      'used unknown',
      'never unknown',
      'denied unknown',
      'expired unknown',
    ])
  })

  it('judges no allow by a sample, which may leave out a request for ever', async () => {
    await choose('full')
    await upload(await enrol('laptop'), allowedBy('used'))
    await choose('sampled')

    expect((await report()).evidence.judges_allows).toBe(false)
    expect(await uses()).toEqual(['never unknown', 'denied never', 'expired unknown'])
  })

  it('judges no rule by days on which machines uploaded less', async () => {
    await choose('denials')
    await upload(await enrol('laptop'), { ...recordOf(), time: '2026-11-20T08:00:00.000Z' })
    await choose('full')
    await upload(await enrol('other'), allowedBy('used'))

    expect(await uses()).toEqual(['never unknown', 'denied unknown', 'expired unknown'])
    expect(await uses('?since=2026-11-21T00:00:00Z')).toContain('never never')
  })

  it('is paged by policies', async () => {
    await post(`${api}/policies`, { name: 'empty' })
    const first = await report('?page_size=1')
    const second = await report(`?page_size=1&page_token=${first.next_page_token}`)

    expect([first.data.length + second.data.length, second.next_page_token]).toEqual([4, null])
  })

  it('needs the permissions to read the log and the policies', async () => {
    const token = async (permissions: string[]) => {
      const payload = { name: permissions.join(' '), permissions, expires_in_days: 1 }
      const made = await test.send('POST', `${api}/access-tokens`, { as: owner.as, payload })
      return test.signIn(org, made.json().token)
    }
    const status = async (permissions: string[]) =>
      (await test.send('GET', `${api}/unused-rules`, { as: await token(permissions) })).statusCode

    expect(await status(['audit:read'])).toBe(403)
    expect(await status(['policies:read'])).toBe(403)
    expect(await status(['audit:read', 'policies:read'])).toBe(200)
  })
})
