import type { RecordLine } from '@palisade/protocol'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { streamLog, type LogQuery } from '../../../agent/src/records/stream-log.ts'
import { NOW_MS } from '../fixture/bundle.ts'
import {
  countEvents,
  denial,
  readRecords,
  startRecorder,
  type RecordScene,
} from './record-scene.ts'

const ALL: LogQuery = { limit: 1_000, denied: false, questions: true, follow: false }
const permit = (host: string) => {
  const { decision, ...event } = denial(host)
  return { ...event, decision: { ...decision, decision: 'allow' as const, hint: null } }
}

function open(scene: RecordScene, query: Partial<LogQuery> = {}) {
  const end = new AbortController()
  let isDisconnected = false
  const lines = streamLog(
    scene,
    { ...ALL, ...query },
    {
      signal: end.signal,
      disconnect() {
        isDisconnected = true
        end.abort()
      },
    },
  )
  return { lines, end, isDisconnected: () => isDisconnected }
}

async function readAll(scene: RecordScene, query: Partial<LogQuery> = {}): Promise<string[]> {
  const hosts: string[] = []
  for await (const line of open(scene, query).lines) hosts.push(hostOf(line))
  return hosts
}

function hostOf(line: string): string {
  const record = JSON.parse(line) as RecordLine
  const request = 'decision' in record ? record.decision.request : null
  return request !== null && 'host' in request ? request.host : 'loss'
}

async function take(lines: AsyncGenerator<string>, count: number): Promise<string[]> {
  const hosts: string[] = []
  while (hosts.length < count) {
    const next = await lines.next()
    if (next.done === true) break
    hosts.push(hostOf(next.value))
  }
  return hosts
}

describe('the log', () => {
  it('has the newest lines, the oldest of them first, over several files', async () => {
    const scene = await startRecorder({ limits: { maxSegmentBytes: 1_500 } })
    for (let index = 0; index < 20; index += 1) {
      scene.recorder.record(denial(`h${index}`))
      await scene.recorder.flush()
    }

    expect(await readAll(scene)).toEqual(Array.from({ length: 20 }, (_, index) => `h${index}`))
    expect(await readAll(scene, { limit: 3 })).toEqual(['h17', 'h18', 'h19'])
  })

  it('has decisions that are not written yet', async () => {
    const scene = await startRecorder({ limits: { tickMs: 600_000 } })

    scene.recorder.record(denial('now'))

    expect(await readAll(scene)).toEqual(['now'])
  })

  it('has denials only, if the caller wants these', async () => {
    const scene = await startRecorder()
    for (const host of ['a', 'b', 'c'])
      for (const event of [denial(host), permit(`${host}-allowed`)]) scene.recorder.record(event)
    await scene.recorder.flush()

    expect(await readAll(scene, { denied: true, limit: 2 })).toEqual(['b', 'c'])
  })

  it('has the last denial, also one that repeats another of its minute', async () => {
    let nowMs = NOW_MS
    const scene = await startRecorder({ now: () => nowMs })
    for (const host of ['a', 'b', 'a']) {
      nowMs += 1_000
      scene.recorder.record(denial(host))
      await scene.recorder.flush()
    }

    expect(await readAll(scene, { denied: true })).toEqual(['a', 'b', 'a'])
    expect(await readAll(scene, { denied: true })).toEqual(['a', 'b', 'a'])
    scene.recorder.record(denial('b'))
    expect(await readAll(scene, { denied: true, limit: 1 })).toEqual(['b'])
  })

  it('lets readers cause a thousand lines of a minute at most', async () => {
    const scene = await startRecorder()
    const hosts = Array.from({ length: 400 }, (_, index) => `h${index}`)
    for (const host of hosts) scene.recorder.record(denial(host))
    await scene.recorder.flush()

    for (let round = 0; round < 5; round += 1) {
      for (const host of hosts) scene.recorder.record(denial(host))
      await scene.recorder.flush()
    }
    expect(await readAll(scene, { limit: 10_000 })).toHaveLength(1_400)

    await scene.recorder.stop()
    expect(countEvents(await readRecords(scene.directory))).toBe(6 * 400)
  })

  it('leaves out questions to the local API for a reader of enforced decisions', async () => {
    const scene = await startRecorder()
    scene.recorder.record(denial('made'))
    scene.recorder.record(denial('asked', { point: 'local_api', protocol: 'decide' }))

    expect(await readAll(scene)).toEqual(['made', 'asked'])
    expect(await readAll(scene, { questions: false, denied: true })).toEqual(['made'])
  })

  it('leaves out lines that are not records', async () => {
    const scene = await startRecorder()
    scene.recorder.record(denial('a'))
    await scene.recorder.flush()

    const file = join(scene.directory, '00000001.jsonl')
    await appendFile(file, 'noise\n{"seq":1}\n\u00ff\n{"seq":2,"bo')

    expect(await readAll(scene)).toEqual(['a'])
  })

  it('is empty without records', async () => {
    expect(await readAll(await startRecorder())).toEqual([])
  })

  it('reads eight million characters at most, which are the newest', async () => {
    const scene = await startRecorder()
    const { decision } = denial('a')
    const path = `/${'x'.repeat(3_000)}`
    for (let index = 0; index < 3_000; index += 1) {
      const request = { action: 'read', path: `${path}/${index}` } as const
      scene.recorder.record(denial('a', { decision: { ...decision, request } }))
    }

    let size = 0
    let last = ''
    for await (const line of open(scene, { limit: 10_000 }).lines) {
      size += line.length
      last = line
    }

    expect(size).toBeLessThanOrEqual(8_400_000)
    expect(size).toBeGreaterThan(8_000_000)
    expect(last).toContain('/2999"')
  })
})

describe('a followed log', () => {
  it('goes on with each line as it is written, without a gap or a repetition', async () => {
    const scene = await startRecorder()
    const expected = Array.from({ length: 60 }, (_, index) => `h${index}`)
    const record = async (hosts: readonly string[]) => {
      for (const host of hosts) {
        scene.recorder.record(denial(host))
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    await record(expected.slice(0, 20))
    const { lines, end } = open(scene, { follow: true })

    const [seen] = await Promise.all([take(lines, 60), record(expected.slice(20))])
    end.abort()

    expect(seen).toEqual(expected)
    expect(await lines.next()).toMatchObject({ done: true })
  })

  it('goes on with denials only, and from the newest of them', async () => {
    const scene = await startRecorder()
    scene.recorder.record(denial('a'))
    scene.recorder.record(denial('b'))
    const { lines } = open(scene, { follow: true, denied: true, limit: 1 })
    expect(await take(lines, 1)).toEqual(['b'])

    scene.recorder.record(permit('c'))
    scene.recorder.record(denial('d'))

    expect(await take(lines, 1)).toEqual(['d'])
    await lines.return(undefined)
  })

  it('ends with its caller, before and while it waits', async () => {
    const scene = await startRecorder()
    const early = open(scene, { follow: true })
    early.end.abort()
    expect(await early.lines.next()).toMatchObject({ done: true })

    const late = open(scene, { follow: true })
    const next = late.lines.next()
    await scene.recorder.flush()
    late.end.abort()

    expect(await next).toMatchObject({ done: true })
  })

  it('disconnects a caller that is slower than the records', async () => {
    let nowMs = 1_800_000_000_000
    const scene = await startRecorder({ now: () => nowMs })
    const { lines, isDisconnected } = open(scene, { follow: true })
    scene.recorder.record(denial('first'))
    expect(await take(lines, 1)).toEqual(['first'])

    for (let minute = 0; minute < 40 && !isDisconnected(); minute += 1) {
      for (let index = 0; index < 200; index += 1) scene.recorder.record(denial(`h${index}`))
      await scene.recorder.flush()
      nowMs += 60_000
    }

    expect(isDisconnected()).toBe(true)
  })
})
