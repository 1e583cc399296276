import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hashLine } from '../../../../agent/src/records/record-chain.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'
import { denial, readLines, readRecords } from '../record-scene.ts'
import { giveReceipt, sendJson, startRecordServer, type RecordServer } from './record-server.ts'
import { FULL, startUpload, type UploadScene } from './upload-scene.ts'

const WAIT = { timeout: 60_000 } as const

/** An allowed request, as a record. */
function allowance(host: string): ReturnType<typeof denial> {
  const event = denial(host)
  return {
    ...event,
    decision: { ...event.decision, decision: 'allow', reason: 'rule', hint: null },
  }
}

async function record(scene: UploadScene, ...hosts: readonly string[]): Promise<void> {
  for (const host of hosts) scene.recorder.record(denial(host))
  await scene.recorder.flush()
}

/** `boot seq` of every line on disk. */
async function onDisk(directory: string): Promise<string[]> {
  return (await readRecords(directory)).map(({ boot, seq }) => `${boot} ${seq}`)
}

async function whole(server: RecordServer, directory: string): Promise<void> {
  const lines = await onDisk(directory)
  await expect.poll(() => server.covered(), WAIT).toEqual(lines)
}

function methods({ asked }: RecordServer): string[] {
  return asked.map(({ method }) => method)
}

describe('the upload of decision records', () => {
  it('follows the chain on disk by number and hash', async () => {
    const server = await startRecordServer()
    const scene = await startUpload(server)

    await record(scene, 'a.test', 'b.test')
    await whole(server, scene.directory)
    await record(scene, 'c.test')
    await whole(server, scene.directory)

    const texts = await readLines(scene.directory)
    const hashes = server.batches.flatMap(({ lines }) => lines.map(({ hash }) => hash))
    expect(hashes).toEqual(texts.map((text) => hashLine(text)))
    for (const { header } of server.batches) {
      const { previous } = JSON.parse(texts[header.first - 1] ?? '') as { previous: string }
      expect(header).toEqual({ boot: 'boot-1', first: header.first, previous })
    }
    expect(methods(server).filter((method) => method === 'GET')).toHaveLength(1)
    await expect
      .poll(() => scene.uploader.status(), WAIT)
      .toMatchObject({
        mode: 'full',
        acknowledged: { boot: 'boot-1', seq: texts.length },
        waiting: 0,
        last_error: null,
      })
    expect(scene.errors).toEqual([])
  })

  it('asks nothing without settings for it, and stops when they are taken back', async () => {
    const server = await startRecordServer()
    const scene = await startUpload(server, { settings: null })
    await record(scene, 'a.test')
    expect(scene.uploader.status()).toMatchObject({ mode: 'off', waiting: null })
    expect(server.asked).toEqual([])

    scene.set(FULL)
    await whole(server, scene.directory)
    scene.set({ ...FULL, upload: 'off' })
    await record(scene, 'b.test')
    scene.set(null)
    await record(scene, 'c.test')

    expect(server.covered()).toEqual(['boot-1 1'])
    scene.set(FULL)
    await whole(server, scene.directory)
  })

  it('obeys settings that change while it waits for the position', async () => {
    const server = await startRecordServer()
    const held: (() => void)[] = []
    server.always = (response) => held.push(() => giveReceipt(response, null))
    const scene = await startUpload(server)
    scene.recorder.record(allowance('a.test'))
    await record(scene, 'b.test')
    await expect.poll(() => held.length, WAIT).toBe(1)

    scene.set({ ...FULL, upload: 'denials' })
    server.always = null
    held.forEach((answer) => answer())

    await whole(server, scene.directory)
    expect(JSON.stringify(server.batches)).not.toContain('a.test')
  })

  it.each([
    ['no record', null],
    ['a record of that organization', 'boot-1-other'],
  ])('sends no record of another organization when the server has %s', async (_title, boot) => {
    const server = await startRecordServer()
    if (boot !== null) server.position = { boot, seq: 1, hash: 'a'.repeat(64) }
    const directory = join(await temporaryDirectory(), 'records')
    const other = await startUpload(server, { directory, boot: 'boot-1-other', settings: null })
    await record(other, 'secret.test', 'secret.test', 'hidden.test')
    await other.recorder.stop()

    const scene = await startUpload(server, { directory, boot: 'boot-2-acme', owner: '-acme' })
    await record(scene, 'a.test')

    await expect.poll(() => server.covered(), WAIT).toEqual(['boot-2-acme 1'])
    expect(JSON.stringify(server.batches)).not.toMatch(/secret|hidden|other/)
    await expect.poll(() => scene.uploader.status(), WAIT).toMatchObject({ waiting: 0 })
  })

  it('goes on after the position of the server, over starts of the agent', async () => {
    const server = await startRecordServer()
    const directory = join(await temporaryDirectory(), 'records')
    const first = await startUpload(server, { directory, settings: null })
    await record(first, 'a.test', 'b.test', 'c.test')
    await first.recorder.stop()
    const [, second = '', third = ''] = await readLines(directory)
    server.position = { boot: 'boot-1', seq: 2, hash: hashLine(second) }

    const scene = await startUpload(server, { directory, boot: 'boot-2' })
    await record(scene, 'd.test')

    await expect.poll(() => server.covered(), WAIT).toEqual(['boot-1 3', 'boot-2 1'])
    expect(server.batches.map(({ header }) => header)).toEqual([
      { boot: 'boot-1', first: 3, previous: hashLine(second) },
      { boot: 'boot-2', first: 1, previous: hashLine(third) },
    ])
  })

  it('begins with the oldest kept line after a position that is not on disk', async () => {
    const server = await startRecordServer()
    server.position = { boot: 'boot-0', seq: 9, hash: 'a'.repeat(64) }
    const scene = await startUpload(server)

    await record(scene, 'a.test')

    await whole(server, scene.directory)
  })

  it('jumps over records that were deleted before they were sent', async () => {
    const server = await startRecordServer()
    const scene = await startUpload(server, { settings: null, limits: { maxSegmentBytes: 600 } })
    for (const host of ['a.test', 'b.test', 'c.test', 'd.test']) await record(scene, host)
    const names = (await readdir(scene.directory)).toSorted()
    expect(names.length).toBeGreaterThan(3)
    server.position = {
      boot: 'boot-1',
      seq: 1,
      hash: hashLine((await readLines(scene.directory))[0] ?? ''),
    }
    await rm(join(scene.directory, names[1] ?? ''))

    scene.set(FULL)

    await expect.poll(() => server.covered().at(-1), WAIT).toBe('boot-1 4')
    const [batch] = server.batches
    expect(batch?.header.first).toBeGreaterThan(2)
    expect(server.covered()).toEqual((await onDisk(scene.directory)).slice(1))
  })

  it.each([
    ['deleted', (lines: readonly string[]) => lines.toSpliced(1, 1), 3],
    [
      'changed',
      (lines: readonly string[]) => lines.with(1, (lines[1] ?? '').replace('b.test', 'x.test')),
      3,
    ],
  ])('begins another batch after a line that was %s', async (_title, change, first) => {
    const server = await startRecordServer()
    const directory = join(await temporaryDirectory(), 'records')
    const before = await startUpload(server, { directory, settings: null })
    await record(before, 'a.test', 'b.test', 'c.test', 'd.test')
    await before.recorder.stop()
    const texts = await readLines(directory)
    const [name = ''] = await readdir(directory)
    await writeFile(join(directory, name), `${change(texts).join('\n')}\n`)

    const scene = await startUpload(server, { directory, boot: 'boot-2' })
    await record(scene, 'e.test')

    await expect.poll(() => server.covered().at(-1), WAIT).toBe('boot-2 1')
    expect(server.batches[1]?.header).toEqual({
      boot: 'boot-1',
      first,
      previous: hashLine(texts[1] ?? ''),
    })
  })

  it('sends no line twice when the connection is cut after the commit', async () => {
    const server = await startRecordServer()
    server.next.push(
      (response, batch) => {
        if (batch !== null) server.commit(batch)
        response.destroy()
      },
      (response) => response.destroy(),
    )
    const scene = await startUpload(server)

    await record(scene, 'a.test', 'b.test')
    await expect.poll(() => server.batches.length, WAIT).toBeGreaterThan(0)
    await record(scene, 'c.test')

    await whole(server, scene.directory)
    expect(methods(server).filter((method) => method === 'GET').length).toBeGreaterThan(1)
  })

  it.each([429, 503])('stays away as long as a %i asks', async (status) => {
    const server = await startRecordServer()
    server.next.push((response) => response.writeHead(status, { 'retry-after': '1' }).end())
    const scene = await startUpload(server)

    await record(scene, 'a.test')
    await whole(server, scene.directory)

    expect(methods(server)).toEqual(['GET', 'POST', 'POST'])
    const [, first, second] = server.asked
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(990)
    await expect.poll(() => scene.uploader.status(), WAIT).toMatchObject({ last_error: null })
  })

  it('asks for the position again after a 409', async () => {
    const server = await startRecordServer()
    server.next.push((response) => sendJson(response, 409, { error: {} }))
    const scene = await startUpload(server)

    await record(scene, 'a.test')
    await whole(server, scene.directory)

    expect(methods(server)).toEqual(['GET', 'POST', 'GET', 'POST'])
  })

  it('leaves a server of an earlier version alone until the next day', async () => {
    const server = await startRecordServer()
    server.always = (response) => sendJson(response, 404, { error: {} })
    const scene = await startUpload(server)

    await expect.poll(() => scene.uploader.status().last_error?.code, WAIT).toBe('not_supported')
    for (const host of ['a.test', 'b.test', 'c.test']) await record(scene, host)
    await new Promise((resolve) => setTimeout(resolve, 500))

    expect(methods(server)).toEqual(['GET'])
  })

  const HASH = 'f'.repeat(64)
  it.each<[string, (response: Parameters<typeof giveReceipt>[0]) => void]>([
    ['a position backwards', (response) => giveReceipt(response, null)],
    [
      'a huge position',
      (response) =>
        giveReceipt(response, { boot: 'boot-1', seq: Number.MAX_SAFE_INTEGER, hash: HASH }),
    ],
    [
      'the position of another start',
      (response) => giveReceipt(response, { boot: 'x', seq: 1, hash: HASH }),
    ],
    [
      'a position that is no number',
      (response) => giveReceipt(response, { boot: 'boot-1', seq: -1 }),
    ],
    ['another document', (response) => sendJson(response, 200, [1])],
    ['a page', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')],
    ['a megabyte', (response) => sendJson(response, 200, 'x'.repeat(1024 * 1024))],
    ['a redirect', (response) => response.writeHead(307, { location: '/' }).end()],
  ])('pauses after each answer with %s, and loses nothing', async (_title, wrong) => {
    const server = await startRecordServer()
    const restMs = 30
    const scene = await startUpload(server, { pace: { restMs } })
    await record(scene, 'a.test')
    await whole(server, scene.directory)
    server.always = (response, batch) =>
      batch === null ? giveReceipt(response, server.position) : wrong(response)
    const before = server.asked.length

    await record(scene, 'b.test')
    const posts = (): number =>
      methods(server)
        .slice(before)
        .filter((each) => each === 'POST').length
    await expect.poll(posts, WAIT).toBeGreaterThan(3)

    const times = server.asked.slice(before).filter(({ method }) => method === 'POST')
    for (const [index, { atMs }] of times.slice(1).entries())
      expect(atMs - (times[index]?.atMs ?? 0)).toBeGreaterThan(restMs * 0.9)
    expect(scene.uploader.status().last_error).not.toBe(null)
    expect(scene.uploader.status().waiting).toBe(1)
    server.always = null
    await whole(server, scene.directory)
    await expect.poll(() => scene.uploader.status().last_error, WAIT).toBe(null)
  })

  it('sends a backlog slowly to a server that loses it again and again', async () => {
    const server = await startRecordServer()
    const restMs = 100
    const scene = await startUpload(server, { pace: { restMs, maxCovered: 1 } })
    await record(scene, 'a.test', 'b.test', 'c.test')
    await whole(server, scene.directory)
    const before = server.asked.length
    server.position = null
    server.next.push((response) => sendJson(response, 409, {}))
    await record(scene, 'd.test')
    await expect.poll(() => server.position?.seq, WAIT).toBe(4)

    // Refused, asked again, and sent from the first line on.
    const times = server.asked.slice(before).filter(({ method }) => method === 'POST')
    expect(times).toHaveLength(5)
    for (const [index, { atMs }] of times.slice(1).entries())
      expect(atMs - (times[index]?.atMs ?? 0)).toBeGreaterThan(restMs * 0.9)
  })

  it('counts a line that the server refuses, and sends the others', async () => {
    const server = await startRecordServer()
    const refuse = (response: Parameters<typeof giveReceipt>[0], batch: unknown): void => {
      const received = batch as RecordServer['batches'][number] | null
      if (received === null) return giveReceipt(response, server.position)
      if (received.text.includes('poison.test')) return sendJson(response, 400, { error: {} })
      server.commit(received)
      giveReceipt(response, server.position)
    }
    server.always = refuse
    const scene = await startUpload(server, { settings: null, pace: { restMs: 1 } })
    await record(scene, 'a.test', 'b.test', 'poison.test', 'c.test', 'd.test')

    scene.set(FULL)

    await whole(server, scene.directory)
    const lines = server.batches.flatMap((batch) => batch.lines)
    expect(lines.filter((line) => 'record' in line)).toHaveLength(4)
    expect(lines.filter((line) => 'left_out' in line)).toMatchObject([{ seq: 3, left_out: 1 }])
  })

  it('merges lines that stay here, and counts their decisions once', async () => {
    const server = await startRecordServer()
    const scene = await startUpload(server, { settings: null })
    const closed = { cause: 'closed', bytesSent: 1, bytesReceived: 2, durationMs: 3 } as const
    scene.recorder.record(allowance('a.test'))
    scene.recorder.record({ ...allowance('a.test'), flow: closed })
    scene.recorder.record(allowance('b.test'))
    scene.recorder.record(denial('c.test'))
    scene.recorder.record(allowance('d.test'))
    await scene.recorder.flush()

    scene.set({ ...FULL, upload: 'denials' })

    await whole(server, scene.directory)
    expect(server.batches.flatMap(({ lines }) => lines)).toMatchObject([
      { seq: 3, left_out: 2 },
      { seq: 4, record: { decision: 'deny', request: { host: 'c.test' } } },
      { seq: 5, left_out: 1 },
    ])
    expect(JSON.stringify(server.batches)).not.toMatch(/[abd]\.test/)
  })

  it('samples all repetitions of a request or none, and every denial', async () => {
    const server = await startRecordServer()
    const scene = await startUpload(server, { settings: null })
    const hosts = Array.from({ length: 200 }, (_, index) => `h${index}.test`)
    const both = [...hosts, ...hosts]
    for (const host of both) scene.recorder.record(allowance(host))
    const closed = { cause: 'closed', bytesSent: 1, bytesReceived: 2, durationMs: 3 } as const
    for (const host of hosts) scene.recorder.record({ ...allowance(host), flow: closed })
    scene.recorder.record(denial('denied.test'))
    await scene.recorder.stop()

    scene.set({ ...FULL, upload: 'sampled', sample_percent: 30 })

    await whole(server, scene.directory)
    const sums = new Map<string, number>()
    for (const line of server.batches.flatMap(({ lines }) => lines)) {
      if (!('record' in line) || line.record.request === null) continue
      const { host } = line.record.request as { host: string }
      sums.set(host, (sums.get(host) ?? 0) + line.record.count)
    }
    expect(sums.get('denied.test')).toBe(1)
    sums.delete('denied.test')
    // Two decisions and an end.
    expect([...new Set(sums.values())]).toEqual([3])
    expect(sums.size).toBeGreaterThan(30)
    expect(sums.size).toBeLessThan(90)
  })

  it('fills batches to their limit and sends them without a pause', async () => {
    const server = await startRecordServer()
    const scene = await startUpload(server, { settings: null, pace: { restMs: 60_000 } })
    const long = 'x'.repeat(50)
    for (let index = 0; index < 6_000; index += 1)
      scene.recorder.record(denial(`h${index}.${long}.${long}.${long}.test`))
    await scene.recorder.flush()

    scene.set(FULL)

    await whole(server, scene.directory)
    expect(server.batches.length).toBeGreaterThan(1)
    for (const { text, lines } of server.batches) {
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1024 * 1024)
      expect(lines.length).toBeLessThan(5_000)
    }
  })

  it('stops at once while the server does not answer', async () => {
    const server = await startRecordServer()
    server.next.push(() => {})
    const scene = await startUpload(server)
    await record(scene, 'a.test')
    await expect.poll(() => methods(server), WAIT).toContain('POST')

    await scene.uploader.stop()
    await record(scene, 'b.test')

    expect(methods(server)).toEqual(['GET', 'POST'])
  })

  it('has every line once after starts and stops at any moment', async () => {
    const server = await startRecordServer()
    const directory = join(await temporaryDirectory(), 'records')
    const answers = [
      (): void => {},
      (response: Parameters<typeof giveReceipt>[0]): void => void response.destroy(),
      (...[response, batch]: Parameters<RecordServer['next'][number]>): void => {
        if (batch !== null) server.commit(batch)
        response.destroy()
      },
      (response: Parameters<typeof giveReceipt>[0]): void => sendJson(response, 500, {}),
    ]
    for (let start = 1; start <= 24; start += 1) {
      server.next.splice(0)
      const answer = answers[start % answers.length]
      if (answer !== undefined) server.next.push(answer)
      const scene = await startUpload(server, { directory, boot: `boot-${start}` })
      await record(scene, `a${start}.test`, `b${start}.test`)
      await new Promise((resolve) => setTimeout(resolve, (start * 37) % 100))
      await scene.uploader.stop()
      await scene.recorder.stop()
    }
    server.next.splice(0)

    await startUpload(server, { directory, boot: 'boot-last' })

    await whole(server, directory)
  })
})
