import { MAX_BATCH_BYTES, MAX_BATCH_LINES, NDJSON } from '@palisade/protocol'
import { createAgentClient } from '@palisade/client'
import fc from 'fast-check'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLoopTurns } from '../../../agent/src/http/loop-turns.ts'
import { answerBatch, isBatch, splitBatch } from '../../../agent/src/local-api/batch.ts'
import type { LocalApiDeps } from '../../../agent/src/local-api/local-api.ts'
import { activePolicy } from '../fixture/active-policy.ts'
import { bundleOf } from '../fixture/bundle.ts'
import { startLocalApi } from '../fixture/local-api.ts'
import { exchange } from '../fixture/local-request.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'

const ALLOWED = '{"action":"connect:tcp","host":"api.example.com","port":443}'
const DENIED = '{"action":"connect:tcp","host":"bad.example.com","port":443}'

/** The local API of a policy that allows `api.example.com`. */
async function startApi(others: Partial<LocalApiDeps> = {}) {
  const bundle = bundleOf(['allow', 'connect:tcp', 'api.example.com'])
  const api = await startLocalApi(bundle, {}, others)
  const batch = (body: string | Buffer, type = NDJSON) =>
    exchange(api.socketPath, { method: 'POST', path: '/v1/decide', type, body })
  return { ...api, batch }
}

function decisionsOf(text: string): readonly unknown[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { decision: string; reason: string }).reason)
}

describe('a batch', () => {
  it('is answered line by line, in order, with the allowed and the denied', async () => {
    const { batch, counted } = await startApi()

    const { status, headers, text } = await batch(`${ALLOWED}\n${DENIED}\n${ALLOWED}`)

    expect(status).toBe(200)
    expect(headers['content-type']).toBe(NDJSON)
    expect(decisionsOf(text)).toEqual(['rule', 'default_deny', 'rule'])
    expect(counted).toEqual({ allow: 2, deny: 1 })
  })

  it('answers a bad line in place, so that the others stay aligned', async () => {
    const { batch } = await startApi()
    const lines = [
      Buffer.from(ALLOWED),
      Buffer.from(''),
      Buffer.from('nonsense'),
      Buffer.from('[]'),
      Buffer.from('null'),
      Buffer.from(`\u{feff}${ALLOWED}`),
      Buffer.from(`${ALLOWED}${ALLOWED}`),
      Buffer.from('{"action":"read","path":"/data/x","path":"/data/y"}'),
      Buffer.concat([Buffer.from('{"action":"read","path":"/data/'), Buffer.from([0xff, 0x22])]),
      Buffer.from(`{"action":"read","path":"/data/x"${' '.repeat(65_536)}}`),
      Buffer.from(`${ALLOWED}\r`),
    ]

    const { text } = await batch(Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')])))

    expect(decisionsOf(text)).toEqual([
      'rule',
      ...lines.slice(2).map(() => 'invalid_request'),
      'rule',
    ])
  })

  const anyLine = fc.oneof(
    fc.constantFrom(ALLOWED, DENIED, '', '{}', '{"action":"read","path":"/data/../x"}'),
    fc.string().map((text) => text.replaceAll('\n', ' ')),
    fc.json({ maxDepth: 2 }),
  )
  it('answers every line as the request alone is answered', async () => {
    const { batch, decide } = await startApi()
    const law = fc.asyncProperty(fc.array(anyLine, { maxLength: 30 }), async (lines) => {
      const { text } = await batch(lines.map((line) => `${line}\n`).join(''))

      const expected = lines.map((line) => `${JSON.stringify(decide(parsed(line)))}\n`)
      expect(text).toBe(expected.join(''))
    })
    await fc.assert(law, { numRuns: 40 })
  })

  it('resolves no name, and says which decisions an address could change', async () => {
    const { batch, resolved } = await startApi()
    const asking = '{"action":"connect:tcp","host":"api.example.com","port":443,"resolve":true}'

    const { text } = await batch(`${asking}\n`)

    expect(JSON.parse(text)).toMatchObject({ decision: 'allow', address_required: true })
    expect(JSON.parse(text)).not.toHaveProperty('addresses')
    expect(resolved).toEqual([])
  })

  it('has at most a thousand lines; one more is refused with the limit', async () => {
    const { batch, counted } = await startApi()

    const full = await batch(`${ALLOWED}\n`.repeat(MAX_BATCH_LINES))
    const over = await batch(`${ALLOWED}\n`.repeat(MAX_BATCH_LINES + 1))

    expect(decisionsOf(full.text)).toHaveLength(MAX_BATCH_LINES)
    expect(over.status).toBe(400)
    expect(JSON.parse(over.text)).toMatchObject({
      error: { code: 'invalid_argument', message: expect.stringContaining('1000 lines') },
    })
    expect(counted.allow).toBe(MAX_BATCH_LINES)
  })

  it('has at most four megabytes', async () => {
    const { batch } = await startApi()

    expect((await batch(Buffer.alloc(MAX_BATCH_BYTES + 1, ' '))).status).toBe(413)
    expect((await batch(Buffer.alloc(MAX_BATCH_BYTES, ' '))).status).toBe(200)
  })

  it('without lines has no answers', async () => {
    const { batch } = await startApi()

    expect(await batch('')).toMatchObject({ status: 200, text: '' })
  })

  it.each(['application/json', 'text/plain'])(
    'is one request under the media type %s, and two requests are no JSON',
    async (type) => {
      const { batch } = await startApi()

      expect((await batch(ALLOWED, type)).text).toContain('"decision":"allow"')
      expect((await batch(`${ALLOWED}\n${ALLOWED}\n`, type)).status).toBe(400)
    },
  )

  it.each([
    [NDJSON, true],
    ['Application/X-NDJSON; charset=utf-8', true],
    ['application/x-ndjson-seq', false],
    ['application/json', false],
    [undefined, false],
  ])('is recognized by its media type: %s is %s', (type, expected) => {
    const headers = type === undefined ? {} : { 'content-type': type }
    expect(isBatch({ headers })).toBe(expected)
  })

  it('is decided for the client of the agent in order, across several batches', async () => {
    const { socketPath, counted } = await startApi()
    const requests = Array.from({ length: 2_500 }, (_, at) => ({
      action: 'connect:tcp',
      host: at % 3 === 0 ? 'api.example.com' : 'x.test',
      port: at + 1,
    }))

    const decisions = await createAgentClient({ socketPath }).decideMany(requests)

    expect(decisions.map(({ decision }) => decision)).toEqual(
      requests.map((_, at) => (at % 3 === 0 ? 'allow' : 'deny')),
    )
    expect(counted.allow + counted.deny).toBe(2_500)
  })
})

describe('answering batches', () => {
  it('gives other work its turn, however long a batch takes', async () => {
    const { active, use } = activePolicy()
    use(bundleOf(['allow', 'connect:tcp', 'api.example.com']))
    const turns = createLoopTurns()
    const slow = (request: unknown) => {
      const untilMs = performance.now() + 1
      while (performance.now() < untilMs);
      return active.decide(request)
    }
    const lines = Array.from({ length: 300 }, () => Buffer.from(ALLOWED))
    const server = createServer((_request, response) => {
      void answerBatch({ decide: slow, turns, flushTimeoutMs: 60_000 }, lines, response)
    })
    const socketPath = join(await temporaryDirectory(), 'slow.sock')
    await new Promise<void>((resolve) => server.listen(socketPath, resolve))
    onTestFinished(() => void server.close())
    let ticks = 0
    let isOver = false
    const tick = (): void => {
      ticks += 1
      if (!isOver) setImmediate(tick)
    }
    setImmediate(tick)

    const answers = await Promise.all(
      [0, 1, 2].map(() =>
        exchange(socketPath, { method: 'POST', path: '/', type: NDJSON, body: '' }),
      ),
    )
    isOver = true

    expect(answers.map(({ text }) => decisionsOf(text).length)).toEqual([300, 300, 300])
    // 900 ms of decisions in turns of a few milliseconds.
    expect(ticks).toBeGreaterThan(90)
  })

  it('stops when the caller has hung up', async () => {
    let decided = 0
    const { active, use } = activePolicy()
    use(bundleOf(['allow', 'read', '/data/**']))
    const { socketPath } = await startApi({
      decideUnresolved: (request) => {
        decided += 1
        const untilMs = performance.now() + 2
        while (performance.now() < untilMs);
        return active.decide(request)
      },
    })
    const body = `${ALLOWED}\n`.repeat(1_000)
    const caller = connect(socketPath)
    caller.write(
      `POST /v1/decide HTTP/1.1\r\nhost: a\r\ncontent-type: ${NDJSON}\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    )
    await expect.poll(() => decided, { interval: 1 }).toBeGreaterThan(0)
    caller.destroy()
    let before = -1
    await expect
      .poll(() => {
        const isStill = before === decided
        before = decided
        return isStill
      })
      .toBe(true)

    expect(decided).toBeLessThan(1_000)
  })
})

describe('splitting a batch', () => {
  it('takes text after the last line feed as a line', () => {
    const split = (text: string) => {
      const lines = splitBatch(Buffer.from(text))
      return lines.ok ? lines.value.map((line) => line.toString()) : lines.refusal.status
    }

    expect(split('a\nb')).toEqual(['a', 'b'])
    expect(split('a\nb\n')).toEqual(['a', 'b'])
    expect(split('\n\n')).toEqual(['', ''])
    expect(split('')).toEqual([])
    expect(split('\n'.repeat(1_001))).toBe(400)
    expect(split(`${'\n'.repeat(1_000)}x`)).toBe(400)
  })
})

function parsed(line: string): unknown {
  try {
    const value: unknown = JSON.parse(line)
    return value
  } catch {
    return null
  }
}
