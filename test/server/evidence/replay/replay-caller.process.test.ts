import { expect, it, onTestFinished } from 'vitest'
import { openOwner } from '../../owner.ts'
import { startBundle } from '../../started-thread.ts'
import { openTestServer } from '../../test-server.ts'
import { appendRows, row } from '../store/evidence-batches.ts'

const HOUR_MS = 60 * 60_000
const ROWS = 5_000

it('a replay ends its thread when the caller goes, and is then free for others', async () => {
  const test = await openTestServer(onTestFinished, { startWorker: startBundle })
  const { as } = await openOwner(test, 'acme', 'alice')
  const { app } = test.server
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const rows = Array.from({ length: ROWS }, (_, index) =>
    row({ last_ms: test.now() - HOUR_MS, decisions: 1, tuple: { host: `h${index}.example` } }),
  )
  await appendRows(test.evidence, rows)
  const payload = { policies: [] }
  const replay = () => test.send('POST', '/api/v1/orgs/acme/replay', { as, payload })
  const request = {
    method: 'POST',
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
    body: JSON.stringify(payload),
  }

  // All turns of the organization are taken, and given up while they run or wait.
  for (let round = 0; round < 4; round += 1) {
    const calls = Array.from({ length: 5 }, () => {
      const controller = new AbortController()
      const url = `${origin}/api/v1/orgs/acme/replay`
      return { controller, answer: fetch(url, { ...request, signal: controller.signal }) }
    })
    await Promise.race(calls.map(({ answer }) => answer))
    for (const { controller } of calls) controller.abort()
    await Promise.allSettled(calls.map(({ answer }) => answer))
  }

  await expect.poll(async () => (await replay()).statusCode).toBe(200)
  const last = (await replay()).body.trimEnd().split('\n').at(-1) ?? ''
  expect(JSON.parse(last)).toMatchObject({ result: { recorded: { count: ROWS } } })
})
