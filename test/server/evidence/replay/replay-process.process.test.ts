import { mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { ReplayJob } from '../../../../server/src/evidence/replay/replay-job.ts'
import { startReplay } from '../../../../server/src/evidence/replay/replay-process.ts'
import type { StartWorker } from '../../../../server/src/platform/start-worker.ts'
import { startBundle, startProcessFile } from '../../started-thread.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

const JOB: ReplayJob = {
  store: { dataDir: '/nowhere', databaseUrl: null },
  org: 'acme',
  fromMs: 0,
  toMs: 1,
  nowMs: 1,
  revision: 1,
  resolve_unlisted_names: false,
  policies: [],
  before: [],
  after: [],
  members: new Map(),
  defaults: { organization: null, teams: new Map() },
  groups: 1,
  names: true,
  upload: { upload: 'off', sample_percent: null, complete_since: null },
}

const afterSeconds = (seconds: number) => setTimeout(seconds * 1000, 'late', { ref: false })

/** A worker with this text. */
function worker(text: string): StartWorker {
  const file = join(mkdtempSync(join(temporaryDirectory(), 'w-')), 'worker.mjs')
  writeFileSync(file, text)
  return startProcessFile(pathToFileURL(file))
}

async function linesOf(options: Parameters<typeof startReplay>[1]): Promise<unknown[]> {
  const { lines, ended } = startReplay(JOB, options)
  const all = await lines.toArray()
  await ended
  return all.map((line: string) => JSON.parse(line) as unknown)
}

describe('the process of a replay', () => {
  it('answers an error when there is no evidence to open', async () => {
    expect(await linesOf({ startWorker: startBundle })).toEqual([
      { error: { code: 'internal', message: expect.any(String) } },
    ])
  })

  it('answers an error when it takes too long, runs out of memory, or ends early', async () => {
    const messages = []
    for (const [text, timeLimitMs] of [
      ['setInterval(() => {}, 1000)', 50],
      [`process.kill(process.pid, 'SIGKILL')`, 600_000],
      [`process.kill(process.pid, 'SIGTERM')`, 600_000],
      ['process.exit(0)', 600_000],
    ] as const)
      messages.push(await linesOf({ startWorker: worker(text), timeLimitMs }))

    expect(messages).toMatchObject([
      [{ error: { message: 'the replay takes too long; replay fewer days' } }],
      [{ error: { message: 'the replay takes too much memory; replay fewer days' } }],
      [{ error: { message: 'the replay has ended early; send it again' } }],
      [{ error: { message: 'the replay has ended early; send it again' } }],
    ])
  })

  it('ends when its reader goes', async () => {
    const marks = temporaryDirectory()
    const startWorker = worker(`
      import { appendFileSync } from 'node:fs'
      process.send({ notice: '{"progress":1}' })
      setInterval(() => appendFileSync(${JSON.stringify(join(marks, 'alive'))}, '.'), 1)
    `)

    const { lines, ended } = startReplay(JOB, { startWorker })
    for await (const line of lines) {
      expect(line).toBe('{"progress":1}\n')
      break
    }
    await ended

    writeFileSync(join(marks, 'alive'), '')
    await setTimeout(50)
    expect(statSync(join(marks, 'alive')).size).toBe(0)
  })

  it('ends when its reader goes before any line', async () => {
    const { lines, ended } = startReplay(JOB, { startWorker: worker('setInterval(() => {}, 9)') })

    lines.destroy()

    expect(await Promise.race([ended.then(() => 'ended'), afterSeconds(30)])).toBe('ended')
  })

  it('ends before its last line is read', async () => {
    const startWorker = worker(`process.send({ id: 1, value: '{}' }); setInterval(() => {}, 9)`)
    const { lines, ended } = startReplay(JOB, { startWorker })

    expect(await Promise.race([ended.then(() => 'ended'), afterSeconds(30)])).toBe('ended')
    expect(await lines.toArray()).toEqual(['{}\n'])
  })

  it('gives its stream up when the reader stalls, at any line', async () => {
    const progress = `process.send({ notice: '{}' })\n`
    const result = `process.send({ id: 1, value: '{}' })`
    const failures = []
    for (const text of [result, `for (let n = 0; n < 9; n += 1) ${progress}${result}`]) {
      const { lines } = startReplay(JOB, { startWorker: worker(text), sendWithinMs: 50 })
      // The first line is taken, and no other.
      lines.once('readable', () => lines.read(0))
      failures.push(await finished(lines).catch((error: unknown) => error))
    }

    expect(failures).toMatchObject([
      { message: 'the replay was read too slowly' },
      { message: 'the replay was read too slowly' },
    ])
  })

  it('does not give up a stream that is read', async () => {
    const result = `process.send({ id: 1, value: '{}' })`

    const { lines } = startReplay(JOB, { startWorker: worker(result), sendWithinMs: 1_000_000 })

    expect(await lines.toArray()).toEqual(['{}\n'])
  })
})
