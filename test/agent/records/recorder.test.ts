import type { RecordLine, RecordedProgram } from '@palisade/protocol'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { RecordedEvent } from '../../../agent/src/records/recorded-event.ts'
import { NOW_MS } from '../fixture/bundle.ts'
import { countEvents, denial, readLines, readRecords, startRecorder } from './record-scene.ts'

const at = (ms: number): string => new Date(NOW_MS + ms).toISOString()
const LOOPBACK = '127.0.0.1'

describe('a recorder', () => {
  it('writes the first of equal decisions at once, the others after the minute', async () => {
    let nowMs = NOW_MS
    const { recorder, directory } = await startRecorder({ now: () => nowMs })

    recorder.record(denial('a.test'))
    await expect.poll(() => recorder.status().written).toBe(1)
    for (nowMs = NOW_MS + 1_000; nowMs <= NOW_MS + 5_000; nowMs += 1_000)
      recorder.record(denial('a.test'))
    recorder.record(denial('b.test'))
    await expect.poll(() => recorder.status().written).toBe(2)
    nowMs = NOW_MS + 61_000
    recorder.record(denial('a.test'))
    await expect.poll(() => recorder.status().written).toBe(8)

    const found = (await readRecords(directory)).map((line) => [
      'decision' in line && line.decision.request,
      'count' in line && line.count,
      line.time,
      'until' in line ? line.until : '',
    ])
    const [a, b] = ['a.test', 'b.test'].map((host) => ({ action: 'connect:tcp', host, port: 443 }))
    expect(found).toEqual([
      [a, 1, at(0), ''],
      [b, 1, at(6_000), ''],
      [a, 5, at(1_000), at(5_000)],
      [a, 1, at(61_000), ''],
    ])
  })

  it('tells equal decisions of two sandboxes, and of no sandbox, apart', async () => {
    const { recorder, directory } = await startRecorder()

    for (const sandbox of ['one', 'two', 'one', undefined])
      recorder.record({ ...denial('a.test'), ...(sandbox === undefined ? {} : { sandbox }) })
    await recorder.stop()

    const found = (await readRecords(directory)).map((line) =>
      'decision' in line ? `${line.sandbox} ${line.count}` : '',
    )
    expect(new Set(found)).toEqual(new Set(['one 2', 'two 1', 'undefined 1']))
    expect(found).toHaveLength(3)
  })

  it('tells decisions apart by what shadow policies would decide', async () => {
    const { recorder, directory } = await startRecorder()
    const event = denial('a.test')
    const would = { decision: 'allow', reason: 'rule', rules: [] } as const
    const shadowed = { ...event, decision: { ...event.decision, shadow: would } }

    for (const each of [event, shadowed, shadowed]) recorder.record(each)
    await recorder.stop()

    const found = (await readRecords(directory)).map((line) =>
      'decision' in line ? [line.decision.shadow?.reason, line.count] : [],
    )
    expect(found).toHaveLength(2)
    expect(found).toEqual(
      expect.arrayContaining([
        [undefined, 1],
        ['rule', 2],
      ]),
    )
  })

  it('writes repetitions when the minute is over, without a further decision', async () => {
    const { recorder, directory } = await startRecorder({
      now: Date.now,
      limits: { windowMs: 100 },
    })

    for (let index = 0; index < 50; index += 1) recorder.record(denial('a.test'))
    await expect.poll(() => recorder.status().written).toBe(50)

    const records = await readRecords(directory)
    expect(records.length).toBeLessThan(50)
    expect(countEvents(records)).toBe(50)
  })

  it('records every decision once, however decisions, minutes and writes interleave', async () => {
    let nowMs = NOW_MS
    const { recorder, directory } = await startRecorder({ now: () => nowMs })
    let recorded = 0

    for (let round = 0; round < 200; round += 1) {
      for (let index = 0; index < 20; index += 1) {
        recorder.record(denial(`h${(round * index) % 7}.test`))
        recorded += 1
      }
      nowMs += round % 5 === 0 ? 61_000 : 7_000
      if (round === 100) nowMs -= 3_600_000
      if (round % 3 === 0) await recorder.flush()
    }
    await recorder.stop()

    expect(countEvents(await readRecords(directory))).toBe(recorded)
    expect(recorder.status()).toMatchObject({ written: recorded, lost: 0, error: null })
  })

  it('keeps apart decisions that differ in one member', async () => {
    const { recorder, directory } = await startRecorder()
    const { decision } = denial('a.test')
    const rule = {
      policy_id: 'p',
      policy_name: 'p',
      rule_id: 'r',
      rule_name: 'r',
      decision: 'deny',
      resource: 'a.test',
      origin: 'org',
    } as const
    const differing: RecordedEvent[] = [
      denial('a.test'),
      denial('b.test'),
      denial('a.test', { protocol: 'http' }),
      denial('a.test', { point: 'local_api', protocol: 'decide' }),
      denial('a.test', { decision: { ...decision, decision: 'allow' } }),
      denial('a.test', { decision: { ...decision, revision: 8 } }),
      denial('a.test', { decision: { ...decision, stale: true } }),
      denial('a.test', { decision: { ...decision, break_glass: true } }),
      denial('a.test', { decision: { ...decision, reason: 'rule', rules: [rule] } }),
      denial('a.test', {
        decision: { ...decision, reason: 'rule', rules: [{ ...rule, rule_id: 'r 1 s' }] },
      }),
      denial('a.test', {
        decision: { ...decision, reason: 'rule', rules: [rule, { ...rule, rule_id: 's' }] },
      }),
      denial('a.test', { decision: { ...decision, request: null } }),
      denial('a.test', { decision: { ...decision, request: { action: 'read', path: '/a' } } }),
      denial('a.test', { decision: { ...decision, request: { action: 'read', path: '/a 1' } } }),
      denial('a.test', {
        decision: {
          ...decision,
          request: { action: 'connect:tcp', host: 'a.test', port: 443, address: '192.0.2.1' },
        },
      }),
    ]

    for (const event of [...differing, ...differing]) recorder.record(event)
    await recorder.stop()

    const records = await readRecords(directory)
    expect(records.map((line) => 'count' in line && line.count)).toEqual(differing.map(() => 2))
  })

  it('keeps apart contents that are denied for one target', async () => {
    const { recorder, directory } = await startRecorder()
    const flow = { bytesSent: 0, bytesReceived: 0, durationMs: 1, cause: 'content' } as const
    const names = ['one.test', 'two.test'].map((name) => `the connection is for ${name}`)
    const faults = [
      ['malformed', 'the first bytes are malformed'],
      ...names.map((hint) => ['foreign_name', hint] as const),
    ] as const

    for (const [content, hint] of faults) {
      const { decision, ...event } = denial('a.test', { flow })
      const reason = 'invalid_request'
      recorder.record({ ...event, decision: { ...decision, reason, content, hint } })
    }
    await recorder.stop()

    const found = (await readRecords(directory)).map((line) =>
      'decision' in line ? [line.decision.content, line.decision.hint] : [],
    )
    expect(found).toEqual(faults.map((fault) => [...fault]))
  })

  it('adds up the bytes of ended connections, apart from the decisions', async () => {
    const { recorder, directory } = await startRecorder()
    const allowed = {
      ...denial('a.test'),
      decision: { ...denial('a.test').decision, decision: 'allow' as const, hint: null },
    }
    const flow = { bytesSent: 10, bytesReceived: 2_000, durationMs: 7.5, cause: 'closed' as const }

    for (let index = 0; index < 3; index += 1) {
      recorder.record(allowed)
      recorder.record({ ...allowed, flow })
      if (index === 0) await recorder.flush()
    }
    recorder.record({ ...denial('a.test'), flow: { ...flow, cause: 'revoked' } })
    await recorder.stop()

    const records = await readRecords(directory)
    const flows = records.flatMap((line) => ('flow' in line && line.flow ? [line] : []))
    const sum = (member: 'bytes_sent' | 'bytes_received') =>
      flows.reduce((total, line) => total + (line.flow?.[member] ?? 0), 0)
    const decisions = records.filter((line) => !('flow' in line && line.flow))
    expect(countEvents(decisions)).toBe(3)
    expect(countEvents(flows)).toBe(4)
    expect([sum('bytes_sent'), sum('bytes_received')]).toEqual([40, 8_000])
    expect(flows.map(({ flow }) => flow?.cause)).toEqual(['closed', 'revoked', 'closed'])
    expect(flows.at(-1)).toMatchObject({ count: 2, flow: { duration_ms: 15 } })
  })

  it('names the program of a connection, also at its end when it is gone', async () => {
    const curl: RecordedProgram = { pid: 7, executable: '/usr/bin/curl', user: { uid: 1000 } }
    const programs = new Map([[5_000, curl]])
    const { recorder, directory, lookedUp } = await startRecorder({ programs })
    const client = { address: LOOPBACK, port: 5_000 }
    const flow = { bytesSent: 1, bytesReceived: 1, durationMs: 1, cause: 'closed' } as const

    recorder.record(denial('a.test', { client }))
    recorder.record(denial('a.test', { client: { address: LOOPBACK, port: 5_001 } }))
    await recorder.flush()
    programs.clear()
    recorder.record(denial('a.test', { client, flow }))
    recorder.record(denial('a.test', { client, flow }))
    await recorder.stop()

    const records = await readRecords(directory)
    expect(
      records.map((line) => ('program' in line ? [line.program?.pid, line.count] : [])),
    ).toEqual([[7, 1], [], [7, 2]])
    expect(lookedUp).toEqual([5_000, 5_001])
  })

  it('lists ten rules of a decision and counts the others, and cuts long texts', async () => {
    const { recorder, directory } = await startRecorder()
    const { decision } = denial('a.test')
    const rules = Array.from({ length: 5_000 }, (_, index) => ({
      policy_id: 'p',
      policy_name: 'n'.repeat(5_000),
      rule_id: `r${index}`,
      rule_name: 'r',
      decision: 'deny' as const,
      resource: 'x'.repeat(5_000),
      origin: 'org' as const,
    }))

    recorder.record(denial('a.test', { decision: { ...decision, rules, hint: 'h'.repeat(5_000) } }))
    await recorder.stop()

    const [line = ''] = await readLines(directory)
    const [record] = await readRecords(directory)
    expect(line.length).toBeLessThan(20_000)
    expect(record).toMatchObject({ decision: { rules_omitted: 4_990 } })
    expect(record !== undefined && 'decision' in record && record.decision.rules).toHaveLength(10)
  })

  it('escapes characters that a terminal interprets', async () => {
    const { recorder, directory } = await startRecorder()
    const path = '/a\u001b[2J\u0000\u007f\u009b\u202e\u2028\u{e0041}\n/b'
    const { decision } = denial('a.test')

    recorder.record(
      denial('a.test', { decision: { ...decision, request: { action: 'read', path } } }),
    )
    await recorder.stop()

    const lines = await readLines(directory)
    expect(lines).toHaveLength(1)
    expect(lines[0]).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    expect(await readRecords(directory)).toMatchObject([{ decision: { request: { path } } }])
  })

  it('keeps its files to this user', async () => {
    const { recorder, directory } = await startRecorder()

    recorder.record(denial('a.test'))
    await recorder.flush()

    expect((await stat(directory)).mode & 0o777).toBe(0o700)
    expect((await stat(join(directory, '00000001.jsonl'))).mode & 0o777).toBe(0o600)
  })

  it('calls subscribers with lines once they are on disk', async () => {
    const { recorder, directory } = await startRecorder()
    const seen: RecordLine[] = []
    const end = recorder.subscribe((lines) => seen.push(...lines.map(({ record }) => record)))

    recorder.record(denial('a.test'))
    await recorder.flush()
    expect(seen).toEqual(await readRecords(directory))
    end()
    recorder.record(denial('b.test'))
    await recorder.flush()

    expect(seen).toHaveLength(1)
  })

  it('makes no file before the first decision', async () => {
    const { recorder, directory } = await startRecorder()

    await recorder.stop()

    await expect(stat(directory)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

describe('a recorder without room', () => {
  it('loses further different decisions of the minute, and records their number', async () => {
    let nowMs = NOW_MS
    const { recorder, directory } = await startRecorder({
      now: () => nowMs,
      limits: { maxTuples: 10 },
    })

    for (let index = 0; index < 30; index += 1) recorder.record(denial(`h${index}.test`))
    recorder.record(denial('h1.test'))
    await recorder.flush()
    nowMs += 61_000
    recorder.record(denial('later.test'))
    await recorder.stop()

    const records = await readRecords(directory)
    expect(records.filter((line) => 'lost' in line)).toMatchObject([
      { lost: 20, reason: 'queue_full' },
    ])
    expect(countEvents(records)).toBe(32)
    expect(recorder.status()).toMatchObject({ written: 12, lost: 20 })
  })

  it('keeps room beside the questions of a sandbox for its connections and others', async () => {
    const { recorder, directory } = await startRecorder({ limits: { maxTuples: 16 } })
    const sandbox = 'a1'

    for (let index = 0; index < 100; index += 1)
      recorder.record({ ...denial(`h${index}.test`), point: 'local_api', sandbox })
    recorder.record({ ...denial('connected.test'), point: 'capture', sandbox })
    recorder.record(denial('outside.test'))
    await recorder.stop()

    const text = JSON.stringify(await readRecords(directory))
    expect(text).toContain('connected.test')
    expect(text).toContain('outside.test')
    expect(recorder.status()).toMatchObject({ written: 4, lost: 98 })
  })

  it('sums up the losses of a minute after the first', async () => {
    let nowMs = NOW_MS
    const { recorder, directory } = await startRecorder({
      now: () => nowMs,
      limits: { maxTuples: 2 },
    })

    for (let index = 0; index < 30; index += 1) {
      recorder.record(denial(`h${index}.test`))
      await recorder.flush()
      nowMs += 1_000
    }
    nowMs = NOW_MS + 62_000
    await recorder.flush()
    await recorder.stop()

    const losses = (await readRecords(directory)).filter((line) => 'lost' in line)
    expect(losses.map((line) => line.lost)).toEqual([1, 27])
  })
})
