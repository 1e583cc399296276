import type { ReplayLine, ReplayResult } from '@palisade/protocol'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freshName } from '../../fresh-name.ts'
import { openOwner, type Owner } from '../../owner.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { appendRows, row } from '../store/evidence-batches.ts'
import { atEndOfTests } from '../../temporary-directory.ts'

const HOUR_MS = 60 * 60_000
const NET = { name: 'net', actions: ['connect:tcp'] }
const DENY = {
  name: 'closed',
  rules: [{ ...NET, decision: 'deny', resources: ['closed.example:443'] }],
}
const ALLOW = { name: 'open', rules: [{ ...NET, decision: 'allow', resources: ['open.example'] }] }

describe('a replay for machines that observe', () => {
  let test: TestServer
  let org: string
  let alice: string
  let owner: Owner

  const call = async (method: 'PATCH' | 'POST' | 'PUT', path: string, payload: object) => {
    const answer = await test.send(method, `/api/v1/orgs/${org}${path}`, { as: owner.as, payload })
    expect(answer.statusCode, answer.body).toBeLessThan(300)
    return answer
  }
  const replay = async (...policies: object[]): Promise<ReplayResult> => {
    const { body } = await call('POST', '/replay', { policies, prune: true })
    const line = JSON.parse(body.trimEnd().split('\n').pop() ?? '') as ReplayLine
    if (!('result' in line)) throw new Error(body)
    return line.result
  }

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    test = await openTestServer(atEnd)
  })
  beforeEach(async () => {
    ;[org, alice] = [freshName('acme'), freshName('alice')]
    owner = await openOwner(test, org, alice)
    const record = (host: string, decisions: number) =>
      row({ last_ms: test.now() - HOUR_MS, decisions, tuple: { host, reason: 'observed' } })
    const rows = [
      record('closed.example', 7),
      record('open.example', 3),
      record('other.example', 2),
    ]
    const device_id = freshName('dev')
    await appendRows(test.evidence, rows, { org, username: alice, device_id })
  })

  it('shows what a deny rule would close, and otherwise decides as if they enforced', async () => {
    await call('PATCH', '', { default: 'observe' })

    const { newly_denied, newly_allowed, unchanged } = await replay(DENY, ALLOW)

    expect(newly_denied).toMatchObject({
      count: 7,
      groups: [{ before: { decision: 'allow', reason: 'observed' }, after: { decision: 'deny' } }],
    })
    expect(newly_allowed).toMatchObject({ count: 3, groups: [{ target: 'open.example:443' }] })
    expect(unchanged.count).toBe(2)
  })

  it('shows what the removal of a deny rule would open', async () => {
    await call('PATCH', '', { default: 'observe' })
    await call('POST', '/apply', { policies: [DENY] })

    const { newly_denied, newly_allowed } = await replay()

    expect(newly_denied.count).toBe(0)
    expect(newly_allowed).toMatchObject({
      count: 7,
      groups: [{ after: { decision: 'allow', reason: 'observed' } }],
    })
  })

  it('goes by the teams of each user', async () => {
    await call('PATCH', '', { default: 'observe' })
    const { id } = (await call('POST', '/teams', { name: 'payments' })).json()
    await call('PUT', `/teams/${id}/members/${alice}`, {})
    await call('PATCH', `/teams/${id}`, { default: 'enforce' })

    const { newly_denied, unchanged } = await replay(DENY)

    expect(newly_denied.count).toBe(0)
    expect(unchanged.count).toBe(12)
  })
})
