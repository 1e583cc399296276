import type { CreatedAccessToken } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { OPERATOR } from '../../../../server/src/history/author.ts'
import { pruneHistory } from '../../../../server/src/history/prune-history.ts'
import { verifyHistory } from '../../../../server/src/history/verify-history.ts'
import { openOwner } from '../../owner.ts'
import { enrolTestDevice } from '../../test-device.ts'
import { openTestServer } from '../../test-server.ts'

const ACME = '/api/v1/orgs/acme'
const POLICIES = '/v2/orgs/acme/governance/policies'
const PASSWORD = 'a long enough password'
const LABELS = Array.from({ length: 3 }, () => 'a'.repeat(63)).join('.')
/** Resources of a rule of about 300 KB: few and long, because each one is parsed. */
const LARGE = Array.from({ length: 1_300 }, (_, index) => `host-${index}.${LABELS}.example.com`)

async function open(settings: Record<string, string> = { PALISADE_MAX_HISTORY_MIB: '1' }) {
  const test = await openTestServer(undefined, { settings })
  const owner = await openOwner(test, 'acme', 'alice')
  const { as } = owner
  const send = async (
    method: 'POST' | 'PATCH' | 'DELETE',
    url: string,
    payload?: object,
    caller = as,
  ) => {
    const answer = await test.send(method, url, { as: caller, ...(payload && { payload }) })
    const { error } = answer.body === '' ? { error: undefined } : answer.json()
    return { status: answer.statusCode, error, body: answer.body }
  }
  const made = async (url: string, payload: object) => {
    const { status, body } = await send('POST', url, payload)
    expect(status, body).toBe(201)
    return JSON.parse(body) as { id: string }
  }
  const rule = (name: string, decision: 'allow' | 'deny', resources: readonly string[]) => ({
    name,
    actions: ['connect:tcp'],
    decision,
    resources,
  })
  const { id: policy } = await made(POLICIES, { name: 'p' })
  const rules = `${POLICIES}/${policy}/rules`
  const bytes = () => test.store.read(({ events }) => events.bytes('acme'))
  /** Adds and removes rules until one is refused; returns the refusal. */
  async function fill(decision: 'allow' | 'deny') {
    for (let round = 0; round < 20; round += 1) {
      const answer = await send('POST', rules, rule(`fill ${round}`, decision, LARGE))
      if (answer.status !== 201) return answer
      expect((await send('DELETE', `${rules}/${JSON.parse(answer.body).id}`)).status).toBeLessThan(
        300,
      )
    }
    throw new Error('no rule was refused')
  }
  return { test, owner, as, send, made, rule, policy, rules, bytes, fill }
}

describe('the history quota', () => {
  it('refuses changes once it is full and names the settings that help', async () => {
    const { send, fill, bytes } = await open()

    const refused = await fill('allow')
    const before = await bytes()
    const team = await send('POST', `${ACME}/teams`, { name: 'one' })

    expect(refused).toMatchObject({ status: 403, error: { code: 'limit_exceeded' } })
    expect(refused.error.message).toMatch(
      /history of `acme` .* 1 MiB.*history prune.*PALISADE_HISTORY_DAYS.*PALISADE_MAX_HISTORY_MIB/,
    )
    expect(team).toMatchObject({ status: 403, error: { code: 'limit_exceeded' } })
    // A refused change leaves nothing behind.
    expect(await bytes()).toBe(before)
  })

  it('allows any number of deletions, revocations and lower roles', async () => {
    const { test, owner, as, send, made, rule, rules, policy, fill } = await open()
    const bob = await owner.addMember('bob', 'owner', PASSWORD)
    await owner.addMember('ed', 'editor', PASSWORD)
    const token = await made(`${ACME}/access-tokens`, {
      name: 'ci',
      permissions: [],
      expires_in_days: 1,
    })
    const enrolment = { name: 'e', max_uses: 1, expires_in_days: 1 }
    const enrolmentToken = await made(`${ACME}/enrolment-tokens`, enrolment)
    const webhook = await made(`${ACME}/webhooks`, { url: 'https://hooks.example.com/x' })
    const team = await made(`${ACME}/teams`, { name: 'one' })
    const device = await enrolTestDevice(test, as, 'acme')
    const allowed = await made(rules, rule('open', 'allow', ['a.example.com']))
    await fill('allow')
    await fill('deny')

    expect(await send('POST', rules, rule('more', 'deny', ['b.example.com']))).toMatchObject({
      status: 403,
      error: { code: 'limit_exceeded' },
    })
    expect(await send('PATCH', `${ACME}/members/ed`, { role: 'auditor' })).toMatchObject({
      status: 403,
    })
    const taken = [
      await send('PATCH', `${ACME}/members/bob`, { role: 'editor' }),
      await send('PATCH', `${ACME}/members/ed`, { role: 'member' }),
      await send('DELETE', `${ACME}/access-tokens/${token.id}`),
      await send('DELETE', `${ACME}/enrolment-tokens/${enrolmentToken.id}`),
      await send('DELETE', `${ACME}/webhooks/${webhook.id}`),
      await send('DELETE', `${ACME}/devices/${device.enrolment.device_id}`),
      await send('DELETE', `${rules}/${allowed.id}`),
      await send('DELETE', `${POLICIES}/${policy}`),
      await send('DELETE', `${ACME}/teams/${team.id}`),
      await send('DELETE', `${ACME}/members/ed`),
    ]
    expect(taken.map(({ status, body }) => (status < 300 ? 'done' : body))).toEqual(
      taken.map(() => 'done'),
    )
    const password = { password: PASSWORD, new_password: 'another long password' }
    const changed = await test.send('PUT', '/api/v1/user/password', { as: bob, payload: password })
    expect(changed.statusCode, changed.body).toBe(200)
  })

  it('allows the end of access, also that of a member who is removed', async () => {
    const { test, owner, as, send, made, fill } = await open()
    const bob = await owner.addMember('bob', 'member', PASSWORD)
    const requests = `${ACME}/access-requests`
    const ask = async () => {
      const wanted = {
        action: 'connect:tcp',
        resources: ['a.example.com:443'],
        duration_seconds: 3600,
        reason: 'release',
      }
      const { status, body } = await send('POST', requests, wanted, bob)
      expect(status, body).toBe(201)
      return `${requests}/${(JSON.parse(body) as { id: string }).id}`
    }
    const team = await made(`${ACME}/teams`, { name: 'one' })
    const approver = `${ACME}/teams/${team.id}/approvers/bob`
    const added = (await test.send('PUT', approver, { as })).statusCode
    const [granted, rejected, withdrawn, later] = [
      await ask(),
      await ask(),
      await ask(),
      await ask(),
    ]
    for (const each of [granted, later])
      expect((await send('POST', `${each}/approve`, {})).status).toBe(200)
    await ask()
    await fill('allow')
    await fill('deny')

    const answer = { answer: 'no more' }
    const taken = [
      await send('POST', `${granted}/revoke`, answer),
      await send('POST', `${rejected}/reject`, answer),
      await send('POST', `${withdrawn}/withdraw`, undefined, bob),
      await send('DELETE', approver),
      await send('DELETE', `${ACME}/members/bob`),
    ]

    expect(added).toBe(200)
    expect(taken.map(({ status, body }) => (status < 300 ? 'done' : body))).toEqual(
      taken.map(() => 'done'),
    )
    expect((await send('POST', `${later}/revoke`, answer)).status).toBe(409)
  })

  it('keeps a reserve for rules that deny or allow less', async () => {
    const { send, made, rule, rules, fill } = await open()
    const allowed = await made(rules, rule('open', 'allow', ['a.example.com', 'b.example.com']))
    const denied = await made(rules, rule('shut', 'deny', ['c.example.com']))
    await fill('allow')
    const update = async (id: string, change: object) =>
      (await send('PATCH', `${rules}/${id}`, change)).status

    expect(await update(allowed.id, { resources: ['a.example.com', 'd.example.com'] })).toBe(403)
    expect(await update(denied.id, { decision: 'allow' })).toBe(403)
    expect(await update(allowed.id, { resources: ['a.example.com'] })).toBe(200)
    expect((await send('POST', rules, rule('more', 'deny', ['b.example.com']))).status).toBe(201)
    expect(await update(allowed.id, { decision: 'deny' })).toBe(200)
    expect((await fill('deny')).error.code).toBe('limit_exceeded')
  })

  it('has room again after old events are pruned, and the history stays verifiable', async () => {
    const { test, send, fill, bytes } = await open()
    await fill('allow')
    test.advance(1000)
    const now = () => new Date(test.now())
    const store = createAuditedStore({ store: test.store, now })
    const limits = { before: now().toISOString(), undeliveredBefore: '' }

    const pruned = await pruneHistory({ store, now }, 'acme', limits, OPERATOR)

    expect(pruned).toMatchObject({ ok: true })
    // The newest large event stays.
    expect(await bytes()).toBeLessThan(700_000)
    expect((await send('POST', `${ACME}/teams`, { name: 'one' })).status).toBe(201)
    expect(await test.store.read((reader) => verifyHistory(reader, 'acme'))).toMatchObject({
      intact: true,
    })
  })

  it('applies to each organization separately and is off with 0', async () => {
    const { test, fill } = await open()
    const rita = await openOwner(test, 'rival', 'rita')
    await fill('allow')

    const payload = { name: 'one', permissions: [], expires_in_days: 1 }
    const url = '/api/v1/orgs/rival/access-tokens'
    const made = await test.send('POST', url, { as: rita.as, payload })
    expect(made.json<CreatedAccessToken>()).toMatchObject({ name: 'one' })

    const unbounded = await open({ PALISADE_MAX_HISTORY_MIB: '0' })
    await expect(unbounded.fill('allow')).rejects.toThrow('no rule was refused')
  })
})
