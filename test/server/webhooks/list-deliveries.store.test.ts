import { setImmediate } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Delivery } from '@palisade/protocol'
import { freshName } from '../fresh-name.ts'
import { openOwner, type Owner } from '../owner.ts'
import { openTestServer, type TestServer } from '../test-server.ts'
import { atEndOfTests } from '../temporary-directory.ts'

const AT = '2026-11-21T08:00:00.000Z'
/** Two states of the maximum size of a policy. */
const STATE_BYTES = 400_000
const PAGE = 100
const PAST_ALL = 1_000
/** CPU time; reading all events up to their hashes takes 60 ms and more. */
const LONGEST_TURN_MS = 30

let test: TestServer
let org: string
let webhookId: string
let list: string
let owner: Owner

const atEnd = atEndOfTests()
beforeAll(async () => {
  test = await openTestServer(atEnd)
})
beforeEach(async () => {
  ;[org, webhookId] = [freshName('acme'), freshName('w')]
  list = `/api/v1/orgs/${org}/webhooks/${webhookId}/deliveries`
  owner = await openOwner(test, org, freshName('alice'))
  const webhook = { id: webhookId, org, url: 'https://hooks.example.com/x', secret: 'whsec_x' }
  const times = { created_at: AT, secret_created_at: AT }
  // Not enabled, so that pending deliveries stay pending.
  await test.store.transaction(({ webhooks }) =>
    webhooks.insert({ ...webhook, ...times, enabled: false }, PAST_ALL),
  )
})

/** Returns the sequences, newest first. */
async function deliverLarge(count: number): Promise<number[]> {
  const first =
    1 + (await test.store.read(async ({ events }) => (await events.head(org))?.sequence ?? 0))
  const sequences = Array.from({ length: count }, (_, index) => first + index)
  const state = { id: 'pol_1', text: 'x'.repeat(STATE_BYTES) }
  for (const sequence of sequences)
    await test.store.transaction(async ({ events, deliveries }) => {
      const made = {
        org,
        at: AT,
        kind: 'policy.updated' as const,
        actor: 'user:alice',
        address: null,
      }
      const chain = { previous_hash: 'p', hash: hashOf(sequence) }
      const subject = { id: 'pol_1', name: 'web' }
      await events.append(org, [
        {
          ...made,
          ...chain,
          sequence,
          request_id: null,
          subject,
          before: state,
          after: state,
          revision: 1,
        },
      ])
      await deliveries.put({
        webhook_id: webhookId,
        sequence,
        state: 'pending',
        attempts: 1,
        status: 200,
        error: null,
        attempted_at: AT,
        next_attempt_at: AT,
      })
    })
  return sequences.toReversed()
}

const hashOf = (sequence: number) => sequence.toString(16).padStart(64, '0')
const idOf = (sequence: number) => `evt_${sequence}_${hashOf(sequence).slice(0, 32)}`

/** Longest CPU time between two turns of the event loop while `work` runs. */
async function longestTurn(work: Promise<unknown>): Promise<number> {
  const state = { isOver: false }
  const over = work.finally(() => {
    state.isOver = true
  })
  let longestMs = 0
  let before = process.threadCpuUsage()
  while (!state.isOver) {
    await setImmediate()
    const { user, system } = process.threadCpuUsage(before)
    before = process.threadCpuUsage()
    longestMs = Math.max(longestMs, (user + system) / 1000)
  }
  await over
  return longestMs
}

describe('a page of deliveries of the largest events', { timeout: 120_000 }, () => {
  it('is the same read in turns as read at once', async () => {
    const sequences = await deliverLarge(PAGE + 5)
    const send = (query = '') => test.send('GET', `${list}${query}`, { as: owner.as })
    await send()

    const sent = send()
    const longestMs = await longestTurn(sent)

    const first = (await sent).json()
    const listed = (deliveries: readonly Delivery[]) =>
      deliveries.map((each) => [each.sequence, each.id])
    const expected = sequences.map((sequence) => [sequence, idOf(sequence)])
    expect(listed(first.data)).toEqual(expected.slice(0, PAGE))
    const rest = (await send(`?page_token=${first.next_page_token}`)).json()
    expect(listed(rest.data)).toEqual(expected.slice(PAGE))
    expect(rest.next_page_token).toBeNull()
    expect(longestMs).toBeLessThan(LONGEST_TURN_MS)
  })

  it('is not read to refuse another redelivery', async () => {
    const [newest = 0] = await deliverLarge(PAGE)

    const url = `${list}/${idOf(newest)}/redeliver`
    const sent = test.send('POST', url, { as: owner.as })
    const longestMs = await longestTurn(sent)

    expect((await sent).json().error.message).toContain(
      'at most 100 repeated deliveries may be pending',
    )
    expect(longestMs).toBeLessThan(LONGEST_TURN_MS)
  })
})
