import type { HistoryEvent } from '@palisade/protocol'
import { beforeEach, describe, expect, it } from 'vitest'
import { createSignInJournal } from '../../../../server/src/identity/sign-in/sign-in-journal.ts'
import { createPasswordQueue } from '../../../../server/src/identity/sign-in/password-queue.ts'
import { createPasswordProof } from '../../../../server/src/identity/sign-in/prove-password.ts'
import { createSignInLimits } from '../../../../server/src/identity/sign-in/sign-in-limits.ts'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { captureLog, type LogCapture } from '../../operations/log/log-lines.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'

const HOME = '198.51.100.7'
const HOUR_MS = 60 * 60 * 1000

describe('a sign-in', () => {
  let test: TestServer
  let log: LogCapture
  let alice: { password: string; personal_token: string }

  beforeEach(async () => {
    log = captureLog()
    test = await openTestServer(undefined, { log: { level: 'info', stream: log.stream } })
    const { password, personal_token } = await test.createOrganization('acme', 'alice')
    alice = { password: password ?? '', personal_token }
  })

  const signIns = () => log.requests().flatMap(({ sign_in }) => (sign_in ? [sign_in] : []))
  const history = async (): Promise<HistoryEvent[]> =>
    test.store.read(({ events }) => events.list('acme', { after: 0, through: 1e9, limit: 1000 }))

  it('is logged with actor, kind, result and network, and without its secret', async () => {
    await test.exchange('alice', alice.password, HOME)
    await test.exchange('alice', alice.personal_token, HOME)
    await test.exchange('alice', 'a wrong password', HOME)
    await test.exchange('not a name\n', 'a wrong password', HOME)
    await test.exchange(alice.personal_token, 'x', HOME)

    const [byPassword, byToken] = log.requests()
    expect([byPassword?.['actor'], byToken?.['actor']]).toEqual(['user:alice', 'user:alice'])
    const wrong = { kind: 'password', result: 'wrong_secret', network: HOME }
    expect(signIns()).toEqual([
      { kind: 'password', result: 'ok', name: 'alice', network: HOME },
      { kind: 'personal', result: 'ok', name: 'alice', network: HOME },
      { ...wrong, name: 'alice' },
      { ...wrong, name: null },
      { ...wrong, name: null },
    ])
    for (const secret of [alice.password, alice.personal_token, 'a wrong password'])
      expect(log.text()).not.toContain(secret)
  })

  it('is counted by kind and result', async () => {
    await test.exchange('alice', alice.password, HOME)
    for (let count = 0; count < 21; count += 1)
      await test.exchange('alice', 'pal_pat_x', '10.0.0.1')

    const { body } = await test.send('GET', '/metrics')

    const samples = [
      'kind="password",result="ok"} 1',
      'kind="personal",result="wrong_secret"} 20',
      'kind="personal",result="throttled"} 1',
      'kind="oidc",result="ok"} 0',
    ]
    for (const sample of samples) expect(body).toContain(`palisade_sign_ins_total{${sample}\n`)
  })

  it('with a password is recorded in the history once a day for each network', async () => {
    const now = () => new Date(test.now())
    const store = createAuditedStore({ store: test.store, now })
    const monotonicMs = () => 1
    const journal = createSignInJournal({ store, log: { warn: () => undefined }, monotonicMs })
    const prove = createPasswordProof({
      store,
      journal,
      signInLimits: createSignInLimits(monotonicMs),
      passwordQueue: createPasswordQueue(),
      now,
    })
    const signIn = async (address: string, password = alice.password) => {
      await prove({ name: 'alice', password, address, requestId: null })
      await journal.flush()
    }
    for (const address of [HOME, HOME, '203.0.113.9']) await signIn(address)
    await signIn('203.0.113.10', 'a wrong password')
    test.advance(24 * HOUR_MS)
    await signIn(HOME)
    await journal.close()

    const seen = (await history()).filter(({ kind }) => kind === 'user.signed_in')
    expect(seen.map(({ actor, address }) => [actor, address])).toEqual([
      ['user:alice', HOME],
      ['user:alice', '203.0.113.9'],
      ['user:alice', HOME],
    ])
  })

  it('that fails is summed up in the history once an hour if its account exists', async () => {
    let nowMs = 1
    const journal = createSignInJournal({
      store: createAuditedStore({ store: test.store, now: () => new Date(test.now()) }),
      log: { warn: (error: unknown) => expect.fail(String(error)) },
      monotonicMs: () => nowMs,
    })
    const fail = (networks: number) => {
      for (let network = 0; network < networks; network += 1)
        journal.noteFailure('alice', { network: `10.0.0.${network}`, throttled: network % 2 === 1 })
    }
    fail(2)
    await journal.flush()
    fail(20)
    await journal.flush()
    nowMs += HOUR_MS
    await journal.flush()
    await journal.close()

    const failed = (await history()).filter(({ kind }) => kind === 'user.sign_in_failed')
    expect(failed.map(({ after }) => after)).toEqual([
      {
        username: 'alice',
        failed_sign_ins: 2,
        wrong: 1,
        throttled: 1,
        networks: ['10.0.0.0', '10.0.0.1'],
      },
      {
        username: 'alice',
        failed_sign_ins: 22,
        wrong: 10,
        throttled: 10,
        networks: ['10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'],
      },
    ])
  })

  it('that fails adds at most ten events a minute over all accounts', async () => {
    const notes: string[] = []
    const store = createAuditedStore({ store: test.store, now: () => new Date(test.now()) })
    const journal = createSignInJournal({
      store: {
        ...store,
        write: async (author, work) => {
          notes.push(author.actor)
          return store.write(author, work)
        },
      },
      log: { warn: () => undefined },
      monotonicMs: () => 1,
    })
    for (let user = 0; user < 50; user += 1)
      journal.noteFailure(`user-${user}`, { network: HOME, throttled: false })

    await journal.close()

    expect(notes).toHaveLength(10)
  })
})
