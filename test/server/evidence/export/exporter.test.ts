import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { describeRows } from '../../../../server/src/evidence/audit/audited-devices.ts'
import { createExporter, type Exporter } from '../../../../server/src/evidence/export/exporter.ts'
import { createOtlpReceiver } from '../../../../server/src/evidence/export/otlp-receiver.ts'
import type { Receiver } from '../../../../server/src/evidence/export/receiver.ts'
import { formatSyslog } from '../../../../server/src/evidence/export/syslog-message.ts'
import { createSyslogReceiver } from '../../../../server/src/evidence/export/syslog-receiver.ts'
import type {
  EvidenceStore,
  StoredEvidence,
} from '../../../../server/src/evidence/store/evidence-store.ts'
import { openSqliteEvidence } from '../../../../server/src/evidence/store/sqlite/open-sqlite-evidence.ts'
import { makeCertificate } from '../../operations/tls/make-certificate.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { appendRows, row } from '../store/evidence-batches.ts'
import { auditEvent } from './audit-events.ts'
import { startCollector, startSyslog } from './receivers.ts'

const PATIENCE = { timeout: 60_000 }
/** An attempt looks at the clock seven times at most. */
const LOOKS_OF_TWO_ATTEMPTS = 14
const NOW = new Date('2026-11-26T12:00:00Z')

async function openEvidence(exporters: readonly string[]): Promise<EvidenceStore> {
  const evidence = openSqliteEvidence(join(temporaryDirectory(), 'evidence.db'))
  await evidence.setExporters(exporters)
  onTestFinished(() => evidence.close())
  return evidence
}

interface Started {
  readonly exporter: Exporter
  readonly lines: string[]
  advance(ms: number): void
  /** Waits until the exporter began and ended another attempt. */
  attempt(): Promise<void>
}

function start(
  evidence: EvidenceStore,
  name: string,
  receiver: Receiver,
  changes: Partial<Parameters<typeof createExporter>[0]> = {},
): Started {
  const lines: string[] = []
  let monotonicMs = 0
  let looks = 0
  const exporter = createExporter({
    name,
    receiver,
    evidence,
    describe: async (rows) => describeRows({ read: async () => new Map() as never }, rows),
    holder: 'server-1',
    now: () => NOW,
    monotonicMs() {
      looks += 1
      return monotonicMs
    },
    random: () => 1,
    log: { info: () => undefined, warn: (...line: unknown[]) => void lines.push(String(line[1])) },
    intervalMs: 5,
    ...changes,
  })
  exporter.start()
  onTestFinished(() => exporter.stop())
  return {
    exporter,
    lines,
    advance: (ms) => void (monotonicMs += ms),
    async attempt() {
      const from = looks
      await expect.poll(() => looks - from, PATIENCE).toBeGreaterThan(LOOKS_OF_TWO_ATTEMPTS)
    },
  }
}

/** Time of the processor, which other programs of a busy machine do not take. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

const rowsOf = (count: number, host = 'x.example') =>
  Array.from({ length: count }, (_, index) =>
    row({ session: `s${index % 3}`, tuple: { host: `${index}.${host}` } }),
  )
const otlp = (url: string, headers = {}) =>
  createOtlpReceiver({ url, headers, ca: null }, { version: '1', now: () => NOW })
const idsFrom = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => String(first + index)).toSorted()
const pending = async (evidence: EvidenceStore, name: string) =>
  (await evidence.countUnexported(name)).records

describe('the export to a collector of OpenTelemetry', () => {
  it('has each record that arrives, of every batch, with the configured headers', async () => {
    const evidence = await openEvidence(['otlp'])
    const collector = await startCollector()
    const tokens = new Set<unknown>()
    collector.answer = (response, { request }) => {
      tokens.add(request.headers['authorization'])
      response.end('{}')
    }
    const { exporter } = start(evidence, 'otlp', otlp(collector.url, { authorization: 'Bearer t' }))
    await appendRows(evidence, rowsOf(1_203))
    await appendRows(evidence, rowsOf(5), { device_id: 'dev_2', org: 'acme' })

    await expect.poll(() => exporter.counts.exported, PATIENCE).toBe(1_208)
    expect(collector.calls.flat().toSorted()).toEqual(idsFrom(1, 1_208))
    expect(tokens).toEqual(new Set(['Bearer t']))
    await expect.poll(() => pending(evidence, 'otlp'), PATIENCE).toBe(0)
  })

  it('goes on where it was, after a receiver that is down, and loses no record', async () => {
    const evidence = await openEvidence(['otlp'])
    const collector = await startCollector()
    await appendRows(evidence, rowsOf(10))
    collector.answer = (response) => void response.destroy()
    const { exporter, lines, advance, attempt } = start(evidence, 'otlp', otlp(collector.url))

    await expect.poll(() => exporter.counts.failures, PATIENCE).toBe(1)
    expect(lines).toEqual(['decision records wait for their export'])
    // No attempt before the pause is over.
    await attempt()
    expect([collector.calls.length, await pending(evidence, 'otlp')]).toEqual([1, 10])
    collector.answer = (response) => void response.end('{}')
    advance(1_000)
    await expect.poll(() => exporter.counts.exported, PATIENCE).toBe(10)
  })

  it('waits as long as `Retry-After` says', async () => {
    const evidence = await openEvidence(['otlp'])
    const collector = await startCollector()
    await appendRows(evidence, rowsOf(1))
    collector.answer = (response) => void response.writeHead(503, { 'retry-after': '60' }).end()
    const { exporter, advance, attempt } = start(evidence, 'otlp', otlp(collector.url))

    await expect.poll(() => exporter.counts.failures, PATIENCE).toBe(1)
    collector.answer = (response) => void response.end('{}')
    advance(59_000)
    await attempt()
    expect(collector.calls).toHaveLength(1)
    advance(1_000)
    await expect.poll(() => exporter.counts.exported, PATIENCE).toBe(1)
  })

  it('waits longer each time for a collector that always says `Retry-After: 0`', async () => {
    const evidence = await openEvidence(['otlp'])
    const collector = await startCollector()
    await appendRows(evidence, rowsOf(1))
    collector.answer = (response) => void response.writeHead(503, { 'retry-after': '0' }).end()
    const { exporter, advance, attempt } = start(evidence, 'otlp', otlp(collector.url))

    await expect.poll(() => exporter.counts.failures, PATIENCE).toBe(1)
    advance(1_000)
    await expect.poll(() => exporter.counts.failures, PATIENCE).toBe(2)
    advance(1_000)
    await attempt()
    expect(collector.calls).toHaveLength(2)
    advance(1_000)
    await expect.poll(() => exporter.counts.failures, PATIENCE).toBe(3)
  })

  it('counts the records that the collector rejects, in part or alone', async () => {
    const evidence = await openEvidence(['otlp'])
    const collector = await startCollector()
    await appendRows(evidence, rowsOf(9))
    collector.answer = (response, { ids }) => {
      if (ids.includes('4')) response.writeHead(400).end('no')
      else if (ids.includes('1'))
        response.end(JSON.stringify({ partialSuccess: { rejectedLogRecords: '1' } }))
      else response.end('{}')
    }
    const { exporter } = start(evidence, 'otlp', otlp(collector.url))

    await expect.poll(() => exporter.counts, PATIENCE).toMatchObject({ exported: 7, rejected: 2 })
    await expect.poll(() => pending(evidence, 'otlp'), PATIENCE).toBe(0)
  })

  it('sends no record again that a receiver took before it asked for a pause', async () => {
    const evidence = await openEvidence(['otlp'])
    const collector = await startCollector()
    await appendRows(evidence, rowsOf(1_203))
    const taken: string[] = []
    let calls = 0
    collector.answer = (response, { ids }) => {
      calls += 1
      if (calls % 2 === 0) return void response.writeHead(429, { 'retry-after': '1' }).end()
      if (ids.includes('700')) return void response.writeHead(400).end()
      taken.push(...ids)
      response.end('{}')
    }
    const { exporter, advance } = start(evidence, 'otlp', otlp(collector.url))
    const exportedLater = () => {
      advance(1_000)
      return exporter.counts
    }
    await expect.poll(exportedLater, PATIENCE).toMatchObject({ exported: 1_202, rejected: 1 })
    await expect.poll(() => pending(evidence, 'otlp'), PATIENCE).toBe(0)
    expect(taken.toSorted()).toEqual(idsFrom(1, 1_203).filter((id) => id !== '700'))
  })

  it('repeats records whose mark was lost with the process', async () => {
    const evidence = await openEvidence(['otlp'])
    const collector = await startCollector()
    await appendRows(evidence, rowsOf(3))
    const killed = {
      ...evidence,
      exported: () => Promise.reject(new Error('the process is killed')),
    }
    const first = start(evidence, 'otlp', otlp(collector.url), { evidence: killed })
    await expect.poll(() => first.lines.length, PATIENCE).toBe(1)
    await first.exporter.stop()
    expect(await pending(evidence, 'otlp')).toBe(3)

    start(evidence, 'otlp', otlp(collector.url))
    await expect.poll(() => pending(evidence, 'otlp'), PATIENCE).toBe(0)
    expect(collector.calls.map((ids) => ids.toSorted())).toEqual([
      ['1', '2', '3'],
      ['1', '2', '3'],
    ])
  })

  it('is made by one server at a time', async () => {
    const evidence = await openEvidence(['otlp'])
    const collector = await startCollector()
    await appendRows(evidence, rowsOf(3))
    await evidence.lease('otlp', 'server-2', NOW.getTime(), 60_000)
    let now = NOW
    const changes = { now: () => now }
    const { exporter, advance, attempt } = start(evidence, 'otlp', otlp(collector.url), changes)
    await attempt()
    expect(collector.calls).toEqual([])
    now = new Date(NOW.getTime() + 61_000)
    const exportedLater = () => {
      // In each turn, because an attempt of before may still be on its way.
      advance(16_000)
      return exporter.counts.exported
    }
    await expect.poll(exportedLater, PATIENCE).toBe(3)
  })

  it('goes on at another server, without waiting, when one stops', async () => {
    const evidence = await openEvidence(['otlp'])
    const collector = await startCollector()
    await appendRows(evidence, rowsOf(3))
    const first = start(evidence, 'otlp', otlp(collector.url))
    await expect.poll(() => first.exporter.counts.exported, PATIENCE).toBe(3)
    await first.exporter.stop()
    await appendRows(evidence, rowsOf(2))

    const second = start(evidence, 'otlp', otlp(collector.url), { holder: 'server-2' })

    await expect.poll(() => second.exporter.counts.exported, PATIENCE).toBe(2)
  })

  it('keeps the lease of another server when it stops', async () => {
    const evidence = await openEvidence(['otlp'])
    const collector = await startCollector()
    await appendRows(evidence, rowsOf(3))
    await evidence.lease('otlp', 'server-2', NOW.getTime(), 60_000)
    const { exporter, attempt } = start(evidence, 'otlp', otlp(collector.url))
    await attempt()

    await exporter.stop()

    expect(await evidence.lease('otlp', 'server-3', NOW.getTime(), 60_000)).toBe(false)
  })

  it('goes on, and says so, after a server without it has ended it', async () => {
    const evidence = await openEvidence(['otlp'])
    const collector = await startCollector()
    const { exporter, lines, advance } = start(evidence, 'otlp', otlp(collector.url))
    await appendRows(evidence, rowsOf(2))
    await expect.poll(() => exporter.counts.exported, PATIENCE).toBe(2)
    await evidence.setExporters(['syslog'])
    advance(15_000)
    const known = async () => (await evidence.countUnexported('otlp')).is_known
    await expect.poll(known, PATIENCE).toBe(true)

    await appendRows(evidence, rowsOf(3))
    await expect.poll(() => exporter.counts.exported, PATIENCE).toBe(5)
    expect(lines).toEqual([
      'another server ended this export: give all servers of one database the same settings',
    ])
    expect(await pending(evidence, 'syslog')).toBe(3)
  })

  it('lets batches in while its receiver does not answer, and ends at once', async () => {
    const evidence = await openEvidence(['otlp'])
    const collector = await startCollector()
    await appendRows(evidence, rowsOf(3))
    collector.answer = () => undefined
    const { exporter } = start(evidence, 'otlp', otlp(collector.url))
    await expect.poll(() => collector.calls.length, PATIENCE).toBe(1)

    await appendRows(evidence, rowsOf(3))
    await exporter.stop()
    expect(await pending(evidence, 'otlp')).toBe(6)
  })
})

describe('records of a machine that chooses long names', () => {
  const long = (index: number) => {
    const text = `/${index}${'é'.repeat(4_000)}`
    const ids = { policy_id: 'é'.repeat(512), rule_id: 'é'.repeat(512) }
    const rules = Array.from({ length: 10 }, () => ({ ...ids, decision: 'deny', origin: 'org' }))
    return { text, rules: rules as StoredEvidence['tuple']['rules'] }
  }

  it('reach the receiver in small calls, so that a slow one has them in time', async () => {
    const evidence = await openEvidence(['otlp'])
    const collector = await startCollector()
    const rows = Array.from({ length: 90 }, (_, index) => {
      const { text, rules } = long(index)
      return row({ tuple: { action: 'read', host: null, port: null, path: text, rules } })
    })
    await appendRows(evidence, rows)
    const { exporter } = start(evidence, 'otlp', otlp(collector.url))
    await expect.poll(() => exporter.counts.exported, PATIENCE).toBe(90)
    expect(Math.max(...collector.calls.map((ids) => ids.length))).toBeLessThan(40)
    expect(collector.calls.flat().toSorted()).toEqual(idsFrom(1, 90))
  })

  it('leave turns to others while they are formatted', async () => {
    const { text, rules } = long(1)
    const payload = { resource_id: text, deny_reason: [] }
    const events = Array.from({ length: 200 }, () => auditEvent({ payload, rules: [...rules] }))
    const { port } = await startSyslog()
    const receiver = createSyslogReceiver({ host: '127.0.0.1', port, tls: false, ca: null })
    onTestFinished(() => receiver.close())
    const begunMs = cpuMs()
    events.map(formatSyslog)
    const wholeMs = cpuMs() - begunMs

    let lastMs = cpuMs()
    let longestMs = 0
    const look = (): void => {
      longestMs = Math.max(longestMs, cpuMs() - lastMs)
      lastMs = cpuMs()
    }
    const turn = setInterval(look, 1)
    await receiver.send(events)
    clearInterval(turn)
    look()
    expect(longestMs).toBeLessThan(wholeMs / 2)
  })
})

describe('the export to syslog', () => {
  it('has each record as one message, also after the receiver was away', async () => {
    const evidence = await openEvidence(['syslog'])
    const { port, messages, close } = await startSyslog()
    const settings = { host: '127.0.0.1', port, tls: false, ca: null }
    await appendRows(evidence, [
      row({ tuple: { host: null, port: null, action: 'read', path: '/a\n<0>1 "]\u{1f600}' } }),
      ...rowsOf(2),
    ])
    const { exporter, advance } = start(evidence, 'syslog', createSyslogReceiver(settings))
    await expect.poll(() => messages.length, PATIENCE).toBe(3)
    expect(messages.find((each) => each.includes('filesystem'))).toMatch(
      / dev_1 palisade - decision .*resource="\/a\\\\u000a<0>1 \\"\\\]\\\\ud83d\\\\ude00"/,
    )
    await expect.poll(() => pending(evidence, 'syslog'), PATIENCE).toBe(0)

    close()
    // The first messages may be lost on the way, until the broken connection is noticed.
    const failuresAfterMore = async () => {
      await appendRows(evidence, rowsOf(1))
      return exporter.counts.failures
    }
    await expect.poll(failuresAfterMore, PATIENCE).toBeGreaterThan(0)
    await appendRows(evidence, rowsOf(1))
    const waiting = await pending(evidence, 'syslog')
    const again = await startSyslog({ port })
    advance(60_000)
    await expect.poll(() => again.messages.length, PATIENCE).toBe(waiting)
  })

  it('speaks TLS with a receiver whose certificate it trusts, and with no other', async () => {
    const evidence = await openEvidence(['syslog'])
    const authority = makeCertificate({ name: 'authority' })
    const tls = makeCertificate({ name: 'syslog', authority })
    const { port, messages } = await startSyslog({ tls })
    await appendRows(evidence, rowsOf(2))
    const settings = { host: '127.0.0.1', port, tls: true }
    const wary = start(evidence, 'syslog', createSyslogReceiver({ ...settings, ca: null }))
    await expect.poll(() => wary.exporter.counts.failures, PATIENCE).toBe(1)
    await wary.exporter.stop()
    expect(messages).toEqual([])

    start(evidence, 'syslog', createSyslogReceiver({ ...settings, ca: authority.cert }))
    await expect.poll(() => messages.length, PATIENCE).toBe(2)
  })

  it('repeats the calls before a failure, which may have been lost on their way', async () => {
    const evidence = await openEvidence(['syslog'])
    await appendRows(evidence, rowsOf(1_100))
    const calls: number[] = []
    const { exporter, advance } = start(evidence, 'syslog', {
      acknowledges: false,
      send: async (events) =>
        calls.push(events.length) === 2
          ? { kind: 'failed', why: 'closed', retryAfterMs: null }
          : { kind: 'taken', refused: 0 },
      close: () => undefined,
    })
    await expect.poll(() => exporter.counts.failures, PATIENCE).toBe(1)
    advance(1_000)
    await expect.poll(() => pending(evidence, 'syslog'), PATIENCE).toBe(0)
    expect(calls).toEqual([500, 500, 500, 500, 100])
  })

  it('marks no record that a receiver leaves in the network, and ends at once', async () => {
    const { port, sockets } = await startSyslog({ isDeaf: true })
    const receiver = createSyslogReceiver({ host: '127.0.0.1', port, tls: false, ca: null })
    const payload = { resource_id: 'x'.repeat(100_000), deny_reason: [] }
    const sent = receiver.send(Array.from({ length: 500 }, () => auditEvent({ payload })))
    await expect.poll(() => sockets.length, PATIENCE).toBe(1)
    for (const socket of sockets) await once(socket, 'readable')
    receiver.close()
    expect(await sent).toMatchObject({ kind: 'failed' })
  })
})
